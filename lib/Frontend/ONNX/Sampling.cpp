// Ops that read an image at computed places, or write one: grids, boxes, unpooling, windows.

#include "Handlers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

namespace {

/// Reads pixels of [n, c, spatial...] at computed places, by gathering from the flattened image.
struct Sampler {
  NodeContext &n;
  Value image; ///< [n, c, pixels]
  int64_t batch, channels;
  Ints size;   ///< of the spatial dimensions
  Ints places; ///< dimensions of the places after batch, e.g. [ho, wo]
  mlir::Type element;

  Sampler(NodeContext &n, Value x, Ints places)
      : n(n), places(std::move(places)), element(n.elementOf(x)) {
    Ints s = n.shapeOf(x);
    batch = s[0], channels = s[1];
    size.assign(s.begin() + 2, s.end());
    int64_t pixels = 1;
    for (int64_t extent : size)
      pixels *= extent;
    image = n.reshape(x, {batch, channels, pixels});
  }

  Value limit(Value v, double low, double high) {
    return n.make<ClampOp>(v, n.scalar(element, low), n.scalar(element, high));
  }
  Value within(Value v, double low, double high) {
    return n.make<LogicalAndOp>(n.compare(CompareDirection::GE, v, n.scalar(element, low)),
                                n.compare(CompareDirection::LE, v, n.scalar(element, high)));
  }

  /// Pixels at whole coordinates [n, places], one for each dimension, as [n, c, places]; with
  /// `zeros`, 0 outside the image.
  Value at(ArrayRef<Value> coordinates, bool zeros) {
    int64_t count = 1;
    for (int64_t extent : places)
      count *= extent;
    Value linear, inside;
    for (auto [v, extent] : llvm::zip(coordinates, size)) {
      Value index = n.cast(limit(v, 0, double(extent - 1)), n.i64());
      Value isInside = within(v, 0, double(extent - 1));
      linear = linear ? n.add(n.mulScalar(linear, double(extent)), index) : index;
      inside = inside ? n.make<LogicalAndOp>(inside, isInside) : isInside;
      if (!linear || !inside)
        return {};
    }
    linear = n.broadcast(n.reshape(linear, {batch, 1, count}), {batch, channels, count});
    Ints shape{batch, channels};
    llvm::append_range(shape, places);
    Value value = n.reshape(n.make<GatherElementsOp>(image, linear, uint64_t(2)), shape);
    return zeros ? n.select(channelFree(inside), value, n.scalar(element, 0)) : value;
  }
  /// [n, places] as [n, 1, places].
  Value channelFree(Value v) {
    Ints shape{batch, 1};
    llvm::append_range(shape, places);
    return n.reshape(v, shape);
  }
};

} // namespace

/// Reflects a coordinate at low and high until it lies between them.
static Value reflect(NodeContext &n, Value v, double low, double high) {
  mlir::Type element = n.elementOf(v);
  double span = high - low;
  if (span <= 0)
    return n.mulScalar(v, 0);
  Value distance = n.make<AbsOp>(n.addScalar(v, -low));
  Value turns = n.make<FloorOp>(n.mulScalar(distance, 1 / span));
  Value rest = n.sub(distance, n.mulScalar(turns, span));
  // Every other turn runs backwards.
  Value half = n.mulScalar(turns, 0.5);
  Value odd = n.compare(CompareDirection::NE, half, n.make<FloorOp>(half));
  return n.addScalar(n.select(odd, n.sub(n.scalar(element, span), rest), rest), low);
}

/// Weight of a pixel at distance `d` in [0, 2] from the sample (Keys' kernel).
static Value cubicWeight(NodeContext &n, Value d, double a) {
  if (!d)
    return {};
  Value d2 = n.mul(d, d), d3 = n.mul(d2, d);
  Value near = n.addScalar(n.add(n.mulScalar(d3, a + 2), n.mulScalar(d2, -(a + 3))), 1);
  Value far = n.addScalar(
      n.add(n.add(n.mulScalar(d3, a), n.mulScalar(d2, -5 * a)), n.mulScalar(d, 8 * a)), -4 * a);
  return n.select(n.compare(CompareDirection::LE, d, n.scalar(n.elementOf(d), 1)), near, far);
}

