#include "Taps.h"

#include "gantry/Dialect/Gantry/IR/Borders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gantry;

Interval gantry::tapsInside(const Convolution &convolution, unsigned dim, int64_t pixel) {
  const PackedConvolution &form = convolution.form;
  return tapsInside(pixel * form.strides[dim] - convolution.low[dim], convolution.imageSize(dim),
                    form.window[dim], form.dilations[dim]);
}

std::pair<Value, Value> gantry::tapsInside(ImplicitLocOpBuilder &b, const Convolution &convolution,
                                           unsigned dim, Value pixel) {
  const PackedConvolution &form = convolution.form;
  const int64_t dilation = form.dilations[dim];
  IndexBuilder index{b};
  if (!convolution.hasBorder(dim))
    return {index.constant(0), index.constant(form.window[dim])};
  Value start = index.add(index.mul(pixel, form.strides[dim]), -convolution.low[dim]);
  auto tapsBelow = [&](int64_t place) {
    Value distance = b.createOrFold<arith::SubIOp>(index.constant(place), start);
    distance = b.createOrFold<arith::MaxSIOp>(distance, index.constant(0));
    return index.min(index.div(index.add(distance, dilation - 1), dilation),
                     index.constant(form.window[dim]));
  };
  return {tapsBelow(0), tapsBelow(convolution.imageSize(dim))};
}

static SmallVector<TapGroup> tapGroups(const Convolution &convolution, Interval pixels) {
  const unsigned last = convolution.form.spatial() - 1;
  SmallVector<TapGroup> groups;
  for (int64_t tap = 0; tap < convolution.form.window[last]; ++tap) {
    auto isInside = [&](int64_t pixel) {
      auto [from, to] = tapsInside(convolution, last, pixel);
      return from <= tap && tap < to;
    };
    Interval live = pixels;
    while (live.first < live.second && !isInside(live.first))
      ++live.first;
    while (live.first < live.second && !isInside(live.second - 1))
      --live.second;
    if (live.first == live.second)
      continue;
    live = {live.first - pixels.first, live.second - pixels.first};
    if (!groups.empty() && groups.back().pixels == live && groups.back().taps.second == tap)
      ++groups.back().taps.second;
    else
      groups.push_back({{tap, tap + 1}, live});
  }
  return groups;
}

SmallVector<BlocksOfRow> gantry::partitionRow(const Convolution &convolution, int64_t blocks) {
  const int64_t columns = convolution.form.out.back();
  const int64_t less = columns / blocks, large = columns % blocks;
  SmallVector<BlocksOfRow> kinds;
  for (int64_t block = 0, first = 0; block < blocks; ++block) {
    const int64_t pixels = less + (block < large ? 1 : 0);
    BlocksOfRow kind{block, 1, first, pixels, tapGroups(convolution, {first, first + pixels})};
    first += pixels;
    if (!kinds.empty() && kinds.back().pixels == kind.pixels && kinds.back().groups == kind.groups)
      ++kinds.back().count;
    else
      kinds.push_back(std::move(kind));
  }
  return kinds;
}

int64_t gantry::countTapsInside(const Convolution &convolution, unsigned dim) {
  const PackedConvolution &form = convolution.form;
  return countTapsInside(form.out[dim], form.strides[dim], convolution.low[dim],
                         convolution.imageSize(dim), form.window[dim], form.dilations[dim]);
}

int64_t gantry::countTapsInside(const Convolution &convolution) {
  int64_t count = 1;
  for (unsigned d = 0; d < convolution.form.spatial(); ++d)
    count *= countTapsInside(convolution, d);
  return count;
}
