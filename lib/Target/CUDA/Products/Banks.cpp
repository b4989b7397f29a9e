#include "Banks.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <array>

using namespace gantry::gpu;

static constexpr int64_t kBanks = 32, kWordBytes = 4, kLanes = 32;

/// Wide accesses go in parts of 128 bytes.
int64_t gantry::gpu::countPasses(llvm::ArrayRef<int64_t> places, int64_t bytes) {
  size_t lanesOfPart = std::max<int64_t>(1, kBanks * kWordBytes / std::max(bytes, kWordBytes));
  int64_t passes = 0;
  for (; !places.empty(); places = places.drop_front(std::min(lanesOfPart, places.size()))) {
    std::array<llvm::SmallSet<int64_t, 4>, kBanks> words;
    for (int64_t place : places.take_front(lanesOfPart))
      for (int64_t word = place / kWordBytes; word <= (place + bytes - 1) / kWordBytes; ++word)
        words[word % kBanks].insert(word);
    size_t most = 0;
    for (const auto &ofBank : words)
      most = std::max(most, ofBank.size());
    passes += int64_t(most);
  }
  return passes;
}

int64_t gantry::gpu::countPasses(llvm::function_ref<int64_t(int64_t)> place, int64_t bytes) {
  llvm::SmallVector<int64_t, 32> places;
  for (int64_t lane = 0; lane < kLanes; ++lane)
    places.push_back(place(lane));
  return countPasses(places, bytes);
}

int64_t gantry::gpu::chooseStride(int64_t length, int64_t step, int64_t most,
                                  llvm::function_ref<int64_t(int64_t)> cost) {
  int64_t first = (length + step - 1) / step * step, best = first, least = cost(first);
  for (int64_t stride = first + step; stride <= length + most; stride += step)
    if (int64_t passes = cost(stride); passes < least) {
      best = stride;
      least = passes;
    }
  return best;
}
