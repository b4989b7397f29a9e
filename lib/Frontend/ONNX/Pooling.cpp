// Windows: strides, pads, dilations and automatic padding; the pooling ops.

#include "Window.h"

#include <cmath>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Sizes of hostile files, before any arithmetic on them.
static constexpr int64_t kMaxExtent = int64_t(1) << 24, kMaxSpatial = int64_t(1) << 31;

/// One entry for each spatial dimension, each in [least, kMaxExtent].
static std::optional<Ints> readExtents(NodeContext &n, StringRef name, size_t count,
                                       int64_t otherwise, int64_t least) {
  Ints values = n.intsAttr(name).value_or(Ints(count, otherwise));
  if (n.hasFailed())
    return std::nullopt;
  // A missing list is written as an empty one by some exporters.
  if (values.empty())
    values.assign(count, otherwise);
  if (values.size() != count) {
    n.fail("attribute '" + name + "' has " + Twine(values.size()) + " entries, expected " +
           Twine(count));
    return std::nullopt;
  }
  for (int64_t v : values)
    if (v < least || v > kMaxExtent) {
      n.fail("attribute '" + name + "' has the entry " + Twine(v) + ", expected " + Twine(least) +
             " or more");
      return std::nullopt;
    }
  return values;
}

std::optional<Window> gantry::onnx::readWindow(NodeContext &n, IntsRef spatial, IntsRef kernel,
                                               bool transposed) {
  size_t count = spatial.size();
  auto strides = readExtents(n, "strides", count, 1, 1);
  auto dilations = readExtents(n, "dilations", count, 1, 1);
  auto pads = readExtents(n, "pads", 2 * count, 0, 0);
  auto declared = n.intsAttr("kernel_shape");
  StringRef autoPad = n.stringAttr("auto_pad", "NOTSET");
  if (!strides || !dilations || !pads || n.hasFailed())
    return std::nullopt;
  if (kernel.size() != count || (declared && !declared->empty() && IntsRef(*declared) != kernel)) {
    n.fail("kernel_shape does not fit the filter or the input");
    return std::nullopt;
  }
  for (int64_t k : kernel)
    if (k < 1 || k > kMaxExtent) {
      n.fail("the window has an extent of " + Twine(k));
      return std::nullopt;
    }
  for (int64_t size : spatial)
    if (size > kMaxSpatial) {
      n.fail("a spatial dimension of size " + Twine(size) + " is not supported; up to " +
             Twine(kMaxSpatial) + " are");
      return std::nullopt;
    }
  Window window{*strides, Ints(pads->begin(), pads->begin() + count),
                Ints(pads->begin() + count, pads->end()), *dilations};
  if (autoPad == "NOTSET" || autoPad.empty())
    return window;
  if (autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER" && autoPad != "VALID") {
    n.fail("auto_pad '" + autoPad +
           "' is not supported; NOTSET, SAME_UPPER, SAME_LOWER and VALID are");
    return std::nullopt;
  }
  window.low.assign(count, 0);
  window.high.assign(count, 0);
  for (size_t i = 0; i < count && autoPad != "VALID" && !transposed; ++i) {
    int64_t output = (spatial[i] + window.strides[i] - 1) / window.strides[i];
    int64_t span = (output - 1) * window.strides[i] + (kernel[i] - 1) * window.dilations[i] + 1;
    int64_t total = std::max<int64_t>(span - spatial[i], 0);
    window.low[i] = autoPad == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.high[i] = total - window.low[i];
  }
  return window;
}

namespace {
struct Pool {
  Ints kernel;
  Window window;
  bool ceil = false;
};
} // namespace

static std::optional<Pool> readPool(NodeContext &n, Value x) {
  if (n.rankOf(x) < 3) {
    n.fail("the input needs batch, channel and spatial dimensions");
    return std::nullopt;
  }
  auto kernel = n.intsAttr("kernel_shape");
  if (!kernel) {
    n.fail("attribute 'kernel_shape' is missing");
    return std::nullopt;
  }
  bool ceil = n.intAttr("ceil_mode", 0) != 0;
  auto window = readWindow(n, n.typeOf(x).getShape().drop_front(2), *kernel);
  if (!window)
    return std::nullopt;
  return Pool{*kernel, *window, ceil};
}

//===----------------------------------------------------------------------===//
// Places of the maxima
//===----------------------------------------------------------------------===//

namespace {
/// For each window, which elements of an image are in it: `count` entries a window, those outside
/// of the image replaced by one inside, whose maximum it is anyway.
struct WindowTable {
  Ints places, numbers; ///< by rows; as the node counts
  int64_t windows = 1, count = 1;
};
} // namespace

/// Most entries of such a table.
static constexpr int64_t kMaxTable = int64_t(1) << 24;

