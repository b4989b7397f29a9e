// Bytes of a warp's access between memory and registers.
//
// What a lane moves is one word, or a vector that lies packed in memory and in registers of its
// own. Vectors of 8 bytes at most are moved as one word and split in registers, for all lanes at
// once; those of 16 and 32 bytes are squares of 4 x 4 or 2 x 2 elements that are turned. What
// remains (some lanes only, odd mixtures of widths) goes element by element.
#include "Lanes.h"
#include "Squares.h"

namespace gantry::ptx::GANTRY_PTX_LANES {
namespace {

template <class T>
[[gnu::always_inline]] inline T loadFrom(uint64_t address) {
  T value;
  std::memcpy(&value, reinterpret_cast<const void *>(address), sizeof value);
  return value;
}

template <class T>
[[gnu::always_inline]] inline void storeTo(uint64_t address, T value) {
  std::memcpy(reinterpret_cast<void *>(address), &value, sizeof value);
}

template <class F>
[[gnu::always_inline]] inline void eachLane(uint32_t mask, F use) {
  for (; mask; mask &= mask - 1)
    use(unsigned(__builtin_ctz(mask)));
}

/// A word of each lane of a full warp.
template <class W>
[[gnu::always_inline]] inline void gather(W *to, const uint64_t *at, Layout layout) {
  if (layout == Layout::neighbours) {
    std::memcpy(to, reinterpret_cast<const void *>(at[0]), sizeof(W) * warpSize);
  } else if (layout == Layout::same) {
    W value = loadFrom<W>(at[0]);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to[lane] = value;
  } else {
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to[lane] = loadFrom<W>(at[lane]);
  }
}

/// Later lanes win where lanes meet.
template <class W>
[[gnu::always_inline]] inline void scatter(const W *from, const uint64_t *at, Layout layout) {
  if (layout == Layout::neighbours)
    std::memcpy(reinterpret_cast<void *>(at[0]), from, sizeof(W) * warpSize);
  else if (layout == Layout::same)
    storeTo(at[0], from[warpSize - 1]);
  else
    for (unsigned lane = 0; lane < warpSize; ++lane)
      storeTo(at[lane], from[lane]);
}

// One element after the other: T in memory, R in a register.

template <class T, class R>
void loadElements(char *registers, const Access &access, const uint64_t *at, uint32_t mask,
                  Layout layout) {
  for (unsigned i = 0; i < access.count; ++i) {
    if (access.values[i].offset == noSlot)
      continue;
    R *to = reinterpret_cast<R *>(registers + access.values[i].offset);
    if (mask == allLanes && access.count == 1) {
      alignas(64) T words[warpSize];
      gather(words, at, layout);
      for (unsigned lane = 0; lane < warpSize; ++lane)
        to[lane] = R(words[lane]);
    } else {
      eachLane(mask, [&](unsigned lane) { to[lane] = R(loadFrom<T>(at[lane] + i * sizeof(T))); });
    }
  }
}

template <class T, class R>
void storeElements(char *registers, const Access &access, const uint64_t *at, uint32_t mask,
                   Layout layout) {
  for (unsigned i = 0; i < access.count; ++i) {
    const R *from = reinterpret_cast<const R *>(registers + access.values[i].offset);
    if (mask == allLanes && access.count == 1) {
      alignas(64) T words[warpSize];
      for (unsigned lane = 0; lane < warpSize; ++lane)
        words[lane] = T(from[lane]);
      scatter(words, at, layout);
    } else {
      eachLane(mask, [&](unsigned lane) { storeTo(at[lane] + i * sizeof(T), T(from[lane])); });
    }
  }
}

// Vectors in a word W: elements of as many bytes as T has, in registers of R.

template <class W, class T, class R>
void loadPacked(char *registers, const Access &access, const uint64_t *at, uint32_t mask,
                Layout layout) {
  if (mask != allLanes)
    return loadElements<T, R>(registers, access, at, mask, layout);
  alignas(64) W words[warpSize];
  gather(words, at, layout);
  for (unsigned i = 0; i < sizeof(W) / sizeof(T); ++i) {
    R *to = reinterpret_cast<R *>(registers + access.values[i].offset);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      to[lane] = R(T(words[lane] >> (8 * sizeof(T) * i)));
  }
}

template <class W, class T, class R>
void storePacked(char *registers, const Access &access, const uint64_t *at, uint32_t mask,
                 Layout layout) {
  if (mask != allLanes)
    return storeElements<T, R>(registers, access, at, mask, layout);
  alignas(64) W words[warpSize] = {};
  for (unsigned i = 0; i < sizeof(W) / sizeof(T); ++i) {
    const R *from = reinterpret_cast<const R *>(registers + access.values[i].offset);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      words[lane] |= W(W(T(from[lane])) << (8 * sizeof(T) * i));
  }
  scatter(words, at, layout);
}

// Vectors of 16 bytes as squares.

/// S is the vector of a square's row, with `side` elements of T.
template <class S, class T, unsigned side, unsigned squares>
void loadSquares(char *registers, const Access &access, const uint64_t *at, uint32_t mask,
                 Layout layout) {
  if (mask != allLanes)
    return loadElements<T, T>(registers, access, at, mask, layout);
  for (unsigned part = 0; part < squares; ++part) {
    T *to[side];
    for (unsigned i = 0; i < side; ++i)
      to[i] = reinterpret_cast<T *>(registers + access.values[part * side + i].offset);
    if (layout == Layout::same) {
      for (unsigned i = 0; i < side; ++i) {
        T value = loadFrom<T>(at[0] + part * 16 + i * sizeof(T));
        for (unsigned lane = 0; lane < warpSize; ++lane)
          to[i][lane] = value;
      }
      continue;
    }
    for (unsigned lane = 0; lane < warpSize; lane += side) {
      S square[side];
      for (unsigned i = 0; i < side; ++i)
        square[i] = loadFrom<S>(at[lane + i] + part * 16);
      turn(square);
      for (unsigned i = 0; i < side; ++i)
        std::memcpy(to[i] + lane, &square[i], sizeof(S));
    }
  }
}

template <class S, class T, unsigned side, unsigned squares>
void storeSquares(char *registers, const Access &access, const uint64_t *at, uint32_t mask,
                  Layout layout) {
  if (mask != allLanes)
    return storeElements<T, T>(registers, access, at, mask, layout);
  for (unsigned part = 0; part < squares; ++part)
    for (unsigned lane = 0; lane < warpSize; lane += side) {
      S square[side];
      for (unsigned i = 0; i < side; ++i) {
        const T *from =
            reinterpret_cast<const T *>(registers + access.values[part * side + i].offset);
        std::memcpy(&square[i], from + lane, sizeof(S));
      }
      turn(square);
      for (unsigned i = 0; i < side; ++i)
        storeTo(at[lane + i] + part * 16, square[i]);
    }
}

struct Pair {
  Mover load, store;
};

/// By logarithms: memory 1, 2, 4, 8 bytes; register 2, 4, 8. Loads without and with a sign.
constexpr Mover loads[2][4][3] = {
    {{loadElements<uint8_t, uint16_t>, loadElements<uint8_t, uint32_t>,
      loadElements<uint8_t, uint64_t>},
     {loadElements<uint16_t, uint16_t>, loadElements<uint16_t, uint32_t>,
      loadElements<uint16_t, uint64_t>},
     {nullptr, loadElements<uint32_t, uint32_t>, loadElements<uint32_t, uint64_t>},
     {nullptr, nullptr, loadElements<uint64_t, uint64_t>}},
    {{loadElements<int8_t, int16_t>, loadElements<int8_t, int32_t>, loadElements<int8_t, int64_t>},
     {loadElements<int16_t, int16_t>, loadElements<int16_t, int32_t>,
      loadElements<int16_t, int64_t>},
     {nullptr, loadElements<int32_t, int32_t>, loadElements<int32_t, int64_t>},
     {nullptr, nullptr, loadElements<int64_t, int64_t>}}};
constexpr Mover stores[4][3] = {
    {storeElements<uint8_t, uint16_t>, storeElements<uint8_t, uint32_t>,
     storeElements<uint8_t, uint64_t>},
    {storeElements<uint16_t, uint16_t>, storeElements<uint16_t, uint32_t>,
     storeElements<uint16_t, uint64_t>},
    {nullptr, storeElements<uint32_t, uint32_t>, storeElements<uint32_t, uint64_t>},
    {nullptr, nullptr, storeElements<uint64_t, uint64_t>}};

/// Vectors whose elements are as wide as their registers (of bytes: 16 bits), by width and count.
Pair vectorMovers(unsigned width, unsigned count) {
  switch (width << 4 | count) {
  case 0x12:
    return {loadPacked<uint16_t, uint8_t, uint16_t>, storePacked<uint16_t, uint8_t, uint16_t>};
  case 0x14:
    return {loadPacked<uint32_t, uint8_t, uint16_t>, storePacked<uint32_t, uint8_t, uint16_t>};
  case 0x18:
    return {loadPacked<uint64_t, uint8_t, uint16_t>, storePacked<uint64_t, uint8_t, uint16_t>};
  case 0x22:
    return {loadPacked<uint32_t, uint16_t, uint16_t>, storePacked<uint32_t, uint16_t, uint16_t>};
  case 0x24:
    return {loadPacked<uint64_t, uint16_t, uint16_t>, storePacked<uint64_t, uint16_t, uint16_t>};
  case 0x42:
    return {loadPacked<uint64_t, uint32_t, uint32_t>, storePacked<uint64_t, uint32_t, uint32_t>};
  case 0x44:
    return {loadSquares<Four, uint32_t, 4, 1>, storeSquares<Four, uint32_t, 4, 1>};
  case 0x48:
    return {loadSquares<Four, uint32_t, 4, 2>, storeSquares<Four, uint32_t, 4, 2>};
  case 0x82:
    return {loadSquares<Two, uint64_t, 2, 1>, storeSquares<Two, uint64_t, 2, 1>};
  case 0x84:
    return {loadSquares<Two, uint64_t, 2, 2>, storeSquares<Two, uint64_t, 2, 2>};
  default:
    return {nullptr, nullptr};
  }
}

unsigned logarithm(unsigned bytes) { return unsigned(__builtin_ctz(bytes)); }

} // namespace

Mover findMover(const Access &access, bool store) {
  unsigned bytes = 0; // of the registers, which may differ
  bool neat = access.count > 1;
  for (unsigned i = 0; i < access.count; ++i) {
    const Slot &slot = access.values[i];
    bytes = slot.offset == noSlot ? bytes : slot.bytes;
    neat &= slot.offset != noSlot && slot.bytes == (access.width == 1 ? 2 : access.width);
  }
  bool isSigned = access.extend == Access::Extend::sign && access.width == 1;
  if (neat && !(isSigned && !store)) {
    Pair pair = vectorMovers(access.width, access.count);
    if (Mover mover = store ? pair.store : pair.load)
      return mover;
  }
  if (bytes == 0) // nobody wants the values
    bytes = access.width < 2 ? 2 : access.width;
  unsigned memory = logarithm(access.width), reg = logarithm(bytes) - 1;
  return store ? stores[memory][reg] : loads[access.extend == Access::Extend::sign][memory][reg];
}

} // namespace gantry::ptx::GANTRY_PTX_LANES
