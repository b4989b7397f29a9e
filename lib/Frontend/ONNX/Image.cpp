// Ops on images: blocks to channels and back, resizing, sampling at computed places.

#include "Importer.h"

#include <cmath>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;
using llvm::APFloat;

//===----------------------------------------------------------------------===//
// Depth and space
//===----------------------------------------------------------------------===//

/// The block size, when the input is [n, c, h, w] and `divides` holds for it.
static std::optional<int64_t> blockSize(NodeContext &n, bool toSpace) {
  int64_t block = n.intAttr("blocksize", 0);
  if (n.rankOf(n.input(0)) != 4 || block < 1 || block > (1 << 15)) {
    n.fail("the input needs 4 dimensions and blocksize 1 or more");
    return std::nullopt;
  }
  Ints s = n.shapeOf(n.input(0));
  bool divides = toSpace ? s[1] % (block * block) == 0 : s[2] % block == 0 && s[3] % block == 0;
  if (!divides) {
    n.fail("blocksize " + Twine(block) + " does not divide the input");
    return std::nullopt;
  }
  return block;
}

static Values depthToSpace(NodeContext &n) {
  auto block = blockSize(n, true);
  StringRef mode = n.opset() < 11 ? "DCR" : n.stringAttr("mode", "DCR");
  if (!block)
    return {};
  if (mode != "DCR" && mode != "CRD")
    return {n.fail("mode '" + mode + "' is not supported; DCR and CRD are")};
  int64_t b = *block;
  Ints s = n.shapeOf(n.input(0));
  int64_t depth = s[1] / (b * b);
  bool depthLast = mode == "DCR";
  Value x = n.reshape(n.input(0), depthLast ? Ints{s[0], b, b, depth, s[2], s[3]}
                                            : Ints{s[0], depth, b, b, s[2], s[3]});
  x = n.transpose(x, depthLast ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3});
  return {n.reshape(x, {s[0], depth, s[2] * b, s[3] * b})};
}

static Values spaceToDepth(NodeContext &n) {
  auto block = blockSize(n, false);
  if (!block)
    return {};
  int64_t b = *block;
  Ints s = n.shapeOf(n.input(0));
  Value x = n.reshape(n.input(0), {s[0], s[1], s[2] / b, b, s[3] / b, b});
  return {n.reshape(n.transpose(x, {0, 3, 5, 1, 2, 4}), {s[0], s[1] * b * b, s[2] / b, s[3] / b})};
}

//===----------------------------------------------------------------------===//
// Resizing
//===----------------------------------------------------------------------===//

namespace {
/// What gantry.resize needs, read from the many forms that Resize has had.
struct Resizing {
  ResizeMode mode = ResizeMode::Nearest;
  CoordinateMode coordinates = CoordinateMode::Asymmetric;
  NearestMode rounding = NearestMode::Floor;
  std::vector<double> scales, roi;
  Ints sizes;
  double cubic = -0.75, extrapolation = 0;
  bool excludeOutside = false;
};
} // namespace

template <typename Enum>
static std::optional<Enum> pickMode(NodeContext &n, StringRef attribute, StringRef given,
                                    std::initializer_list<std::pair<StringRef, Enum>> known) {
  std::string names;
  for (auto [name, value] : known) {
    if (name == given)
      return value;
    names += (names.empty() ? "" : ", ") + name.str();
  }
  n.fail(attribute + " '" + given + "' is not supported; supported are " + names);
  return std::nullopt;
}

static std::optional<ResizeMode> resizeMode(NodeContext &n) {
  return pickMode<ResizeMode>(n, "mode", n.stringAttr("mode", "nearest"),
                              {{"nearest", ResizeMode::Nearest},
                               {"linear", ResizeMode::Linear},
                               {"bilinear", ResizeMode::Linear},
                               {"cubic", ResizeMode::Cubic}});
}

static Value buildResize(NodeContext &n, Value x, const Resizing &r) {
  for (double scale : r.scales)
    if (!(scale > 0 && scale < 1e9))
      return n.fail("a scale is not a positive number");
  return n.makeTyped<ResizeOp>(r.sizes, n.elementOf(x), x, r.mode, r.coordinates, r.rounding,
                               ArrayRef<double>(r.scales), ArrayRef<double>(r.roi),
                               APFloat(r.cubic), APFloat(r.extrapolation), r.excludeOutside);
}

