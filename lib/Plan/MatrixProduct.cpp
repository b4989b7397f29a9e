#include "gantry/Plan/MatrixProduct.h"

#include "Words.h"

namespace gantry::plan {

namespace {

// So that no sum of products of these overflows.
constexpr uint64_t sizeLimit = uint64_t(1) << 31, batchLimit = uint64_t(1) << 20,
                   strideLimit = uint64_t(1) << 40;

StoredMatrix readMatrix(Words &words, std::string_view name) {
  words.expect(name);
  StoredMatrix read;
  std::string_view buffer = words.take();
  if ((read.isTurned = buffer.ends_with('t')))
    buffer.remove_suffix(1);
  const uint64_t position = words.number(buffer);
  words.failed |= position > UINT32_MAX;
  read.buffer = static_cast<uint32_t>(position);
  read.line = words.number();
  read.stride = words.number();
  return read;
}

std::string textOf(const char *name, const StoredMatrix &matrix) {
  return std::string(" ") + name + " " + std::to_string(matrix.buffer) +
         (matrix.isTurned ? "t " : " ") + std::to_string(matrix.line) + " " +
         std::to_string(matrix.stride);
}

bool isType(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16;
}

ElementType typeNamed(std::string_view name, bool &failed) {
  for (ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16})
    if (elementTypeName(type) == name)
      return type;
  failed = true;
  return ElementType::f32;
}

} // namespace

std::string MatrixProduct::text() const {
  return "matmul " + std::string(elementTypeName(type)) + (isWide ? " to f32" : "") + " in " +
         (isTF32 ? "tf32" : "f32") + " batch " + std::to_string(batch) + " rows " +
         std::to_string(rows) + " columns " + std::to_string(columns) + " terms " +
         std::to_string(terms) + textOf("left", left) + textOf("right", right) +
         textOf("result", result);
}

Status MatrixProduct::check() const {
  auto fail = [&](const char *what) {
    return Status::corrupt("the product '" + text() + "' " + what);
  };
  if (!isType(type) || (isTF32 && type != ElementType::f32) || (isWide && type == ElementType::f32))
    return fail("has a type that it cannot have");
  for (uint64_t size : {rows, columns, terms})
    if (size == 0 || size >= sizeLimit)
      return fail("has a size that is not from 1 to 2^31-1");
  if (batch == 0 || batch >= batchLimit)
    return fail("has a batch that is not from 1 to 2^20-1");
  auto lengthOf = [](const StoredMatrix &matrix, uint64_t rows, uint64_t columns) {
    return matrix.isTurned ? rows : columns;
  };
  const std::pair<const StoredMatrix *, uint64_t> sides[] = {
      {&left, lengthOf(left, rows, terms)},
      {&right, lengthOf(right, terms, columns)},
      {&result, columns}};
  for (auto [matrix, length] : sides)
    if (matrix->line < length || matrix->line >= sizeLimit || matrix->stride >= strideLimit)
      return fail("has lines that overlap, or are too far apart");
  if (result.isTurned)
    return fail("turns its result");
  if (batch > 1 && result.stride < (rows - 1) * result.line + columns)
    return fail("writes results of its batch over one another");
  return {};
}

Expected<MatrixProduct> MatrixProduct::parse(std::string_view text) {
  Words words(text);
  MatrixProduct product;
  words.expect("matmul");
  product.type = typeNamed(words.take(), words.failed);
  std::string_view next = words.take();
  if (next == "to") {
    words.expect("f32");
    product.isWide = true;
    next = words.take();
  }
  words.failed |= next != "in";
  product.isTF32 = words.take() == "tf32";
  for (auto [name, size] :
       {std::pair("batch", &product.batch), std::pair("rows", &product.rows),
        std::pair("columns", &product.columns), std::pair("terms", &product.terms)}) {
    words.expect(name);
    *size = words.number();
  }
  product.left = readMatrix(words, "left");
  product.right = readMatrix(words, "right");
  product.result = readMatrix(words, "result");
  if (words.failed || product.text() != text)
    return Status::corrupt("'" + std::string(text.substr(0, 300)) +
                           "' is not a product of matrices as the library cublasLt has them");
  GANTRY_RETURN_IF_ERROR(product.check());
  return product;
}

uint64_t MatrixProduct::bytesOf(const StoredMatrix &matrix, uint64_t rows, uint64_t columns,
                                ElementType of) const {
  const uint64_t lines = matrix.isTurned ? columns : rows;
  const uint64_t length = matrix.isTurned ? rows : columns;
  return ((batch - 1) * matrix.stride + (lines - 1) * matrix.line + length) * elementTypeSize(of);
}

} // namespace gantry::plan
