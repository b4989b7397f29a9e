// Products as text: what is written is read, and what is not one says why.
#include "gantry/Plan/MatrixProduct.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;
using namespace gantry::plan;

const std::string text = "matmul f16 in f32 batch 12 rows 64 columns 128 terms 768 "
                         "left 0 768 49152 right 1t 768 0 result 2 128 8192";

std::string replaced(const std::string &what, const std::string &by) {
  std::string changed = text;
  changed.replace(changed.find(what), what.size(), by);
  return changed;
}

TEST(MatrixProduct, readsWhatItWrites) {
  Expected<MatrixProduct> product = MatrixProduct::parse(text);
  ASSERT_TRUE(product.ok()) << product.status().message();
  EXPECT_EQ(product->text(), text);
  EXPECT_EQ(product->type, ElementType::f16);
  EXPECT_EQ(product->right, (StoredMatrix{1, true, 768, 0}));
  EXPECT_EQ(product->leftBytes(), 2u * 12 * 49152);
  EXPECT_EQ(product->rightBytes(), 2u * 128 * 768);
  EXPECT_EQ(product->resultBytes(), 2u * 12 * 8192);
}

/// Sums of f32 of narrow factors: twice the bytes.
TEST(MatrixProduct, mayHaveAWiderResult) {
  const std::string wide = replaced("f16", "f16 to f32");
  Expected<MatrixProduct> product = MatrixProduct::parse(wide);
  ASSERT_TRUE(product.ok()) << product.status().message();
  EXPECT_EQ(product->text(), wide);
  EXPECT_EQ(product->type, ElementType::f16);
  EXPECT_EQ(product->resultType(), ElementType::f32);
  EXPECT_EQ(product->leftBytes(), 2u * 12 * 49152);
  EXPECT_EQ(product->resultBytes(), 4u * 12 * 8192);
  EXPECT_EQ(MatrixProduct::parse(text)->resultType(), ElementType::f16);
}

TEST(MatrixProduct, saysWhatIsNoProduct) {
  for (const std::string &wrong :
       {std::string(), replaced("matmul", "matmuls"), replaced("f16", "i8"), replaced(" rows", ""),
        replaced("12", "012"), replaced("12", "-1"), replaced("1t", "1u"), text + " ", text + " 1",
        replaced("in f32", "in f16"), replaced("result 2", "result 4294967296"),
        replaced("f16", "f16 to f16"), replaced("f16", "f16 to"),
        replaced("f16 in", "f16 to f32")}) {
    Expected<MatrixProduct> product = MatrixProduct::parse(wrong);
    ASSERT_FALSE(product.ok()) << wrong;
    EXPECT_EQ(product.status().code(), StatusCode::corrupt);
    EXPECT_EQ(product.status().message(),
              "'" + wrong + "' is not a product of matrices as the library cublasLt has them");
  }
}

TEST(MatrixProduct, saysWhatCannotBe) {
  const std::pair<std::string, const char *> wrong[] = {
      {replaced("in f32", "in tf32"), "has a type that it cannot have"},
      {replaced("f16", "f32 to f32"), "has a type that it cannot have"},
      {replaced("rows 64", "rows 0"), "has a size that is not from 1 to 2^31-1"},
      {replaced("terms 768", "terms 2147483648"), "has a size that is not from 1 to 2^31-1"},
      {replaced("batch 12", "batch 1048576"), "has a batch that is not from 1 to 2^20-1"},
      {replaced("0 768 49152", "0 767 49152"), "has lines that overlap, or are too far apart"},
      {replaced("1t 768", "1t 767"), "has lines that overlap, or are too far apart"},
      {replaced("result 2", "result 2t"), "turns its result"},
      {replaced("8192", "8191"), "writes results of its batch over one another"}};
  for (const auto &[product, what] : wrong)
    EXPECT_EQ(MatrixProduct::parse(product).status().message(),
              "the product '" + product + "' " + what);
}

} // namespace