/// Sizes are the input's times the scales, rounded down.
static bool sizesFromScales(NodeContext &n, Value x, Resizing &r) {
  Ints shape = n.shapeOf(x);
  if (r.scales.size() != shape.size()) {
    n.fail("scales has " + Twine(r.scales.size()) + " entries, expected " + Twine(shape.size()));
    return false;
  }
  for (auto [size, scale] : llvm::zip(shape, r.scales)) {
    double out = std::floor(double(size) * scale);
    if (!(out >= 0 && out < 0x1p40)) {
      n.fail("a scale is out of range");
      return false;
    }
    r.sizes.push_back(int64_t(out));
  }
  return true;
}

/// The part of a resizing that `isMine` says of each scale.
static Value resizePart(NodeContext &n, Value x, Resizing r, NearestMode rounding,
                        llvm::function_ref<bool(double)> isMine) {
  for (double &scale : r.scales)
    scale = isMine(scale) ? scale : 1;
  r.rounding = rounding;
  if (!x || llvm::all_of(r.scales, [](double scale) { return scale == 1; }))
    return x;
  return sizesFromScales(n, x, r) ? buildResize(n, x, r) : Value();
}

/// Upsample, and Resize of opset 10: pixel i samples i / scale. Its nearest pixel is the one after
/// it where the image shrinks (by ONNX's test of that opset), the one before it where it grows;
/// each dimension by itself.
static Values upsample(NodeContext &n) {
  Resizing r;
  auto mode = resizeMode(n);
  if (n.opset() < 9) {
    auto scales = n.floatsAttr("scales");
    if (!scales)
      return {n.fail("attribute 'scales' is missing")};
    r.scales.assign(scales->begin(), scales->end());
  } else {
    auto scales = n.knownOperand(1, "scales");
    if (!scales)
      return {};
    r.scales = scales->floats;
  }
  if (!mode)
    return {};
  r.mode = *mode;
  auto shrinks = [](double scale) { return scale < 1; };
  if (r.mode == ResizeMode::Nearest && llvm::any_of(r.scales, shrinks) &&
      r.scales.size() == n.shapeOf(n.input(0)).size()) {
    Value smaller = resizePart(n, n.input(0), r, NearestMode::Ceil, shrinks);
    return {resizePart(n, smaller, r, NearestMode::Floor, std::not_fn(shrinks))};
  }
  if (!sizesFromScales(n, n.input(0), r))
    return {};
  return {buildResize(n, n.input(0), r)};
}

/// Spreads values given for some axes over all dimensions.
template <typename T>
static std::vector<T> overAllAxes(const std::vector<T> &given, IntsRef axes, int64_t rank,
                                  T otherwise) {
  std::vector<T> all(rank, otherwise);
  for (auto [i, axis] : llvm::enumerate(axes))
    if (i < given.size())
      all[axis] = given[i];
  return all;
}

/// Sizes asked for, kept in proportion when the policy says so.
static bool applySizes(NodeContext &n, Resizing &r, IntsRef wanted, IntsRef axes,
                       StringRef policy) {
  Ints shape = n.shapeOf(n.input(0));
  r.sizes = shape;
  double common = 0;
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller") {
    n.fail("keep_aspect_ratio_policy '" + policy +
           "' is not supported; stretch, not_larger and not_smaller are");
    return false;
  }
  for (auto [axis, size] : llvm::zip(axes, wanted)) {
    double scale = shape[axis] ? double(size) / double(shape[axis]) : 1;
    bool better = policy == "not_larger" ? scale < common : scale > common;
    common = common == 0 || better ? scale : common;
    r.sizes[axis] = size;
  }
  for (int64_t axis : axes)
    if (policy != "stretch")
      r.sizes[axis] = int64_t(std::floor(double(shape[axis]) * common + 0.5));
  for (auto [in, out] : llvm::zip(shape, r.sizes))
    r.scales.push_back(in ? (policy == "stretch" || in == out ? double(out) / double(in) : common)
                          : 1);
  return true;
}

