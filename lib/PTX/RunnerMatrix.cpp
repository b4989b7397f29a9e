// ldmatrix, stmatrix, wmma and mma.
//
// Sums are made in the order of k, one fused multiply-add after the other, each rounded to the type
// of the accumulator. Tensor cores add several products at once with fewer bits and one rounding:
// their results may differ in the last bits of f32.
#include "Formats.h"
#include "Runner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;

namespace {

struct Size {
  unsigned rows, columns;
};

Size sizeOf(const MatrixDetail &detail, MatrixDetail::Fragment fragment) {
  switch (fragment) {
  case MatrixDetail::Fragment::a:
    return {detail.m, detail.k};
  case MatrixDetail::Fragment::b:
    return {detail.k, detail.n};
  default:
    return {detail.m, detail.n};
  }
}

unsigned bitsOfElement(Type type) { return type == Type::tf32 ? 32 : typeBits(type); }

struct Position {
  unsigned row, column;
};

/// Element `j` of register `reg` of a lane. wmma: in the order of lanes, row by row, again from the
/// start where there are more places than elements. mma: the tables of the PTX manual.
Position place(const MatrixDetail &detail, MatrixDetail::Fragment fragment, unsigned lane,
               unsigned reg, unsigned j, unsigned perRegister, unsigned registers) {
  Size size = sizeOf(detail, fragment);
  if (detail.wmma) {
    unsigned flat = ((lane * registers + reg) * perRegister + j) % (size.rows * size.columns);
    return {flat / size.columns, flat % size.columns};
  }
  unsigned group = lane / 4, inGroup = lane % 4;
  switch (fragment) {
  case MatrixDetail::Fragment::a: {
    bool two = detail.m == 16;
    unsigned half = two ? reg & 1 : 0, block = two ? reg >> 1 : reg;
    return {group + 8 * half, inGroup * perRegister + j + block * 4 * perRegister};
  }
  case MatrixDetail::Fragment::b:
    return {inGroup * perRegister + j + reg * 4 * perRegister, group};
  default: {
    unsigned index = reg * perRegister + j;
    return {group + 8 * (index >> 1), inGroup * 2 + (index & 1)};
  }
  }
}

double valueOf(Type type, uint64_t bits) {
  switch (type) {
  case Type::f16:
    return halfToFloat(uint16_t(bits));
  case Type::bf16:
    return bfloatToFloat(uint16_t(bits));
  case Type::tf32:
    return floatOfBits(uint32_t(bits) & 0xffffe000u);
  case Type::f32:
    return floatOfBits(uint32_t(bits));
  case Type::e4m3:
    return decodeSmall(uint32_t(bits), formatE4M3, 4);
  case Type::e5m2:
    return decodeSmall(uint32_t(bits), formatE5M2, 5);
  case Type::s8:
    return int8_t(bits);
  case Type::u8:
    return uint8_t(bits);
  case Type::s32:
    return int32_t(bits);
  default:
    return std::bit_cast<double>(bits);
  }
}

/// How many elements a register holds.
unsigned elementsOf(const Slot &reg, unsigned bits) {
  return std::max(1u, unsigned(reg.bytes) * 8 / bits);
}

/// A row of A times a column of B, whose elements are `n` apart, and a sum. Sums of f16 are rounded
/// after each step, as those of f32 and f64 are.
double addProducts(const MatrixDetail &detail, const double *a, const double *b, double sum) {
  const unsigned n = detail.n, count = detail.k;
  switch (detail.d) {
  case Type::s32: {
    int64_t total = int64_t(sum);
    for (unsigned k = 0; k < count; ++k)
      total += int64_t(a[k]) * int64_t(b[k * n]);
    return detail.saturate ? double(std::clamp<int64_t>(total, INT32_MIN, INT32_MAX))
                           : double(int32_t(uint32_t(total)));
  }
  case Type::f64:
    for (unsigned k = 0; k < count; ++k)
      sum = std::fma(a[k], b[k * n], sum);
    return sum;
  case Type::f32: {
    float total = float(sum);
    for (unsigned k = 0; k < count; ++k)
      total = std::fma(float(a[k]), float(b[k * n]), total);
    return total;
  }
  default:
    for (unsigned k = 0; k < count; ++k)
      sum = halfToFloat(floatToHalf(oddFloat(a[k] * b[k * n] + sum)));
    return sum;
  }
}

uint64_t bitsOfSum(Type type, double sum) {
  switch (type) {
  case Type::s32:
    return uint32_t(int32_t(sum));
  case Type::f64:
    return bitsOf(sum);
  case Type::f32:
    return sum != sum ? 0x7fffffffu : bitsOf(float(sum));
  default:
    return floatToHalf(float(sum));
  }
}

using Row = uint16_t __attribute__((vector_size(16)));

/// Rows of 8 x 8 become columns.
void turn(Row (&square)[8]) {
  auto interleave = [](Row a, Row b, Row &low, Row &high) {
    low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
    high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
  };
  // Three times: rows i and i + 4 side by side.
  for (int round = 0; round < 3; ++round) {
    Row made[8];
    for (int i = 0; i < 4; ++i)
      interleave(square[i], square[i + 4], made[2 * i], made[2 * i + 1]);
    std::copy(made, made + 8, square);
  }
}

} // namespace