namespace {
/// The attributes of GridSample.
struct GridMode {
  bool nearest = false, cubic = false, align = false, zeros = false, reflects = false;
};
} // namespace

static std::optional<GridMode> readGridMode(NodeContext &n) {
  StringRef mode = n.stringAttr("mode", "bilinear"),
            padding = n.stringAttr("padding_mode", "zeros");
  GridMode m;
  m.align = n.intAttr("align_corners", 0) != 0;
  m.nearest = mode == "nearest", m.cubic = mode == "bicubic" || mode == "cubic";
  m.zeros = padding == "zeros", m.reflects = padding == "reflection";
  if (!m.zeros && !m.reflects && padding != "border")
    n.fail("padding_mode '" + padding + "' is not supported; zeros, border and reflection are");
  else if (!m.nearest && !m.cubic && mode != "bilinear" && mode != "linear")
    n.fail("mode '" + mode + "' is not supported; bilinear, nearest and bicubic are");
  return n.hasFailed() ? std::nullopt : std::optional(m);
}

namespace {
/// Samples of an image at the coordinates of a grid.
struct GridSampler : Sampler {
  GridMode mode;
  SmallVector<Value> floors, rests; ///< of the coordinates, one for each dimension

  GridSampler(NodeContext &n, Value x, Ints places, GridMode mode)
      : Sampler(n, x, std::move(places)), mode(mode) {}

  /// Brings a coordinate back into the image, as the padding has it.
  Value confine(Value v, int64_t extent) {
    if (mode.zeros || !v)
      return v;
    if (mode.reflects)
      v = mode.align ? reflect(n, v, 0, double(extent - 1))
                     : reflect(n, v, -0.5, double(extent) - 0.5);
    return limit(v, 0, double(extent - 1));
  }

  /// Coordinates go from -1 to 1 along the image; a grid's last dimension counts the image's
  /// dimensions from the last one. False after a failure.
  bool readGrid(Value grid) {
    grid = n.cast(grid, element);
    Ints onePlace = n.shapeOf(grid);
    onePlace.pop_back();
    int64_t axis = n.rankOf(grid) - 1, last = int64_t(size.size()) - 1;
    for (auto [d, extent] : llvm::enumerate(size)) {
      Value v = n.addScalar(n.reshape(n.sliceAxis(grid, axis, last - d, 1), onePlace), 1);
      v = mode.align ? n.mulScalar(v, double(extent - 1) / 2)
                     : n.mulScalar(n.addScalar(n.mulScalar(v, double(extent)), -1), 0.5);
      v = mode.cubic ? v : confine(v, extent);
      floors.push_back(mode.nearest ? n.make<RoundOp>(v) : n.make<FloorOp>(v));
      rests.push_back(n.sub(v, floors.back()));
    }
    return !onnx::detail::isMissing(ArrayRef<Value>(rests));
  }

  /// The pixels `steps` behind the coordinates, weighted by their distance along every dimension.
  Value weightedAt(IntsRef steps) {
    SmallVector<Value> coordinates(steps.size());
    Value weight;
    for (size_t d = steps.size(); d-- > 0;) {
      Value distance = n.make<AbsOp>(n.addScalar(rests[d], -double(steps[d])));
      Value part =
          mode.cubic ? cubicWeight(n, distance, -0.75) : n.sub(n.scalar(element, 1), distance);
      weight = weight ? n.mul(weight, part) : part;
      coordinates[d] = n.addScalar(floors[d], double(steps[d]));
      if (mode.cubic)
        coordinates[d] = confine(coordinates[d], size[d]);
      if (mode.cubic && mode.reflects && coordinates[d])
        coordinates[d] = n.make<RoundOp>(coordinates[d]);
    }
    return weight ? n.mul(at(coordinates, mode.zeros), channelFree(weight)) : Value();
  }
};
} // namespace