static std::optional<WindowTable> listWindows(const Pool &pool, IntsRef image, IntsRef output,
                                              bool columnsFirst) {
  WindowTable table;
  for (int64_t size : output)
    table.windows *= size;
  for (int64_t extent : pool.kernel)
    table.count = std::min(table.count * extent, kMaxTable + 1);
  if (table.windows > 0 && table.count > kMaxTable / table.windows)
    return std::nullopt;
  size_t rank = image.size();
  for (int64_t w = 0; w < table.windows; ++w) {
    size_t first = table.places.size();
    int64_t place = 0, number = 0;
    for (int64_t k = 0; k < table.count; ++k) {
      int64_t restW = w, restK = k, at = 0, counted = 0, stride = 1, countedStride = 1;
      bool inside = true;
      Ints indices(rank);
      for (size_t d = rank; d-- > 0;) {
        indices[d] = (restW % output[d]) * pool.window.strides[d] - pool.window.low[d] +
                     (restK % pool.kernel[d]) * pool.window.dilations[d];
        restW /= output[d];
        restK /= pool.kernel[d];
        inside &= indices[d] >= 0 && indices[d] < image[d];
        at += indices[d] * stride;
        stride *= image[d];
      }
      for (size_t d = 0; d < rank; ++d) {
        counted += indices[d] * countedStride;
        countedStride *= image[d];
      }
      table.places.push_back(inside ? at : -1);
      table.numbers.push_back(inside ? (columnsFirst ? counted : at) : -1);
    }
    // Those outside take the place of the first one inside.
    for (size_t i = first; i < table.places.size(); ++i)
      if (table.places[i] >= 0) {
        place = table.places[i];
        number = table.numbers[i];
        break;
      }
    for (size_t i = first; i < table.places.size(); ++i)
      if (table.places[i] < 0) {
        table.places[i] = place;
        table.numbers[i] = number;
      }
  }
  return table;
}

/// Where in the whole input the first largest element of each window is.
static Value maxPoolIndices(NodeContext &n, const Pool &pool, Value x, IntsRef result) {
  Ints shape = n.shapeOf(x);
  IntsRef image = IntsRef(shape).drop_front(2);
  auto windows = listWindows(pool, image, result.drop_front(2), n.intAttr("storage_order", 0) != 0);
  if (!windows)
    return n.fail("Indices of that many windows of that size are not supported");
  int64_t pixels = 1, maps = shape[0] * shape[1];
  for (int64_t size : image)
    pixels *= size;
  Ints listed{windows->windows, windows->count};
  Value flat = n.reshape(x, {maps, pixels});
  Value seen = n.make<GatherOp>(flat, n.reshape(n.ints(windows->places), listed), uint64_t(1));
  Value best = n.make<ArgmaxOp>(seen, uint64_t(2), /*keepDims=*/false, /*last=*/false);
  // Its number among all entries of the table, then in the image, then in the input.
  best =
      n.add(best, n.mulScalar(n.iota({1, windows->windows}, n.i64(), 1), double(windows->count)));
  Value at = n.make<GatherOp>(n.ints(windows->numbers), best, uint64_t(0));
  at = n.add(at, n.mulScalar(n.iota({maps, 1}, n.i64(), 0), double(pixels)));
  return n.reshape(at, result);
}

Values gantry::onnx::buildMaxPool(NodeContext &n, Value x) {
  auto pool = readPool(n, x);
  n.intAttr("storage_order", 0); // how Indices count
  if (!pool || n.hasFailed())
    return {};
  Value y = n.make<MaxPoolOp>(x, IntsRef(pool->kernel), IntsRef(pool->window.strides),
                              IntsRef(pool->window.low), IntsRef(pool->window.high),
                              IntsRef(pool->window.dilations), pool->ceil);
  if (!y || !n.wantsOutput(1))
    return {y};
  return {y, maxPoolIndices(n, *pool, x, n.shapeOf(y))};
}

Value gantry::onnx::buildAveragePool(NodeContext &n, Value x) {
  auto pool = readPool(n, x);
  bool countPads = n.intAttr("count_include_pad", 0) != 0;
  if (!pool)
    return {};
  return n.make<AvgPoolOp>(x, IntsRef(pool->kernel), IntsRef(pool->window.strides),
                           IntsRef(pool->window.low), IntsRef(pool->window.high),
                           IntsRef(pool->window.dilations), pool->ceil, countPads);
}

static Values averagePool(NodeContext &n) { return {buildAveragePool(n, n.input(0))}; }

static Values lpPool(NodeContext &n) {
  auto pool = readPool(n, n.input(0));
  double p = n.opset() < 2 ? n.floatAttr("p", 2) : double(n.intAttr("p", 2));
  if (!pool || !(p >= 1))
    return {n.fail("p must be 1 or more")};
  return {n.make<LpPoolOp>(n.input(0), IntsRef(pool->kernel), IntsRef(pool->window.strides),
                           IntsRef(pool->window.low), IntsRef(pool->window.high),
                           IntsRef(pool->window.dilations), pool->ceil, llvm::APFloat(p))};
}

/// Dimensions after batch and channels.
static Ints spatialAxes(Value v) {
  return llvm::to_vector(llvm::seq<int64_t>(2, std::max<int64_t>(NodeContext::rankOf(v), 2)));
}

template <typename Op>
static Values globalPool(NodeContext &n) {
  return {n.reduce<Op>(n.input(0), spatialAxes(n.input(0)), true)};
}

static Values globalLpPool(NodeContext &n) {
  Value x = n.input(0);
  double p = n.opset() < 2 ? n.floatAttr("p", 2) : double(n.intAttr("p", 2));
  Value magnitude = n.make<AbsOp>(x);
  Value sum = n.reduce<ReduceSumOp>(n.make<PowOp>(magnitude, n.scalar(n.elementOf(x), p)),
                                    spatialAxes(x), true);
  return {n.make<PowOp>(sum, n.scalar(n.elementOf(x), 1 / p))};
}

static Values maxPool(NodeContext &n) { return buildMaxPool(n, n.input(0)); }

void gantry::onnx::addPoolingOps(OpTable &table) {
  table.add("MaxPool", maxPool, {1, 1, 2});
  table.add("AveragePool", averagePool);
  table.add("LpPool", lpPool);
  table.add("GlobalAveragePool", globalPool<ReduceMeanOp>);
  table.add("GlobalMaxPool", globalPool<ReduceMaxOp>);
  table.add("GlobalLpPool", globalLpPool);
}
