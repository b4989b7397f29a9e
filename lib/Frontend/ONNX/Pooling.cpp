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

static std::optional<Pool> readPool(NodeContext &n) {
  Value x = n.input(0);
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

static Values maxPool(NodeContext &n) {
  auto pool = readPool(n);
  if (n.intAttr("storage_order", 0) != 0)
    return {n.fail("storage_order 1 is not supported, 0 is")};
  if (!pool)
    return {};
  return {n.make<MaxPoolOp>(n.input(0), IntsRef(pool->kernel), IntsRef(pool->window.strides),
                            IntsRef(pool->window.low), IntsRef(pool->window.high),
                            IntsRef(pool->window.dilations), pool->ceil)};
}

static Values averagePool(NodeContext &n) {
  auto pool = readPool(n);
  bool countPads = n.intAttr("count_include_pad", 0) != 0;
  if (!pool)
    return {};
  return {n.make<AvgPoolOp>(n.input(0), IntsRef(pool->kernel), IntsRef(pool->window.strides),
                            IntsRef(pool->window.low), IntsRef(pool->window.high),
                            IntsRef(pool->window.dilations), pool->ceil, countPads)};
}

static Values lpPool(NodeContext &n) {
  auto pool = readPool(n);
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

void gantry::onnx::addPoolingOps(OpTable &table) {
  table.add("MaxPool", maxPool, {1, 1, 1});
  table.add("AveragePool", averagePool);
  table.add("LpPool", lpPool);
  table.add("GlobalAveragePool", globalPool<ReduceMeanOp>);
  table.add("GlobalMaxPool", globalPool<ReduceMaxOp>);
  table.add("GlobalLpPool", globalLpPool);
}
