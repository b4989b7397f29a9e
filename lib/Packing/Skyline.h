// The skyline planner as a function of the order of the boxes (Skyline.cpp).
#pragma once

#include "Instance.h"
#include "IntervalIndex.h"

namespace gantry::packing {

class SkylinePlanner {
public:
  explicit SkylinePlanner(const Instance &instance);

  /// Lays out the boxes so that of those that fit into a valley the one of highest key goes first.
  /// Gives the height reached, or stops once it is at `limit` or over it.
  uint64_t place(const std::vector<double> &keys, uint64_t limit, std::vector<uint64_t> &offsets);

private:
  const Instance &instance;
  IntervalIndex waiting;
  std::vector<uint32_t> order, ranks;
};

/// What a key weighs of a box; the sum is its key.
struct KeyWeights {
  double contention, size, duration;
};

/// The weightings of the portfolio, those that won most often first.
unsigned numWeightings();
const KeyWeights &weighting(unsigned number);

/// The keys of all boxes.
class KeyMaker {
public:
  explicit KeyMaker(const Instance &instance);
  std::vector<double> keys(const KeyWeights &weights) const;

private:
  const Instance &instance;
  std::vector<double> contention; ///< largest load of a slot of the life, as a part of the bound
};

} // namespace gantry::packing