static Values resize(NodeContext &n) {
  if (n.opset() < 11)
    return upsample(n);
  Resizing r;
  auto mode = resizeMode(n);
  StringRef given = n.stringAttr("coordinate_transformation_mode", "half_pixel");
  // (i + 1/2) / scale, rounded, is half_pixel rounded by half a pixel more.
  bool halfPixelForNearest =
      given == "tf_half_pixel_for_nn" && n.stringAttr("mode", "nearest") == "nearest";
  auto coordinates = pickMode<CoordinateMode>(
      n, "coordinate_transformation_mode", halfPixelForNearest ? "half_pixel" : given,
      {{"half_pixel", CoordinateMode::HalfPixel},
       {"pytorch_half_pixel", CoordinateMode::PytorchHalfPixel},
       {"align_corners", CoordinateMode::AlignCorners},
       {"asymmetric", CoordinateMode::Asymmetric},
       {"tf_crop_and_resize", CoordinateMode::TfCropAndResize}});
  auto rounding =
      pickMode<NearestMode>(n, "nearest_mode", n.stringAttr("nearest_mode", "round_prefer_floor"),
                            {{"round_prefer_floor", NearestMode::RoundPreferFloor},
                             {"round_prefer_ceil", NearestMode::RoundPreferCeil},
                             {"floor", NearestMode::Floor},
                             {"ceil", NearestMode::Ceil}});
  r.cubic = n.floatAttr("cubic_coeff_a", -0.75);
  r.excludeOutside = n.intAttr("exclude_outside", 0) != 0;
  r.extrapolation = n.floatAttr("extrapolation_value", 0);
  if (halfPixelForNearest && rounding == NearestMode::Floor)
    rounding = NearestMode::RoundPreferCeil;
  else if (halfPixelForNearest && rounding == NearestMode::RoundPreferFloor)
    rounding = NearestMode::Ceil;
  else if (halfPixelForNearest)
    return {n.fail(
        "tf_half_pixel_for_nn is supported with nearest_mode floor and round_prefer_floor only")};
  StringRef policy = n.stringAttr("keep_aspect_ratio_policy", "stretch");
  int64_t rank = n.rankOf(n.input(0));
  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto axes = n.axes(n.intsAttr("axes").value_or(all), rank);
  if (n.intAttr("antialias", 0) != 0)
    return {n.fail("antialias=1 is not supported, 0 is")};
  if (!mode || !coordinates || !rounding || !axes || n.hasFailed())
    return {};
  r.mode = *mode;
  r.coordinates = *coordinates;
  r.rounding = *rounding;

  auto isGiven = [&](size_t i) { return n.input(i) && n.typeOf(n.input(i)).getNumElements() > 0; };
  if (r.coordinates == CoordinateMode::TfCropAndResize) {
    auto roi = n.knownOperand(1, "roi");
    if (!roi || !roi->isFloat || roi->size() != 2 * axes->size())
      return {n.fail("roi must hold a start and an end for each axis")};
    std::vector<double> starts(roi->floats.begin(), roi->floats.begin() + axes->size());
    std::vector<double> ends(roi->floats.begin() + axes->size(), roi->floats.end());
    r.roi = overAllAxes(starts, *axes, rank, 0.0);
    llvm::append_range(r.roi, overAllAxes(ends, *axes, rank, 1.0));
  }
  if (isGiven(3)) {
    auto sizes = n.shapeOperand(3, "sizes");
    if (!sizes || sizes->size() != axes->size())
      return {n.fail("sizes needs one entry for each axis")};
    if (!applySizes(n, r, *sizes, *axes, policy))
      return {};
  } else if (isGiven(2)) {
    auto scales = n.knownOperand(2, "scales");
    if (!scales || !scales->isFloat || scales->size() != axes->size())
      return {n.fail("scales needs one entry for each axis")};
    r.scales = overAllAxes(scales->floats, *axes, rank, 1.0);
    if (!sizesFromScales(n, n.input(0), r))
      return {};
  } else {
    return {n.fail("scales or sizes are needed")};
  }
  return {buildResize(n, n.input(0), r)};
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

namespace {

/// Reads pixels of [n, c, h, w] at computed places, by gathering from the flattened image.
struct Sampler {
  NodeContext &n;
  Value image; ///< [n, c, h * w]
  int64_t batch, channels, height, width;
  Ints places; ///< dimensions of the places after batch, e.g. [ho, wo]
  mlir::Type element;

  Sampler(NodeContext &n, Value x, Ints places)
      : n(n), places(std::move(places)), element(n.elementOf(x)) {
    Ints s = n.shapeOf(x);
    batch = s[0], channels = s[1], height = s[2], width = s[3];
    image = n.reshape(x, {batch, channels, height * width});
  }

  Value limit(Value v, double low, double high) {
    return n.make<ClampOp>(v, n.scalar(element, low), n.scalar(element, high));
  }
  Value within(Value v, double low, double high) {
    return n.make<LogicalAndOp>(n.compare(CompareDirection::GE, v, n.scalar(element, low)),
                                n.compare(CompareDirection::LE, v, n.scalar(element, high)));
  }

  /// Pixels at whole coordinates [n, places], as [n, c, places]; with `zeros`, 0 outside the image.
  Value at(Value y, Value x, bool zeros) {
    int64_t count = 1;
    for (int64_t size : places)
      count *= size;
    Value row = n.cast(limit(y, 0, double(height - 1)), n.i64()),
          column = n.cast(limit(x, 0, double(width - 1)), n.i64());
    Value linear = n.add(n.mulScalar(row, double(width)), column);
    linear = n.broadcast(n.reshape(linear, {batch, 1, count}), {batch, channels, count});
    Ints shape{batch, channels};
    llvm::append_range(shape, places);
    Value value = n.reshape(n.make<GatherElementsOp>(image, linear, uint64_t(2)), shape);
    if (!zeros)
      return value;
    Value inside =
        n.make<LogicalAndOp>(within(y, 0, double(height - 1)), within(x, 0, double(width - 1)));
    return n.select(channelFree(inside), value, n.scalar(element, 0));
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

static Values gridSample(NodeContext &n) {
  Value x = n.input(0), grid = n.input(1);
  StringRef mode = n.stringAttr("mode", "bilinear"),
            padding = n.stringAttr("padding_mode", "zeros");
  bool align = n.intAttr("align_corners", 0) != 0;
  if (n.rankOf(x) != 4 || n.rankOf(grid) != 4 || n.shapeOf(grid)[3] != 2 ||
      n.shapeOf(grid)[0] != n.shapeOf(x)[0])
    return {n.fail("only images [n, c, h, w] with a grid [n, h, w, 2] are supported")};
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return {n.fail("padding_mode '" + padding +
                   "' is not supported; zeros, border and reflection are")};
  bool nearest = mode == "nearest", linear = mode == "bilinear" || mode == "linear",
       cubic = mode == "bicubic" || mode == "cubic";
  if (!nearest && !linear && !cubic)
    return {n.fail("mode '" + mode + "' is not supported; bilinear, nearest and bicubic are")};
  Ints g = n.shapeOf(grid), places{g[1], g[2]};
  Sampler sampler(n, x, places);
  grid = n.cast(grid, sampler.element);
  bool zeros = padding == "zeros";

  auto coordinate = [&](int64_t which, int64_t size) -> Value {
    Value v = n.reshape(n.sliceAxis(grid, 3, which, 1), {g[0], g[1], g[2]});
    return align ? n.mulScalar(n.addScalar(v, 1), double(size - 1) / 2)
                 : n.mulScalar(n.addScalar(n.mulScalar(n.addScalar(v, 1), double(size)), -1), 0.5);
  };
  // Brings a coordinate back into the image, as the padding has it.
  auto confine = [&](Value v, int64_t size) -> Value {
    if (zeros || !v)
      return v;
    if (padding == "reflection")
      v = align ? reflect(n, v, 0, double(size - 1)) : reflect(n, v, -0.5, double(size) - 0.5);
    return sampler.limit(v, 0, double(size - 1));
  };
  Value px = coordinate(0, sampler.width), py = coordinate(1, sampler.height);
  if (!cubic) {
    px = confine(px, sampler.width);
    py = confine(py, sampler.height);
  }
  if (!px || !py)
    return {};
  if (nearest)
    return {sampler.at(n.make<RoundOp>(py), n.make<RoundOp>(px), zeros)};

  Value left = n.make<FloorOp>(px), top = n.make<FloorOp>(py);
  Value dx = n.sub(px, left), dy = n.sub(py, top), sum;
  for (int64_t j = cubic ? -1 : 0; j <= (cubic ? 2 : 1); ++j)
    for (int64_t i = cubic ? -1 : 0; i <= (cubic ? 2 : 1); ++i) {
      auto weight = [&](Value d, int64_t k) -> Value {
        Value distance = n.make<AbsOp>(n.addScalar(d, -double(k)));
        return cubic ? cubicWeight(n, distance, -0.75)
                     : n.sub(n.scalar(sampler.element, 1), distance);
      };
      Value y = n.addScalar(top, double(j)), xx = n.addScalar(left, double(i));
      if (cubic) {
        y = confine(y, sampler.height);
        xx = confine(xx, sampler.width);
        if (padding == "reflection" && y && xx) {
          y = n.make<RoundOp>(y);
          xx = n.make<RoundOp>(xx);
        }
      }
      Value both = n.mul(weight(dx, i), weight(dy, j));
      if (!both)
        return {};
      Value part = n.mul(sampler.at(y, xx, zeros), sampler.channelFree(both));
      sum = sum ? n.add(sum, part) : part;
    }
  return {sum};
}

/// Means (or maxima) of bilinear samples in the bins of boxes; the samples per bin are fixed.
static Values roiAlign(NodeContext &n) {
  Value x = n.input(0), rois = n.input(1), owner = n.input(2);
  int64_t ho = n.intAttr("output_height", 1), wo = n.intAttr("output_width", 1),
          ratio = n.intAttr("sampling_ratio", 0);
  double scale = n.floatAttr("spatial_scale", 1);
  StringRef mode = n.stringAttr("mode", "avg");
  StringRef transform = n.stringAttr("coordinate_transformation_mode",
                                     n.opset() < 16 ? "output_half_pixel" : "half_pixel");
  if (n.rankOf(x) != 4 || n.rankOf(rois) != 2 || n.shapeOf(rois)[1] != 4 || n.rankOf(owner) != 1 ||
      n.shapeOf(owner)[0] != n.shapeOf(rois)[0])
    return {n.fail("operands must be [n, c, h, w], [boxes, 4] and [boxes]")};
  if (ratio < 1 || ratio > 64 || ho < 1 || wo < 1 || ho > 4096 || wo > 4096)
    return {n.fail(
        "sampling_ratio 0 (as many samples as the data asks for) is not supported; 1 to 64 are")};
  if (mode != "avg" || (transform != "half_pixel" && transform != "output_half_pixel"))
    return {n.fail("only mode avg with half_pixel or output_half_pixel is supported")};
  bool half = transform == "half_pixel";
  int64_t boxes = n.shapeOf(rois)[0];
  // Every box reads its own image.
  Value images = n.make<GatherOp>(x, owner, uint64_t(0));
  if (!images)
    return {};
  Sampler sampler(n, images, {ho, ratio, wo, ratio});
  mlir::Type element = sampler.element;
  auto edge = [&](int64_t which) {
    Value v = n.mulScalar(n.reshape(n.sliceAxis(rois, 1, which, 1), {boxes, 1, 1, 1, 1}), scale);
    return half ? n.addScalar(v, -0.5) : v;
  };
  // Sample s of bin b lies at start + size * (b + (s + 1/2) / ratio).
  auto positions = [&](int64_t low, int64_t high, int64_t bins, int64_t binAxis) -> Value {
    Value start = edge(low), extent = n.sub(edge(high), start);
    if (!half)
      extent = n.make<MaximumOp>(extent, n.scalar(element, 1));
    Ints binShape(5, 1), sampleShape(5, 1);
    binShape[binAxis] = bins;
    sampleShape[binAxis + 1] = ratio;
    Value offset = n.mulScalar(n.addScalar(n.iota(sampleShape, element, binAxis + 1), 0.5),
                               1.0 / double(ratio));
    Value bin = n.add(n.iota(binShape, element, binAxis), offset);
    Value v = n.add(start, n.mul(n.mulScalar(extent, 1.0 / double(bins)), bin));
    return n.broadcast(v, {boxes, ho, ratio, wo, ratio});
  };
  Value py = positions(1, 3, ho, 1), px = positions(0, 2, wo, 3);
  if (!py || !px)
    return {};
  // Samples more than a pixel outside count 0, others are moved to the border.
  Value inside = n.make<LogicalAndOp>(sampler.within(py, -1, double(sampler.height)),
                                      sampler.within(px, -1, double(sampler.width)));
  py = sampler.limit(py, 0, double(sampler.height - 1));
  px = sampler.limit(px, 0, double(sampler.width - 1));
  Value top = n.make<FloorOp>(py), left = n.make<FloorOp>(px), dy = n.sub(py, top),
        dx = n.sub(px, left), sum;
  for (int64_t j : {0, 1})
    for (int64_t i : {0, 1}) {
      auto weight = [&](Value d, int64_t k) { return k ? d : n.sub(n.scalar(element, 1), d); };
      Value both = n.mul(weight(dy, j), weight(dx, i));
      Value part =
          n.mul(sampler.at(n.addScalar(top, double(j)), n.addScalar(left, double(i)), false),
                sampler.channelFree(both));
      sum = sum ? n.add(sum, part) : part;
    }
  Value counted = n.select(sampler.channelFree(inside), sum, n.scalar(element, 0));
  return {n.reduce<ReduceMeanOp>(counted, {3, 5}, false)};
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

void gantry::onnx::addImageOps(OpTable &table) {
  table.add("DepthToSpace", depthToSpace);
  table.add("SpaceToDepth", spaceToDepth);
  table.add("Resize", resize, {1, 4, 1}).shapeOperands = {1, 2, 3};
  table.add("Upsample", upsample, {1, 2, 1}).shapeOperands = {1};
  table.add("GridSample", gridSample, {2, 2, 1});
  table.add("RoiAlign", roiAlign, {3, 3, 1});
  table.add("MaxUnpool", maxUnpool, {2, 3, 1}).shapeOperands = {2};
}
