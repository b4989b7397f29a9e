// A decoded instruction, as the machine runs it.
//
// Registers are laid out structure of arrays: a slot holds one value for each of the 32 lanes, side
// by side, and an operand is the byte offset of its slot in the warp's register file. Constants are
// slots that are filled once, so that a handler knows only slots. A predicate is a word with a bit
// a lane.
#pragma once

#include "gantry/PTX/Module.h"

#include <cstdint>
#include <vector>

namespace gantry::ptx {

inline constexpr unsigned warpSize = 32;
inline constexpr uint32_t allLanes = ~uint32_t(0);
inline constexpr uint32_t noSlot = ~uint32_t(0);

/// cp.async.wait_all: also what is in no group yet.
inline constexpr uint64_t allGroups = ~uint64_t(0);

struct Op;

/// Computes `op` for the lanes in `mask`; the others keep what they have.
using Handler = void (*)(char *registers, uint32_t mask, const Op &op);

/// What the loop of a warp does with an op; `compute` is a Handler and nothing else.
enum class OpKind : uint8_t {
  compute,
  branch,
  branchIndexed,
  exit,
  trap,
  nop,
  load,
  store,
  atomic,
  loadParameter,
  copyAsync,
  copyCommit,
  copyWait, ///< constant: groups that may stay unfinished, or allGroups
  barrier,
  warpBarrier,
  fence,
  shuffle,
  vote,
  match,
  redux,
  activeMask,
  elect,
  clock,
  loadMatrix,
  storeMatrix,
  multiplyMatrices,
  memoryBarrier,
};

/// Where the counts of an op go.
enum class OpClass : uint8_t {
  integer,
  real,
  half,
  conversion,
  move,
  memory,
  control,
  sync,
  matrix
};

struct Op {
  Handler compute = nullptr;
  uint32_t guard = noSlot; ///< slot of the predicate
  uint32_t dst = noSlot;
  uint32_t dst2 = noSlot;
  uint32_t src[4] = {noSlot, noSlot, noSlot, noSlot};
  uint32_t target = 0;       ///< branch: index of an op
  uint64_t constant = 0;     ///< an immediate that is no lane value: rounding, a table
  uint32_t detail = noSlot;  ///< index into a side table of the KernelProgram, by kind
  uint32_t instruction = 0;  ///< index into the KernelProgram's origins
  uint32_t watched = noSlot; ///< index of a WatchedOp: registers that may be undefined
  OpKind kind = OpKind::compute;
  OpClass opClass = OpClass::integer;
  bool guardNegated = false;
};

/// A slot and the bytes of one lane's value; 0 for a predicate.
struct Slot {
  uint32_t offset = noSlot;
  uint8_t bytes = 0;
};

struct Access;

/// How the addresses of a warp's lanes lie to each other; the last two hold for all 32 lanes.
enum class Layout : uint8_t { scattered, neighbours, same };

/// Moves an access's bytes for the lanes in `mask`. `at` has an address for each of them; it is the
/// memory of the host.
using Mover = void (*)(char *registers, const Access &access, const uint64_t *at, uint32_t mask,
                       Layout layout);

/// ld, st, atom, red, cp.async: which bytes.
struct Access {
  enum class Extend : uint8_t { none, zero, sign };
  Space space = Space::generic;
  uint8_t width = 4; ///< bytes of an element
  uint8_t count = 1; ///< elements of a vector
  Extend extend = Extend::zero;
  bool nonCoherent = false;
  bool strong = false; ///< relaxed, acquire, release, volatile: no race with its like
  bool acquire = false, release = false;
  Slot base; ///< a register, or none
  int64_t offset = 0;
  Slot values[8];
  Mover move = nullptr; ///< of ld and st
};

/// atom and red.
struct AtomicDetail {
  enum class Fn : uint8_t { add, min, max, inc, dec, land, lor, lxor, exchange, compareAndSwap };
  Access access;
  Fn fn = Fn::add;
  Type type = Type::u32;
  bool returns = false;
  bool flush = false;
  Slot operands[8]; ///< of a vector: one an element
  Slot swap;        ///< compareAndSwap: the new value
};

/// A shuffle, vote, match, redux or barrier: what it does and where its operands are.
struct SyncDetail {
  enum class Fn : uint8_t {
    up,
    down,
    bfly,
    idx, // shfl
    all,
    any,
    uni,
    ballot, // vote, match
    add,
    min,
    max,
    land,
    lor,
    lxor,
    popc, // redux, bar.red
    sync,
    arrive // bar
  };
  Fn fn = Fn::sync;
  Type type = Type::b32;
  bool aligned = true;
  Slot members;         ///< the member mask
  Slot a, b, c;         ///< operands; a predicate has bytes 0
  bool negated = false; ///< a is a negated predicate
  Slot dst, predicate;
  Slot barrier, threads; ///< of bar
};

/// Where the registers of mma's fragments are.
struct MatrixSlots {
  uint32_t d[4], a[4], b[2], c[4];
};
using Multiplier = void (*)(char *registers, const MatrixSlots &slots);

/// mma, wmma, ldmatrix: the fragments.
struct MatrixDetail {
  enum class Fragment : uint8_t { a, b, c };
  uint8_t m = 0, n = 0, k = 0;
  Type a = Type::f16, b = Type::f16, c = Type::f32, d = Type::f32;
  bool wmma = false;
  bool rowA = true, rowB = false;
  bool saturate = false;
  std::vector<Slot> dRegs, aRegs, bRegs, cRegs;
  Multiplier multiply = nullptr; ///< the short way for the common shapes
  MatrixSlots slots = {};
  // ldmatrix, stmatrix, wmma.load, wmma.store
  Fragment fragment = Fragment::a;
  bool transposed = false;
  bool rowMajor = true;
  uint8_t matrices = 1;
  Slot stride; ///< none: packed
  Access access;
  std::vector<Slot> regs;
};

/// cp.async
struct CopyDetail {
  Access from, to;
  uint8_t bytes = 16;
  Slot size; ///< bytes that are read, the rest is zero; none: all
};

/// mbarrier
struct BarrierDetail {
  enum class Fn : uint8_t {
    init,
    invalidate,
    arrive,
    arriveDrop,
    testWait,
    tryWait,
    testParity,
    expectTx,
    copyArrive
  };
  Fn fn = Fn::init;
  Access access;
  Slot operand; ///< a count, a state or a parity
  Slot dst;
};

} // namespace gantry::ptx
