// Chance that is the same on every machine: the generator SplitMix64.
#pragma once

#include <cstdint>

namespace gantry {

class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Of 0, 1, ..., limit - 1.
  uint64_t below(uint64_t limit) { return next() % limit; }
  /// Of [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

} // namespace gantry
