// What a library of matrix products is asked to compute: the symbol of a variant that the library
// cublasLt has, as text that says all of it.
//
//   matmul f32 in tf32 batch 12 rows 64 columns 128 terms 768 left 0 768 49152 right 1t 768 0
//   result 2 128 8192
//
// result[rows, columns] = left[rows, terms] * right[terms, columns] for each of the batch, each
// side stored row by row, or, where it is turned ("1t"), column by column. Behind the number of the
// launch's buffer come the elements from one such line to the next, and from one of the batch to
// the next.
#pragma once

#include "gantry/Support/ElementType.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace gantry::plan {

/// The library that computes them, and from which version on.
inline constexpr std::string_view matmulLibrary = "cublasLt", oldestMatmulLibrary = "12.0";

struct StoredMatrix {
  uint32_t buffer = 0; ///< of the launch
  bool isTurned = false;
  uint64_t line = 1;   ///< elements from a line to the next
  uint64_t stride = 0; ///< from one of the batch to the next; 0: all are the same

  bool operator==(const StoredMatrix &) const = default;
};

struct MatrixProduct {
  ElementType type = ElementType::f32; ///< of the factors; f16, bf16 and f32
  bool isWide = false;                 ///< the result is the sums, of f32; else it is of that type
  bool isTF32 = false;                 ///< factors of f32 are cut to 10 bits; sums are always f32
  uint64_t batch = 1, rows = 1, columns = 1, terms = 1;
  StoredMatrix left, right, result;

  bool operator==(const MatrixProduct &) const = default;

  /// CORRUPT says what is wrong with it: what follows from the text alone, and that nothing
  /// overflows.
  static Expected<MatrixProduct> parse(std::string_view text);
  std::string text() const;

  ElementType resultType() const { return isWide ? ElementType::f32 : type; }

  /// The same of a product that was put together; a failure when it cannot be said as text.
  Status check() const;

  /// Bytes of the buffer up to the end of the matrix.
  uint64_t leftBytes() const { return bytesOf(left, rows, terms, type); }
  uint64_t rightBytes() const { return bytesOf(right, terms, columns, type); }
  uint64_t resultBytes() const { return bytesOf(result, rows, columns, resultType()); }

private:
  uint64_t bytesOf(const StoredMatrix &matrix, uint64_t rows, uint64_t columns,
                   ElementType of) const;
};

} // namespace gantry::plan