static Values gridSample(NodeContext &n) {
  Value x = n.input(0), grid = n.input(1);
  auto mode = readGridMode(n);
  if (!mode)
    return {};
  int64_t rank = n.rankOf(x), dims = rank - 2;
  if ((dims != 2 && dims != 3) || n.rankOf(grid) != rank || n.shapeOf(grid)[rank - 1] != dims ||
      n.shapeOf(grid)[0] != n.shapeOf(x)[0])
    return {n.fail("only images [n, c, h, w] with a grid [n, h, w, 2], and [n, c, d, h, w] with "
                   "[n, d, h, w, 3] are supported")};
  if (mode->cubic && dims == 3)
    return {n.fail("of images [n, c, d, h, w], bilinear and nearest are supported")};
  if (llvm::is_contained(n.shapeOf(x), 0))
    return {n.fail("the image is empty")};
  Ints places = n.shapeOf(grid);
  places.erase(places.begin());
  places.pop_back();
  GridSampler sampler(n, x, places, *mode);
  if (!sampler.readGrid(grid))
    return {};
  if (mode->nearest)
    return {sampler.at(sampler.floors, mode->zeros)};
  // The pixels around: 2 along every dimension, or 4 from the one before.
  int64_t low = mode->cubic ? -1 : 0, around = mode->cubic ? 4 : 2, all = 1;
  for (int64_t d = 0; d < dims; ++d)
    all *= around;
  Value sum;
  for (int64_t corner = 0; corner < all; ++corner) {
    Ints steps(dims);
    for (int64_t d = dims, rest = corner; d-- > 0; rest /= around)
      steps[d] = rest % around + low;
    Value part = sampler.weightedAt(steps);
    if (!part)
      return {};
    sum = sum ? n.add(sum, part) : part;
  }
  return {sum};
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

namespace {
/// RoiAlign: boxes are cut into bins, bins into samples.
struct Boxes {
  int64_t count = 0, height = 1, width = 1, ratio = 0;
  double scale = 1;
  bool half = true;
};
} // namespace

/// Start and extent of the boxes along one dimension, as [boxes, 1...] of `rank`.
static std::pair<Value, Value> boxExtent(NodeContext &n, const Boxes &b, int64_t low, int64_t high,
                                         int64_t rank, mlir::Type element) {
  Ints shape(rank, 1);
  shape[0] = b.count;
  auto edge = [&](int64_t which) {
    Value v = n.cast(n.sliceAxis(n.input(1), 1, which, 1), element);
    v = n.mulScalar(n.reshape(v, shape), b.scale);
    return b.half ? n.addScalar(v, -0.5) : v;
  };
  Value start = edge(low), extent = n.sub(edge(high), start);
  if (!b.half)
    extent = n.make<MaximumOp>(extent, n.scalar(element, 1));
  return {start, extent};
}

/// How much each pixel of a row (or column) counts in each bin, [boxes, bins, pixels]: the mean
/// over the bin's samples of what each takes from the two pixels beside it. As many samples as a
/// bin has pixels, rounded up, or the ratio. Of the samples of a bin only those inside the image
/// count, so that it is enough to look at as many as the image has room for.
static Value binWeights(NodeContext &n, const Boxes &b, int64_t low, int64_t high, int64_t bins,
                        int64_t pixels, mlir::Type element) {
  auto [start, extent] = boxExtent(n, b, low, high, 4, element);
  Value bin = n.mulScalar(extent, 1.0 / double(bins));
  Value one = n.scalar(element, 1), zero = n.scalar(element, 0);
  int64_t most = b.ratio > 0 ? b.ratio : 2 * pixels + 6;
  Value count = b.ratio > 0 ? n.scalar(element, double(b.ratio)) : n.make<CeilOp>(bin);
  Value step = n.div(bin, n.make<MaximumOp>(count, one));
  // [boxes, bins, samples, pixels]
  Value first = n.add(start, n.mul(bin, n.iota({1, bins, 1, 1}, element, 1)));
  Value sample = n.iota({1, 1, most, 1}, element, 2);
  if (b.ratio == 0) {
    Value skipped = n.make<FloorOp>(n.div(n.sub(n.scalar(element, -2), first),
                                          n.make<MaximumOp>(step, n.scalar(element, 1e-6))));
    sample = n.add(sample, n.make<MaximumOp>(skipped, zero));
  }
  Value at = n.add(first, n.mul(step, n.addScalar(sample, 0.5)));
  auto between = [&](Value v, Value from, Value to) {
    return n.make<LogicalAndOp>(n.compare(CompareDirection::GE, v, from),
                                n.compare(CompareDirection::LE, v, to));
  };
  Value counts =
      n.make<LogicalAndOp>(between(at, n.scalar(element, -1), n.scalar(element, double(pixels))),
                           n.compare(CompareDirection::LT, sample, count));
  at = n.make<ClampOp>(at, zero, n.scalar(element, double(pixels - 1)));
  Value distance = n.make<AbsOp>(n.sub(at, n.iota({1, 1, 1, pixels}, element, 3)));
  Value share = n.select(counts, n.make<MaximumOp>(n.sub(one, distance), zero), zero);
  Value sum = n.reduce<ReduceSumOp>(share, {2}, false);
  Value divisor = n.make<MaximumOp>(count, one);
  return n.div(sum, b.ratio > 0 ? divisor : n.reshape(divisor, {b.count, 1, 1}));
}

/// Rows and columns are weighted apart: the mean of bilinear samples is a product of matrices.
static Values alignByMean(NodeContext &n, const Boxes &b, Value images) {
  mlir::Type element = n.elementOf(images);
  Ints s = n.shapeOf(images);
  auto lead = [&](Value v) -> Value {
    return v ? n.reshape(v, {b.count, 1, n.shapeOf(v)[1], n.shapeOf(v)[2]}) : Value();
  };
  Value rows = lead(binWeights(n, b, 1, 3, b.height, s[2], element));
  Value columns = lead(binWeights(n, b, 0, 2, b.width, s[3], element));
  return {n.matmul(n.matmul(rows, images), columns, false, true)};
}

/// The largest of what the samples take from single pixels: that is how ONNX defines the mode.
static Values alignByMaximum(NodeContext &n, const Boxes &b, Value images) {
  Sampler sampler(n, images, {b.height, b.ratio, b.width, b.ratio});
  mlir::Type element = sampler.element;
  auto positions = [&](int64_t low, int64_t high, int64_t bins, int64_t binAxis) -> Value {
    auto [start, extent] = boxExtent(n, b, low, high, 5, element);
    Ints binShape(5, 1), sampleShape(5, 1);
    binShape[binAxis] = bins;
    sampleShape[binAxis + 1] = b.ratio;
    Value offset = n.mulScalar(n.addScalar(n.iota(sampleShape, element, binAxis + 1), 0.5),
                               1.0 / double(b.ratio));
    Value bin = n.add(n.iota(binShape, element, binAxis), offset);
    Value v = n.add(start, n.mul(n.mulScalar(extent, 1.0 / double(bins)), bin));
    return n.broadcast(v, {b.count, b.height, b.ratio, b.width, b.ratio});
  };
  Value py = positions(1, 3, b.height, 1), px = positions(0, 2, b.width, 3);
  if (!py || !px)
    return {};
  int64_t height = sampler.size[0], width = sampler.size[1];
  // Samples more than a pixel outside count 0, others are moved to the border.
  Value inside = n.make<LogicalAndOp>(sampler.within(py, -1, double(height)),
                                      sampler.within(px, -1, double(width)));
  py = sampler.limit(py, 0, double(height - 1));
  px = sampler.limit(px, 0, double(width - 1));
  Value top = n.make<FloorOp>(py), left = n.make<FloorOp>(px), dy = n.sub(py, top),
        dx = n.sub(px, left), most;
  for (int64_t j : {0, 1})
    for (int64_t i : {0, 1}) {
      auto weight = [&](Value d, int64_t k) { return k ? d : n.sub(n.scalar(element, 1), d); };
      Value both = n.mul(weight(dy, j), weight(dx, i));
      if (!both)
        return {};
      Value part =
          n.mul(sampler.at({n.addScalar(top, double(j)), n.addScalar(left, double(i))}, false),
                sampler.channelFree(both));
      most = most ? n.make<MaximumOp>(most, part) : part;
    }
  Value counted = n.select(sampler.channelFree(inside), most, n.scalar(element, 0));
  return {n.reduce<ReduceMaxOp>(counted, {3, 5}, false)};
}

static Values roiAlign(NodeContext &n) {
  Value x = n.input(0), rois = n.input(1), owner = n.input(2);
  Boxes b;
  b.height = n.intAttr("output_height", 1), b.width = n.intAttr("output_width", 1);
  b.ratio = n.intAttr("sampling_ratio", 0);
  b.scale = n.floatAttr("spatial_scale", 1);
  StringRef mode = n.stringAttr("mode", "avg");
  StringRef transform = n.stringAttr("coordinate_transformation_mode",
                                     n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (n.rankOf(x) != 4 || n.rankOf(rois) != 2 || n.shapeOf(rois)[1] != 4 || n.rankOf(owner) != 1 ||
      n.shapeOf(owner)[0] != n.shapeOf(rois)[0])
    return {n.fail("operands must be [n, c, h, w], [boxes, 4] and [boxes]")};
  if (b.ratio < 0 || b.ratio > 64 || b.height < 1 || b.width < 1 || b.height > 4096 ||
      b.width > 4096)
    return {n.fail("sampling_ratio must be 0 to 64, output_height and output_width 1 to 4096")};
  if ((mode != "avg" && mode != "max") ||
      (transform != "half_pixel" && transform != "output_half_pixel"))
    return {
        n.fail("only the modes avg and max with half_pixel or output_half_pixel are supported")};
  if (mode == "max" && b.ratio == 0)
    return {n.fail("mode max is supported with a sampling_ratio of 1 to 64; with 0, mode avg is")};
  if (llvm::is_contained(n.shapeOf(x), 0))
    return {n.fail("the image is empty")};
  b.half = transform == "half_pixel";
  b.count = n.shapeOf(rois)[0];
  // Every box reads its own image.
  Value images = n.make<GatherOp>(x, owner, uint64_t(0));
  if (!images)
    return {};
  return mode == "max" ? alignByMaximum(n, b, images) : alignByMean(n, b, images);
}

//===----------------------------------------------------------------------===//
// Grids, unpooling, windows back to images
//===----------------------------------------------------------------------===//

/// The places of all pixels, from -1 to 1 in each dimension, moved by an affine map for each batch.
static Values affineGrid(NodeContext &n) {
  Value theta = n.input(0);
  auto size = n.shapeOperand(1, "size");
  bool align = n.intAttr("align_corners", 0) != 0;
  if (!size)
    return {};
  int64_t dims = int64_t(size->size()) - 2;
  if ((dims != 2 && dims != 3) || n.shapeOf(theta) != Ints{(*size)[0], dims, dims + 1} ||
      !n.isFloat(theta))
    return {n.fail("only theta [n, 2, 3] with the size [n, c, h, w], and [n, 3, 4] with [n, c, d, "
                   "h, w] are supported")};
  IntsRef image = IntsRef(*size).drop_front(2);
  int64_t pixels = 1;
  for (int64_t extent : image) {
    if (extent < 1 || extent > kMaxBytes || pixels > kMaxBytes / extent)
      return {n.fail("the size is out of range")};
    pixels *= extent;
  }
  mlir::Type element = n.elementOf(theta);
  // [pixels, dims + 1]: places counted from the last dimension, and a one for the translation.
  SmallVector<Value> columns;
  for (int64_t d = dims; d-- > 0;) {
    Ints along(dims, 1);
    along[d] = image[d];
    double step = align ? (image[d] > 1 ? 2.0 / double(image[d] - 1) : 0) : 2.0 / double(image[d]);
    Value v = n.iota(along, element, d);
    v = n.addScalar(n.mulScalar(v, step), align ? -1 : step / 2 - 1);
    columns.push_back(n.reshape(n.broadcast(v, image), {pixels, 1}));
  }
  columns.push_back(n.full({pixels, 1}, element, 1));
  Value grid = n.matmul(n.concat(columns, 1), theta, false, true);
  Ints shape{(*size)[0]};
  llvm::append_range(shape, image);
  shape.push_back(dims);
  return {n.reshape(grid, shape)};
}

/// Puts pooled values back to where they came from; the rest is 0.
static Values maxUnpool(NodeContext &n) {
  Value x = n.input(0), indices = n.input(1);
  int64_t rank = n.rankOf(x), spatial = rank - 2;
  auto kernel = n.intsAttr("kernel_shape");
  Ints strides = n.intsAttr("strides").value_or(Ints(std::max<int64_t>(spatial, 0), 1));
  Ints pads = n.intsAttr("pads").value_or(Ints(std::max<int64_t>(2 * spatial, 0), 0));
  if (!kernel || spatial < 1 || int64_t(kernel->size()) != spatial ||
      int64_t(strides.size()) != spatial || int64_t(pads.size()) != 2 * spatial ||
      n.shapeOf(indices) != n.shapeOf(x))
    return {n.fail("kernel_shape, strides, pads and the operands do not fit each other")};
  Ints shape = n.shapeOf(x);
  int64_t count = n.typeOf(x).getNumElements(), all = shape[0] * shape[1];
  for (int64_t i = 0; i < spatial; ++i) {
    if (strides[i] < 1 || strides[i] > 4096 || (*kernel)[i] < 1 || (*kernel)[i] > 4096 ||
        shape[i + 2] > (1 << 20))
      return {n.fail("kernel_shape or strides are out of range")};
    shape[i + 2] = (shape[i + 2] - 1) * strides[i] + (*kernel)[i] - pads[i] - pads[spatial + i];
    if (shape[i + 2] < 1 || all > kMaxBytes / shape[i + 2])
      return {n.fail("the output would have a size of " + Twine(shape[i + 2]))};
    all *= shape[i + 2];
  }
  Value zeros = n.full({all}, n.elementOf(x), 0);
  Value flat = n.make<ScatterElementsOp>(zeros, n.reshape(indices, {count}), n.reshape(x, {count}),
                                         uint64_t(0), ScatterReduction::None);
  Value y = n.reshape(flat, shape);
  if (!n.input(2))
    return {y};
  auto wanted = n.shapeOperand(2, "output_shape");
  if (!wanted || wanted->size() != shape.size())
    return {n.fail("output_shape needs " + Twine(rank) + " entries")};
  Ints low(rank, 0), high;
  for (auto [want, have] : llvm::zip(*wanted, shape)) {
    if (want < have)
      return {n.fail("output_shape is smaller than what the windows reach")};
    high.push_back(want - have);
  }
  return {n.make<PadOp>(y, n.scalar(n.elementOf(x), 0), IntsRef(low), IntsRef(high),
                        PadMode::Constant)};
}

/// Columns of windows are added up where the windows were.
static Values col2Im(NodeContext &n) {
  Value x = n.input(0);
  auto image = n.shapeOperand(1, "image_shape"), block = n.shapeOperand(2, "block_shape");
  if (!image || !block)
    return {};
  size_t dims = image->size();
  Ints strides = n.intsAttr("strides").value_or(Ints(dims, 1));
  Ints dilations = n.intsAttr("dilations").value_or(Ints(dims, 1));
  Ints pads = n.intsAttr("pads").value_or(Ints(2 * dims, 0));
  auto within = [](IntsRef values, int64_t least) {
    return llvm::all_of(values, [&](int64_t v) { return v >= least && v <= (1 << 20); });
  };
  if (n.hasFailed() || dims < 1 || dims > 6 || block->size() != dims || strides.size() != dims ||
      dilations.size() != dims || pads.size() != 2 * dims || n.rankOf(x) != 3 ||
      !within(*image, 1) || !within(*block, 1) || !within(strides, 1) || !within(dilations, 1) ||
      !within(pads, 0))
    return {n.fail("image_shape, block_shape, strides, dilations, pads and the operand do not fit "
                   "each other")};
  constexpr int64_t mostEntries = int64_t(1) << 24;
  int64_t perBlock = 1, windows = 1, padded = 1;
  Ints counts, extents;
  for (size_t d = 0; d < dims; ++d) {
    extents.push_back((*image)[d] + pads[d] + pads[dims + d]);
    int64_t span = (extents[d] - dilations[d] * ((*block)[d] - 1) - 1);
    counts.push_back(span < 0 ? 0 : span / strides[d] + 1);
    perBlock = std::min(perBlock * (*block)[d], mostEntries);
    windows = std::min(windows * counts[d], mostEntries);
    padded = std::min(padded * extents[d], mostEntries);
  }
  Ints s = n.shapeOf(x);
  if (perBlock * windows >= mostEntries || padded >= mostEntries)
    return {n.fail("an image of that many windows is not supported")};
  if (s[1] % perBlock || s[2] != windows)
    return {n.fail("the operand must be [batch, channels * " + Twine(perBlock) + ", " +
                   Twine(windows) + "]")};
  Ints places;
  for (int64_t k = 0; k < perBlock; ++k)
    for (int64_t w = 0; w < windows; ++w) {
      int64_t at = 0, stride = 1, restK = k, restW = w;
      for (size_t d = dims; d-- > 0;) {
        at += stride * ((restW % counts[d]) * strides[d] + (restK % (*block)[d]) * dilations[d]);
        stride *= extents[d];
        restK /= (*block)[d];
        restW /= counts[d];
      }
      places.push_back(at);
    }
  int64_t channels = s[1] / perBlock, maps = s[0] * channels, entries = perBlock * windows;
  Value index = n.broadcast(n.reshape(n.ints(places), {1, entries}), {maps, entries});
  Value sum =
      n.make<ScatterElementsOp>(n.full({maps, padded}, n.elementOf(x), 0), index,
                                n.reshape(x, {maps, entries}), uint64_t(1), ScatterReduction::Add);
  Ints whole{s[0], channels}, from{0, 0}, sizes{s[0], channels};
  llvm::append_range(whole, extents);
  for (size_t d = 0; d < dims; ++d) {
    from.push_back(pads[d]);
    sizes.push_back((*image)[d]);
  }
  return {n.slice(n.reshape(sum, whole), from, sizes)};
}

void gantry::onnx::addSamplingOps(OpTable &table) {
  table.add("GridSample", gridSample, {2, 2, 1});
  table.add("AffineGrid", affineGrid, {2, 2, 1}).shapeOperands = {1};
  table.add("RoiAlign", roiAlign, {3, 3, 1});
  table.add("MaxUnpool", maxUnpool, {2, 3, 1}).shapeOperands = {2};
  table.add("Col2Im", col2Im, {3, 3, 1}).shapeOperands = {1, 2};
}
