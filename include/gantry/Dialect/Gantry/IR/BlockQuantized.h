// Weight-only block quantisation: weights of few bits an element, as products on CPUs read them
// (docs/designs/cpu-contractions.md).
//
// A column is a row of bytes: one record after the other, each with the scale of a block along K
// (an f32), its zero point (an f32, unless one number is that of all blocks) and its numbers q of
// `bits` bits, the lowest bits first. A weight is
//
//   (q - zero) * scale         in f32: exact, then rounded once (each operation by itself)
#pragma once

#include <cstdint>

namespace gantry {

/// What #gantry.block_quantized says.
struct BlockQuantized {
  int64_t bits, block, k;
  int64_t zero; ///< of all blocks; -1 where each has its own

  static constexpr int64_t kWordBytes = 4;

  bool hasZeros() const { return zero < 0; }
  /// Numbers in a word of four bytes.
  int64_t numbersOfWord() const { return 8 * kWordBytes / bits; }
  /// Of a record, in words: what stands in front of the numbers, and all.
  int64_t headWords() const { return hasZeros() ? 2 : 1; }
  int64_t recordWords() const { return headWords() + block / numbersOfWord(); }
  int64_t blocks() const { return k / block + (k % block != 0); }
  /// Bytes of a column.
  int64_t columnBytes() const { return blocks() * recordWords() * kWordBytes; }

  /// Whether numbers are of a size that there is, and blocks whole words.
  bool isValid() const {
    constexpr int64_t most = int64_t(1) << 40; // no column has as many bytes as overflow
    return (bits == 2 || bits == 4 || bits == 8) && block > 0 && block <= most &&
           block % numbersOfWord() == 0 && k >= 0 && k <= most && zero >= -1 && zero < (1 << bits);
  }
};

} // namespace gantry