/// The elements of a fragment, row by row.
std::vector<double> Runner::readFragment(Warp &warp, const MatrixDetail &detail,
                                         MatrixDetail::Fragment fragment, Type type,
                                         const std::vector<Slot> &regs) {
  const unsigned bits = bitsOfElement(type), each = elementsOf(regs[0], bits);
  const uint64_t keep = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  const Size size = sizeOf(detail, fragment);
  std::vector<double> made(size_t(size.rows) * size.columns);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned reg = 0; reg < regs.size(); ++reg) {
      uint64_t word = readLane(warp, regs[reg], lane);
      for (unsigned j = 0; j < each; ++j) {
        Position at = place(detail, fragment, lane, reg, j, each, unsigned(regs.size()));
        if (at.row < size.rows && at.column < size.columns)
          made[at.row * size.columns + at.column] = valueOf(type, word >> (j * bits) & keep);
      }
    }
  return made;
}

void Runner::writeFragment(Warp &warp, const MatrixDetail &detail,
                           const std::vector<double> &elements) {
  const std::vector<Slot> &regs = detail.dRegs;
  const unsigned bits = bitsOfElement(detail.d), each = elementsOf(regs[0], bits);
  for (unsigned lane = 0; lane < warpSize; ++lane)
    for (unsigned reg = 0; reg < regs.size(); ++reg) {
      uint64_t word = 0;
      for (unsigned j = 0; j < each; ++j) {
        Position at =
            place(detail, MatrixDetail::Fragment::c, lane, reg, j, each, unsigned(regs.size()));
        bool isInside = at.row < detail.m && at.column < detail.n;
        word |= bitsOfSum(detail.d, isInside ? elements[at.row * detail.n + at.column] : 0)
                << (j * bits);
      }
      writeLane(warp, regs[reg], lane, word);
    }
}

void Runner::multiplyMatrices(Warp &warp, const Op &op, uint32_t) {
  const MatrixDetail &detail = program.matrices[op.detail];
  if (detail.multiply)
    return detail.multiply(warp.registers, detail.slots);
  using Fragment = MatrixDetail::Fragment;
  auto a = readFragment(warp, detail, Fragment::a, detail.a, detail.aRegs);
  auto b = readFragment(warp, detail, Fragment::b, detail.b, detail.bRegs);
  auto sums = readFragment(warp, detail, Fragment::c, detail.c, detail.cRegs);
  for (unsigned i = 0; i < detail.m; ++i)
    for (unsigned j = 0; j < detail.n; ++j) {
      double &sum = sums[i * detail.n + j];
      sum = addProducts(detail, &a[i * detail.k], &b[j], sum);
    }
  writeFragment(warp, detail, sums);
}

/// A matrix of 8 x 8, row by row, is the order of the lanes' registers.
void Runner::moveMatrices(Warp &warp, const MatrixDetail &detail, const Addresses &addresses,
                          bool store) {
  for (unsigned i = 0; i < detail.matrices; ++i) {
    char *reg = slot<char>(warp, detail.regs[i].offset);
    const uint64_t *rows = addresses.at + 8 * i;
    Row square[8];
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(&square[row], store ? reg + 16 * row : reinterpret_cast<const char *>(rows[row]),
                  16);
    if (detail.transposed)
      turn(square);
    for (unsigned row = 0; row < 8; ++row)
      std::memcpy(store ? reinterpret_cast<char *>(rows[row]) : reg + 16 * row, &square[row], 16);
  }
}

/// What lanes hold of matrices, one by one: of rows whose place is not good nothing moves.
void Runner::moveGoodRows(Warp &warp, const MatrixDetail &detail, const Addresses &addresses,
                          uint32_t good, bool store) {
  for (unsigned i = 0; i < detail.matrices; ++i)
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      uint64_t word = store ? readLane(warp, detail.regs[i], lane) : 0;
      for (unsigned j = 0; j < 2; ++j) {
        unsigned row = lane / 4, column = lane % 4 * 2 + j;
        if (detail.transposed)
          std::swap(row, column);
        unsigned owner = i * 8 + row;
        if (!(good >> owner & 1))
          continue;
        char *at = reinterpret_cast<char *>(addresses.at[owner]) + column * 2;
        uint16_t value = uint16_t(word >> (16 * j));
        if (store)
          std::memcpy(at, &value, 2);
        else
          std::memcpy(&value, at, 2);
        if (!store)
          word |= uint64_t(value) << (16 * j);
      }
      if (!store)
        writeLane(warp, detail.regs[i], lane, word);
    }
}

