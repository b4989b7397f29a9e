#include "gantry/Support/ElementType.h"

#include "gantry-c/common.h"

#include <array>
#include <gtest/gtest.h>

namespace {
using namespace gantry;

// The C API's values are written out for its readers; they must be ours.
#define GANTRY_ELEMENT_TYPE(name, value, bytes) static_assert(int(ElementType::name) == value);
#include "gantry/Support/ElementTypes.def"
static_assert(GANTRY_F32 == int(ElementType::f32) && GANTRY_F64 == int(ElementType::f64) &&
              GANTRY_F16 == int(ElementType::f16) && GANTRY_BF16 == int(ElementType::bf16) &&
              GANTRY_I8 == int(ElementType::i8) && GANTRY_U8 == int(ElementType::u8) &&
              GANTRY_I16 == int(ElementType::i16) && GANTRY_U16 == int(ElementType::u16) &&
              GANTRY_I32 == int(ElementType::i32) && GANTRY_U32 == int(ElementType::u32) &&
              GANTRY_I64 == int(ElementType::i64) && GANTRY_U64 == int(ElementType::u64) &&
              GANTRY_I1 == int(ElementType::i1));

TEST(ElementType, NamesLeadBackToTypes) {
  std::string list;
  for (unsigned i = 0; i < numElementTypes; ++i) {
    auto type = static_cast<ElementType>(i);
    EXPECT_EQ(elementTypeNamed(elementTypeName(type)), type);
    list += (list.empty() ? "" : ", ") + std::string(elementTypeName(type));
  }
  EXPECT_EQ(elementTypeList(), list);
  EXPECT_EQ(elementTypeNamed("f8"), std::nullopt);
  EXPECT_EQ(elementTypeNamed(""), std::nullopt);
}

TEST(ElementType, Sizes) {
  EXPECT_EQ(elementTypeSize(ElementType::i1), 1u);
  EXPECT_EQ(elementTypeSize(ElementType::bf16), 2u);
  EXPECT_EQ(elementTypeSize(ElementType::u64), 8u);
}

std::optional<uint64_t> sizeOf(ElementType type, std::vector<int64_t> shape) {
  return tensorByteSize(type, shape);
}

TEST(ElementType, TensorNames) {
  EXPECT_EQ(tensorTypeName(ElementType::f32, std::array<int64_t, 2>{2, 3}), "f32[2,3]");
  EXPECT_EQ(tensorTypeName(ElementType::i1, {}), "i1[]");
}

TEST(ElementType, TensorSizes) {
  EXPECT_EQ(sizeOf(ElementType::f32, {}), 4u);
  EXPECT_EQ(sizeOf(ElementType::f32, {2, 3}), 24u);
  EXPECT_EQ(sizeOf(ElementType::f32, {INT64_MAX, INT64_MAX, 0}), 0u);
  EXPECT_EQ(sizeOf(ElementType::i8, {INT64_MAX}), uint64_t(INT64_MAX));
  EXPECT_EQ(sizeOf(ElementType::f32, {INT64_MAX}), std::nullopt);
  EXPECT_EQ(sizeOf(ElementType::i8, {int64_t(1) << 32, int64_t(1) << 32}), std::nullopt);
  EXPECT_EQ(sizeOf(ElementType::f32, {-1}), std::nullopt);
  EXPECT_EQ(sizeOf(ElementType::f32, {0, -1}), std::nullopt);
}

} // namespace
