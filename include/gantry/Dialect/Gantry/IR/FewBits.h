// Weights of few bits an element, as products on CPUs read them (docs/decisions/0072).
//
// A column is a row of bytes: one record after the other, each with the scale of a block of terms
// (an f32), the zero point of it (an f32, unless one number is that of all) and its numbers q of
// `bits` bits, the lowest bits first. A term is
//
//   (q - zero) * scale         in f32: exact, then rounded once (each operation by itself)
//
// A product of f32 (`gantry.matmul` with `transpose_b`) that carries the attribute has such a
// matrix of ui8, [columns, bytes], as its second operand.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace gantry {

/// bits, terms of a block, terms, the zero point of all weights or -1. What computes numbers of
/// such a matrix when the product is ops on elements carries it, too.
inline constexpr llvm::StringLiteral kFewBitsAttr = "gantry.few_bits";

struct FewBits {
  int64_t bits, block, terms;
  int64_t zero; ///< of all weights; -1 where each block has its own

  static constexpr int64_t kWordBytes = 4;

  bool hasZeros() const { return zero < 0; }
  int64_t termsOfWord() const { return 8 * kWordBytes / bits; }
  /// Of a record, in words: what stands in front of the numbers, and all.
  int64_t headWords() const { return hasZeros() ? 2 : 1; }
  int64_t recordWords() const { return headWords() + block / termsOfWord(); }
  int64_t blocks() const { return (terms + block - 1) / block; }
  /// Bytes of a column.
  int64_t columnBytes() const { return blocks() * recordWords() * kWordBytes; }

  /// Whether numbers are of a size that there is, and blocks whole words.
  bool isValid() const {
    return (bits == 2 || bits == 4 || bits == 8) && block > 0 && block % termsOfWord() == 0 &&
           terms >= 0 && zero >= -1 && zero < (1 << bits);
  }

  mlir::Attribute toAttr(mlir::MLIRContext *context) const {
    return mlir::DenseI64ArrayAttr::get(context, {bits, block, terms, zero});
  }
  static std::optional<FewBits> of(mlir::Attribute attr) {
    auto numbers = llvm::dyn_cast_if_present<mlir::DenseI64ArrayAttr>(attr);
    if (!numbers || numbers.size() != 4)
      return std::nullopt;
    return FewBits{numbers[0], numbers[1], numbers[2], numbers[3]};
  }
  static std::optional<FewBits> of(mlir::DictionaryAttr attributes) {
    return of(attributes ? attributes.get(kFewBitsAttr) : mlir::Attribute());
  }
  static std::optional<FewBits> of(mlir::Operation *op) {
    return of(op ? op->getAttr(kFewBitsAttr) : mlir::Attribute());
  }
};

} // namespace gantry