void Runner::loadMatrix(Warp &warp, const Op &op, uint32_t exec, bool store) {
  const MatrixDetail &detail = program.matrices[op.detail];
  const Access &access = detail.access;
  uint64_t cache = uint64_t(&op - program.ops.data());
  Addresses addresses;
  if (detail.wmma)
    return loadFragment(warp, op, exec, store);
  // Row r of matrix i is where lane 8i + r says.
  uint32_t lanes = detail.matrices == 4 ? allLanes : (1u << (8 * detail.matrices)) - 1;
  if (access.space == Space::shared) {
    locate(warp, access, lanes, matrixPatterns[op.detail], addresses);
  } else {
    computeAddresses(warp, access, exec, addresses);
    for (uint64_t &at : addresses.at)
      at &= ~windowMask;
    addresses.summarised(compute.summarise(addresses.at, lanes, 16));
  }
  countShared(store ? counts.sharedStore : counts.sharedLoad, addresses, lanes, 16);
  // The bytes come from other lanes' registers: two that write the same are told apart by
  // nothing.
  uint32_t good = resolve(warp, op, access, Space::shared, lanes, addresses, store, !store, cache);
  if (good == lanes)
    return moveMatrices(warp, detail, addresses, store);
  moveGoodRows(warp, detail, addresses, good, store);
}

/// Bytes that a fragment asks for, each once.
void Runner::countFragment(std::vector<uint64_t> &all, unsigned width, Space space, bool store) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  uint64_t least = (all.size() * width + 31) / 32, words = 0, sectors = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    sectors += i == 0 || all[i] >> 5 != all[i - 1] >> 5;
    words += i == 0 || all[i] >> 2 != all[i - 1] >> 2;
  }
  if (space == Space::global) {
    Counts::Global &count = store ? counts.globalStore : counts.globalLoad;
    ++count.requests;
    count.bytes += all.size() * width;
    count.sectors += sectors;
    count.leastSectors += least;
  } else if (space == Space::shared) {
    Counts::Shared &count = store ? counts.sharedStore : counts.sharedLoad;
    ++count.requests;
    count.wavefronts += (words + 31) / 32;
    count.leastWavefronts += (words + 31) / 32;
  }
}

void Runner::loadFragment(Warp &warp, const Op &op, uint32_t exec, bool store) {
  const MatrixDetail &detail = program.matrices[op.detail];
  const Access &access = detail.access;
  uint64_t cache = uint64_t(&op - program.ops.data());
  Addresses addresses;
  computeAddresses(warp, access, exec, addresses);
  // wmma: element by element of the fragment, counted as one request.
  bySpace(access, exec, addresses, [&](Space space, uint32_t lanes, Addresses &base) {
    Size size = sizeOf(detail, detail.fragment);
    unsigned width = access.width, each = 4 / width, registers = unsigned(detail.regs.size());
    std::vector<uint64_t> all;
    for (unsigned reg = 0; reg < registers; ++reg) {
      uint32_t words[warpSize] = {};
      for (unsigned j = 0; j < each; ++j) {
        Addresses part;
        for (unsigned lane = 0; lane < warpSize; ++lane) {
          Position at = place(detail, detail.fragment, lane, reg, j, each, registers);
          uint64_t stride = detail.stride.offset != noSlot ? readLane(warp, detail.stride, lane)
                            : detail.rowMajor              ? size.columns
                                                           : size.rows;
          uint64_t index =
              detail.rowMajor ? at.row * stride + at.column : at.column * stride + at.row;
          part.at[lane] = base.at[lane] + index * width;
          all.push_back(part.at[lane]);
        }
        part.summary = compute.summarise(part.at, lanes, width);
        uint32_t good = resolve(warp, op, access, space, lanes, part, store, !store, cache);
        for (unsigned lane : Lanes{good}) {
          char *at = reinterpret_cast<char *>(part.at[lane]);
          uint32_t value = 0;
          if (store) {
            value = uint32_t(readLane(warp, detail.regs[reg], lane)) >> (8 * width * j);
            std::memcpy(at, &value, width);
          } else {
            std::memcpy(&value, at, width);
            words[lane] |= value << (8 * width * j);
          }
        }
      }
      if (!store)
        for (unsigned lane = 0; lane < warpSize; ++lane)
          writeLane(warp, detail.regs[reg], lane, words[lane]);
    }
    countFragment(all, width, space, store);
  });
}
