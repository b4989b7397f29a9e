// atom and red: lane after lane, in the order of lanes.
#include "Formats.h"
#include "Runner.h"

#include <bit>
#include <cstring>

using namespace gantry;
using namespace gantry::ptx;

namespace {

using Fn = AtomicDetail::Fn;

float widen(Type type, uint16_t bits) {
  return type == Type::bf16 ? bfloatToFloat(bits) : halfToFloat(bits);
}

uint16_t applyHalf(Fn fn, Type type, uint16_t old, uint16_t operand) {
  float a = widen(type, old), b = widen(type, operand);
  switch (fn) {
  case Fn::min:
    return a != a || b < a ? operand : old;
  case Fn::max:
    return a != a || b > a ? operand : old;
  default:
    return type == Type::bf16 ? floatToBfloat(a + b) : floatToHalf(a + b);
  }
}

float add(float a, float b) {
  float sum = a + b;
  return sum != sum ? floatOfBits(0x7fffffffu) : sum;
}

/// What memory holds after the operation.
uint64_t apply(const AtomicDetail &detail, uint64_t old, uint64_t operand, uint64_t swap) {
  unsigned bits = typeBits(detail.type);
  switch (detail.fn) {
  case Fn::exchange:
    return operand;
  case Fn::compareAndSwap:
    return old == operand ? swap : old;
  case Fn::land:
    return old & operand;
  case Fn::lor:
    return old | operand;
  case Fn::lxor:
    return old ^ operand;
  case Fn::inc:
    return old >= operand ? 0 : old + 1;
  case Fn::dec:
    return old == 0 || old > operand ? operand : old - 1;
  default:
    break;
  }
  switch (detail.type) {
  case Type::f32:
    return bitsOf(add(floatOfBits(uint32_t(old)), floatOfBits(uint32_t(operand))));
  case Type::f64:
    return bitsOf(std::bit_cast<double>(old) + std::bit_cast<double>(operand));
  case Type::f16:
  case Type::bf16:
    return applyHalf(detail.fn, detail.type, uint16_t(old), uint16_t(operand));
  case Type::f16x2:
  case Type::bf16x2: {
    Type half = detail.type == Type::f16x2 ? Type::f16 : Type::bf16;
    uint32_t low = applyHalf(detail.fn, half, uint16_t(old), uint16_t(operand));
    uint32_t high = applyHalf(detail.fn, half, uint16_t(old >> 16), uint16_t(operand >> 16));
    return high << 16 | low;
  }
  default:
    break;
  }
  if (detail.fn == Fn::add)
    return old + operand;
  bool less = operand < old;
  if (isSigned(detail.type))
    less = bits == 32 ? int32_t(operand) < int32_t(old) : int64_t(operand) < int64_t(old);
  return detail.fn == Fn::min ? (less ? operand : old) : less ? old : operand;
}

/// Other threads of the host may be at the same word.
template <class T>
uint64_t exchange(const AtomicDetail &detail, uint64_t address, uint64_t operand, uint64_t swap) {
  T *at = reinterpret_cast<T *>(address);
  T old = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(at, &old, T(apply(detail, old, operand, swap)), true,
                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
  return old;
}

uint64_t perform(const AtomicDetail &detail, uint64_t address, uint64_t operand, uint64_t swap,
                 bool concurrent) {
  unsigned bytes = detail.access.width;
  if (concurrent && address % bytes == 0)
    return bytes == 2   ? exchange<uint16_t>(detail, address, operand, swap)
           : bytes == 4 ? exchange<uint32_t>(detail, address, operand, swap)
                        : exchange<uint64_t>(detail, address, operand, swap);
  uint64_t old = 0;
  std::memcpy(&old, reinterpret_cast<const void *>(address), bytes);
  uint64_t made = apply(detail, old, operand, swap);
  std::memcpy(reinterpret_cast<void *>(address), &made, bytes);
  return old;
}

} // namespace

void Runner::atomic(Warp &warp, const Op &op, uint32_t exec) {
  const AtomicDetail &detail = program.atomics[op.detail];
  const Access &access = detail.access;
  unsigned bytes = unsigned(access.width) * access.count;
  Addresses addresses;
  computeAddresses(warp, access, exec, addresses);
  bySpace(access, exec, addresses, [&](Space space, uint32_t lanes, Addresses &part) {
    if (space == Space::param || space == Space::constant)
      return fault(FaultKind::readOnly, warp, op, firstLane(lanes),
                   "atomic operation on a parameter");
    if (space == Space::global)
      countGlobal(counts.globalAtomic, part, lanes, bytes);
    else if (space == Space::shared)
      countShared(counts.sharedStore, part, lanes, bytes);
    if (space == Space::global) {
      if (access.release)
        fenceTick = tick + 1;
      if (fenceTick)
        releasedBlocks[block & record::blockMask] = fenceTick;
      acquired = true;
    }
    uint32_t good = resolve(warp, op, access, space, lanes, part, true, true,
                            uint64_t(&op - program.ops.data()));
    bool concurrent = state.launch.threads > 1 && space == Space::global;
    for (unsigned lane : Lanes{good})
      for (unsigned i = 0; i < access.count; ++i) {
        uint64_t swap = detail.swap.offset == noSlot ? 0 : readLane(warp, detail.swap, lane);
        uint64_t old = perform(detail, part.at[lane] + i * access.width,
                               readLane(warp, detail.operands[i], lane), swap, concurrent);
        writeLane(warp, access.values[i], lane, old);
      }
  });
}
