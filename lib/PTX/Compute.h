// Which handler computes an instruction. Handlers are compiled for several instruction sets
// (Lanes/); computeTable() is that of this machine.
#pragma once

#include "Op.h"
#include "Pattern.h"

#include "gantry/PTX/Types.h"

#include <cstddef>

namespace gantry::ptx {

enum class Fn : uint8_t {
  // One, two or three values of one type.
  add,
  sub,
  mul,
  mulHi,
  mulWide,
  mad,
  madHi,
  madWide,
  div,
  rem,
  min,
  max,
  abs,
  neg,
  sad,
  fma,
  sqrt,
  rcp,
  rsqrt,
  sin,
  cos,
  ex2,
  lg2,
  tanh,
  copysign,
  land,
  lor,
  lxor,
  lnot,
  cnot,
  shl,
  shr,
  lop3,
  bfe,
  bfi,
  bfind,
  bfindShift,
  brev,
  clz,
  popc,
  prmt,
  funnelLeft,
  funnelRight,
  dp4a,
  dp2a,
  szext,
  bmsk,
  mul24,
  mulHi24,
  addCarry,
  subBorrow,
  select,
  slct,
  set,
  setp,
  testp,
  move,
  convert,
  pack,
  unpack,
  predicate, ///< logic of predicates; constant is a table of 8 bits: value for (a, b, c)
  selectPredicate,
};

enum class Compare : uint8_t {
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  equ,
  neu,
  ltu,
  leu,
  gtu,
  geu,
  num,
  nan,
  finite,
  infinite,
  normal,
  subnormal, // testp: with num as number
};

/// What is asked for: the function, its types, and what modifies it.
struct Compute {
  Fn fn = Fn::add;
  Type type = Type::none; ///< of the result
  Type from = Type::none; ///< of the sources where they differ
  Compare compare = Compare::eq;
  uint8_t round = 0; ///< Formats.h: Round
  bool saturate = false;
  bool flush = false;   ///< .ftz
  bool nanWins = false; ///< .NaN of min and max
  bool relu = false;
  bool clamp = false;     ///< shf: .clamp, else .wrap
  bool mode4 = false;     ///< prmt: a mode is in Op::constant
  bool toInteger = false; ///< cvt.rni.f32.f32
  bool xorSign = false;
};

/// A summary of the addresses of a warp's access.
struct AddressSummary {
  uint64_t low, high; ///< least and greatest address of an active lane
  uint64_t bits;      ///< all of them or'ed
  bool contiguous;    ///< all 32 lanes, each `stride` after the one before
};

struct ComputeTable {
  const char *name;
  /// Null when there is no such function.
  Handler (*find)(const Compute &request);
  AddressSummary (*summarise)(const uint64_t *addresses, uint32_t mask, uint64_t stride);
  /// The same of `base` + `offset`, which are written to `to`.
  AddressSummary (*addresses)(const uint64_t *base, uint64_t offset, uint64_t *to, uint32_t mask,
                              uint64_t stride);
  /// Writes base + offset of each lane to `to`; a base of 4 bytes wraps there. True when the active
  /// lanes lie as the pattern says.
  bool (*locate)(const void *base, unsigned bytes, uint64_t offset, uint64_t *to, uint32_t mask,
                 const Pattern &pattern);
  /// Sectors of 32 bytes that lanes touch whose addresses rise.
  unsigned (*risingSectors)(const uint64_t *addresses);
  Mover (*findMover)(const Access &access, bool store);
  /// Null when the shape is no common one.
  Multiplier (*findMultiplier)(const MatrixDetail &detail);
  /// Checks an access and notes it, lane by lane up to the first that does not simply pass; gives
  /// the lanes from there on. `pattern`: of these lanes, or null.
  uint32_t (*noteRead)(const CellCheck &check, const uint64_t *at, uint32_t mask,
                       const Pattern *pattern);
  uint32_t (*noteWrite)(const CellCheck &check, const uint64_t *at, uint32_t mask,
                        const Pattern *pattern);
};

const ComputeTable &computeTable();

} // namespace gantry::ptx
