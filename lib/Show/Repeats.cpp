#include "gantry/Show/Repeats.h"

namespace gantry::show {

namespace {

/// The repeat of that period that begins at `first`.
Repeat repeatAt(std::span<const uint64_t> sequence, size_t first, size_t period) {
  size_t same = 0;
  while (first + same + period < sequence.size() &&
         sequence[first + same] == sequence[first + same + period])
    ++same;
  return {first, period, 1 + same / period};
}

} // namespace

std::vector<Repeat> findRepeats(std::span<const uint64_t> sequence, size_t least) {
  std::vector<Repeat> found;
  for (size_t first = 0; first < sequence.size();) {
    Repeat best{first, 1, 1};
    for (size_t period = 1; first + 2 * period <= sequence.size(); ++period)
      if (const Repeat repeat = repeatAt(sequence, first, period); repeat.saved() > best.saved())
        best = repeat;
    if (best.times > 1 && best.saved() >= least) {
      found.push_back(best);
      first += best.period * best.times;
    } else {
      ++first;
    }
  }
  return found;
}

} // namespace gantry::show
