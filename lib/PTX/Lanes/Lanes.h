// What the handlers of Lanes/ share: a function of one lane's values becomes a loop over 32 lanes.
//
// These files are compiled once for each instruction set, in a namespace of its own
// (GANTRY_PTX_LANES); nothing in them may have a name that the linker could merge.
#pragma once

#include "Compute.h"
#include "Formats.h"
#include "Op.h"

#include <cstring>
#include <type_traits>
#include <utility>

#ifndef GANTRY_PTX_LANES
#error "GANTRY_PTX_LANES names the instruction set that this file is compiled for"
#endif

namespace gantry::ptx::GANTRY_PTX_LANES {

Handler findInteger(const Compute &request);
Handler findFloat(const Compute &request);
Handler findHalf(const Compute &request);
Handler findCompare(const Compute &request);
Handler findConvert(const Compute &request);
AddressSummary summarise(const uint64_t *addresses, uint32_t mask, uint64_t stride);
bool locate(const void *base, unsigned bytes, uint64_t offset, uint64_t *to, uint32_t mask,
            const Pattern &pattern);
unsigned risingSectors(const uint64_t *addresses);
Mover findMover(const Access &access, bool store);
Multiplier findMultiplier(const MatrixDetail &detail);
uint32_t noteRead(const CellCheck &check, const uint64_t *at, uint32_t mask,
                  const Pattern *pattern);
uint32_t noteWrite(const CellCheck &check, const uint64_t *at, uint32_t mask,
                   const Pattern *pattern);

namespace {

/// Stores `value(lane)` for the lanes in `mask`. All are computed: values of other lanes are some
/// bits, and no function may trap on them.
template <class D, class Value>
[[gnu::always_inline]] inline void writeLanes(char *registers, uint32_t mask, uint32_t slot,
                                              Value value) {
  alignas(64) D made[warpSize];
  for (unsigned lane = 0; lane < warpSize; ++lane)
    made[lane] = value(lane);
  D *to = reinterpret_cast<D *>(registers + slot);
  if (mask == allLanes) {
    std::memcpy(to, made, sizeof made);
    return;
  }
  // Chosen by bits: of a conditional store compilers make a branch a lane.
  using Bits =
      std::conditional_t<sizeof(D) == 8, uint64_t,
                         std::conditional_t<sizeof(D) == 4, uint32_t,
                                            std::conditional_t<sizeof(D) == 2, uint16_t, uint8_t>>>;
  alignas(64) Bits bits[warpSize], old[warpSize];
  std::memcpy(bits, made, sizeof made);
  std::memcpy(old, to, sizeof old);
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    Bits chosen = Bits(0 - Bits(mask >> lane & 1));
    old[lane] = Bits((bits[lane] & chosen) | (old[lane] & Bits(~chosen)));
  }
  std::memcpy(to, old, sizeof old);
}

template <class T>
[[gnu::always_inline]] inline const T *source(char *registers, uint32_t slot) {
  return reinterpret_cast<const T *>(registers + slot);
}

/// Functions that are given the op first, for its constant.
struct TakesOp {};
/// Functions that cost too much to compute for lanes that do not run.
struct Costly {};

/// A handler: D = F(S…) for each lane.
template <class F, class D, class... S>
struct Map {
  template <size_t... I>
  [[gnu::always_inline]] static D at(unsigned lane, char *registers, const Op &op,
                                     std::index_sequence<I...>) {
    if constexpr (std::is_base_of_v<TakesOp, F>)
      return D(F()(op, source<S>(registers, op.src[I])[lane]...));
    else
      return D(F()(source<S>(registers, op.src[I])[lane]...));
  }
  static void handler(char *registers, uint32_t mask, const Op &op) {
    std::index_sequence_for<S...> sources;
    if constexpr (std::is_base_of_v<Costly, F>) {
      D *to = reinterpret_cast<D *>(registers + op.dst);
      for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(__builtin_ctz(mask));
        to[lane] = at(lane, registers, op, sources);
      }
    } else {
      writeLanes<D>(registers, mask, op.dst,
                    [&](unsigned lane) { return at(lane, registers, op, sources); });
    }
  }
};

/// What a function's handler is found by.
struct Entry {
  Fn fn;
  Handler (*find)(const Compute &request);
};

template <size_t count>
Handler findIn(const Entry (&entries)[count], const Compute &request) {
  for (const Entry &entry : entries)
    if (entry.fn == request.fn)
      return entry.find(request);
  return nullptr;
}

/// The same handler for all types.
template <Handler handler>
Handler always(const Compute &) {
  return handler;
}

/// What `make` gives for a value of as many bits as `type` has.
template <class Make>
Handler bySize(Type type, Make make) {
  switch (typeBits(type)) {
  case 16:
    return make(uint16_t());
  case 32:
    return make(uint32_t());
  case 64:
    return make(uint64_t());
  default:
    return nullptr;
  }
}

/// Among the types of a handler's result and sources: that of the instruction.
struct Own {};
template <class T, class S>
using Actual = std::conditional_t<std::is_same_v<S, Own>, T, S>;

/// A function of bits, whatever the type makes of them.
template <class F, class... Operands>
Handler bits(const Compute &request) {
  return bySize(request.type,
                []<class T>(T) -> Handler { return Map<F, Actual<T, Operands>...>::handler; });
}

[[gnu::always_inline]] inline uint32_t &predicate(char *registers, uint32_t slot) {
  return *reinterpret_cast<uint32_t *>(registers + slot);
}

[[gnu::always_inline]] inline void writePredicate(char *registers, uint32_t mask, uint32_t slot,
                                                  uint32_t bits) {
  uint32_t &to = predicate(registers, slot);
  to = (to & ~mask) | (bits & mask);
}

/// 1 << lane as a table: vector code selects from it.
struct LaneBits {
  alignas(64) uint32_t bit[warpSize];
  constexpr LaneBits() : bit() {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      bit[lane] = 1u << lane;
  }
};
constexpr LaneBits laneBits;

/// The predicate of lanes for which F(S…) holds.
template <class F, class... S>
struct Test {
  template <size_t... I>
  [[gnu::always_inline]] static uint32_t run(char *registers, const Op &op,
                                             std::index_sequence<I...>) {
    uint32_t all = 0;
    for (unsigned lane = 0; lane < warpSize; ++lane)
      all |= F()(source<S>(registers, op.src[I])[lane]...) ? laneBits.bit[lane] : 0;
    return all;
  }
  static uint32_t bits(char *registers, const Op &op) {
    return run(registers, op, std::index_sequence_for<S...>());
  }
};

} // namespace
} // namespace gantry::ptx::GANTRY_PTX_LANES
