// Ops on images: blocks to channels and back, resizing, scaling of colours.

#include "Handlers.h"
#include "MachineLearning.h"

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
  // What gantry.resize has not.
  bool symmetric = false, antialias = false;
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

//===----------------------------------------------------------------------===//
// Resizing by matrices: what gantry.resize has not
//===----------------------------------------------------------------------===//

namespace {
/// How one dimension is resampled.
struct Resampling {
  const Resizing &r;
  int64_t in, out;
  double scale;

  /// The place in the input of output index `i`.
  double source(int64_t i) const {
    double length = scale * double(in), x = double(i);
    switch (r.coordinates) {
    case CoordinateMode::AlignCorners:
      return length == 1 ? 0 : x * double(in - 1) / (length - 1);
    case CoordinateMode::Asymmetric:
      return x / scale;
    case CoordinateMode::PytorchHalfPixel:
      return length == 1 ? -0.5 : (x + 0.5) / scale - 0.5;
    default:
      break;
    }
    // The middle of the input becomes that of the output, also where sizes were rounded.
    double offset = r.symmetric ? double(in) / 2 * (1 - double(out) / length) : 0;
    return offset + (x + 0.5) / scale - 0.5;
  }

  double kernel(double x) const {
    x = std::fabs(x);
    if (r.mode == ResizeMode::Linear)
      return std::max(1 - x, 0.0);
    double a = r.cubic;
    if (x <= 1)
      return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
  }

  int64_t nearest(double x) const {
    double whole = std::floor(x), rest = x - whole;
    bool up = false;
    switch (r.rounding) {
    case NearestMode::RoundPreferFloor:
      up = rest > 0.5;
      break;
    case NearestMode::RoundPreferCeil:
      up = rest >= 0.5;
      break;
    case NearestMode::Floor:
      break;
    case NearestMode::Ceil:
      up = rest > 0;
      break;
    }
    return std::clamp<int64_t>(int64_t(whole) + up, 0, in - 1);
  }

  /// Adds the weights of output index `i` to its column; those beyond the border count for the
  /// edge.
  void addWeights(int64_t i, llvm::function_ref<double &(int64_t)> weight) const {
    double x = source(i);
    if (r.mode == ResizeMode::Nearest) {
      weight(nearest(x)) = 1;
      return;
    }
    // A smaller image takes the mean of as many pixels as one of its own stands for.
    double shrink = r.antialias ? std::min(scale, 1.0) : 1;
    double reach = (r.mode == ResizeMode::Linear ? 1 : 2) / shrink, sum = 0;
    auto first = int64_t(std::floor(x - reach)) + 1, last = int64_t(std::ceil(x + reach)) - 1;
    bool cut = r.excludeOutside;
    for (int64_t k = first; k <= last; ++k)
      if (!cut || (k >= 0 && k < in))
        sum += kernel(shrink * (double(k) - x));
    for (int64_t k = first; k <= last && sum != 0; ++k)
      if (!cut || (k >= 0 && k < in))
        weight(std::clamp<int64_t>(k, 0, in - 1)) += kernel(shrink * (double(k) - x)) / sum;
  }
};
} // namespace

/// Most entries of such a matrix.
static constexpr int64_t kMaxMatrix = int64_t(1) << 24;

static Value resizeByMatrices(NodeContext &n, const Resizing &r) {
  Value x = n.input(0);
  mlir::Type element = n.elementOf(x);
  if (r.coordinates == CoordinateMode::TfCropAndResize)
    return n.fail("antialias=1 is not supported with tf_crop_and_resize");
  if (r.antialias && r.mode == ResizeMode::Nearest)
    return n.fail("antialias=1 is supported with the modes linear and cubic");
  if (!isa<FloatType>(element))
    x = n.cast(x, n.f32());
  for (int64_t axis = 0; x && axis < n.rankOf(x); ++axis) {
    Resampling one{r, n.shapeOf(x)[axis], r.sizes[axis], r.scales[axis]};
    if (one.in == one.out && one.scale == 1)
      continue;
    if (!(one.scale > 0 && one.scale < 1e9) || one.in < 1 ||
        (one.out > 0 && one.in > kMaxMatrix / one.out))
      return n.fail("a size of " + Twine(one.in) + " cannot be resized to " + Twine(one.out) +
                    " with antialias or half_pixel_symmetric");
    if (!n.countTable(one.in * one.out))
      return {};
    // Weights as [in, out], a product along the last dimension.
    KnownElements weights;
    weights.isFloat = true;
    weights.floats.assign(size_t(one.in * one.out), 0);
    for (int64_t i = 0; i < one.out; ++i)
      one.addWeights(
          i, [&](int64_t k) -> double & { return weights.floats[size_t(k * one.out + i)]; });
    Value matrix = n.constant(makeConstantElements(
        RankedTensorType::get({one.in, one.out}, n.elementOf(x)), weights, n.outputName(0)));
    Ints order = llvm::to_vector(llvm::seq<int64_t>(0, n.rankOf(x)));
    std::swap(order[axis], order.back());
    Value rows = n.transpose(x, order);
    if (n.rankOf(x) == 1) {
      x = n.reshape(n.matmul(n.reshape(rows, {1, one.in}), matrix), {one.out});
      continue;
    }
    x = n.transpose(n.matmul(rows, matrix), order);
  }
  return n.cast(x, element);
}

/// (i + 1/2) / scale, rounded, is half_pixel rounded by half a pixel more.
static std::optional<NearestMode> nearestMode(NodeContext &n, bool halfPixelMore) {
  auto rounding =
      pickMode<NearestMode>(n, "nearest_mode", n.stringAttr("nearest_mode", "round_prefer_floor"),
                            {{"round_prefer_floor", NearestMode::RoundPreferFloor},
                             {"round_prefer_ceil", NearestMode::RoundPreferCeil},
                             {"floor", NearestMode::Floor},
                             {"ceil", NearestMode::Ceil}});
  if (!halfPixelMore)
    return rounding;
  if (rounding == NearestMode::Floor)
    return NearestMode::RoundPreferCeil;
  if (rounding == NearestMode::RoundPreferFloor)
    return NearestMode::Ceil;
  n.fail("tf_half_pixel_for_nn is supported with nearest_mode floor and round_prefer_floor only");
  return std::nullopt;
}

/// The attributes of Resize, from opset 11 on; nothing after a failure.
static std::optional<Resizing> readResizing(NodeContext &n) {
  Resizing r;
  auto mode = resizeMode(n);
  StringRef given = n.stringAttr("coordinate_transformation_mode", "half_pixel");
  bool halfPixelForNearest =
      given == "tf_half_pixel_for_nn" && n.stringAttr("mode", "nearest") == "nearest";
  r.symmetric = given == "half_pixel_symmetric";
  auto coordinates =
      pickMode<CoordinateMode>(n, "coordinate_transformation_mode",
                               halfPixelForNearest || r.symmetric ? "half_pixel" : given,
                               {{"half_pixel", CoordinateMode::HalfPixel},
                                {"pytorch_half_pixel", CoordinateMode::PytorchHalfPixel},
                                {"align_corners", CoordinateMode::AlignCorners},
                                {"asymmetric", CoordinateMode::Asymmetric},
                                {"tf_crop_and_resize", CoordinateMode::TfCropAndResize}});
  auto rounding = nearestMode(n, halfPixelForNearest);
  r.cubic = n.floatAttr("cubic_coeff_a", -0.75);
  r.excludeOutside = n.intAttr("exclude_outside", 0) != 0;
  r.extrapolation = n.floatAttr("extrapolation_value", 0);
  r.antialias = n.intAttr("antialias", 0) != 0;
  if (!mode || !coordinates || !rounding || n.hasFailed())
    return std::nullopt;
  r.mode = *mode;
  r.coordinates = *coordinates;
  r.rounding = *rounding;
  return r;
}

/// The starts of the part that is resized, for all dimensions, then its ends.
static bool readRegion(NodeContext &n, Resizing &r, IntsRef axes, int64_t rank) {
  auto roi = n.knownOperand(1, "roi");
  if (!roi || !roi->isFloat || roi->size() != 2 * axes.size()) {
    n.fail("roi must hold a start and an end for each axis");
    return false;
  }
  std::vector<double> starts(roi->floats.begin(), roi->floats.begin() + axes.size());
  std::vector<double> ends(roi->floats.begin() + axes.size(), roi->floats.end());
  r.roi = overAllAxes(starts, axes, rank, 0.0);
  llvm::append_range(r.roi, overAllAxes(ends, axes, rank, 1.0));
  return true;
}

/// Sizes and scales, of which one is given.
static bool readSizes(NodeContext &n, Resizing &r, IntsRef axes, int64_t rank, StringRef policy) {
  auto isGiven = [&](size_t i) { return n.input(i) && n.typeOf(n.input(i)).getNumElements() > 0; };
  if (isGiven(3)) {
    auto sizes = n.shapeOperand(3, "sizes");
    if (sizes && sizes->size() == axes.size())
      return applySizes(n, r, *sizes, axes, policy);
    n.fail("sizes needs one entry for each axis");
  } else if (isGiven(2)) {
    auto scales = n.knownOperand(2, "scales");
    if (scales && scales->isFloat && scales->size() == axes.size()) {
      r.scales = overAllAxes(scales->floats, axes, rank, 1.0);
      return sizesFromScales(n, n.input(0), r);
    }
    n.fail("scales needs one entry for each axis");
  } else {
    n.fail("scales or sizes are needed");
  }
  return false;
}

static Values resize(NodeContext &n) {
  if (n.opset() < 11)
    return upsample(n);
  auto r = readResizing(n);
  StringRef policy = n.stringAttr("keep_aspect_ratio_policy", "stretch");
  int64_t rank = n.rankOf(n.input(0));
  Ints all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  auto axes = n.axes(n.intsAttr("axes").value_or(all), rank);
  if (!r || !axes || n.hasFailed())
    return {};
  if (r->coordinates == CoordinateMode::TfCropAndResize && !readRegion(n, *r, *axes, rank))
    return {};
  if (!readSizes(n, *r, *axes, rank, policy))
    return {};
  return {r->antialias || r->symmetric ? resizeByMatrices(n, *r) : buildResize(n, n.input(0), *r)};
}

//===----------------------------------------------------------------------===//
// Scaling of colours
//===----------------------------------------------------------------------===//

/// Of old converters of Core ML: a factor for all channels, then what is added to each.
static Values imageScaler(NodeContext &n) {
  Value x = n.input(0);
  auto bias = n.floatsAttr("bias").value_or(std::vector<float>());
  double scale = n.floatAttr("scale", 1);
  int64_t channels = bias.size();
  if (n.rankOf(x) != 4 || n.shapeOf(x)[1] != channels || !n.isFloat(x))
    return {n.fail("the input must be [n, c, h, w], and attribute 'bias' have an entry for each "
                   "channel; it has " +
                   Twine(channels))};
  return {n.add(n.mulScalar(x, scale), floats(n, bias, {channels, 1, 1}, n.elementOf(x)))};
}

void gantry::onnx::addImageOps(OpTable &table) {
  table.add("DepthToSpace", depthToSpace);
  table.add("SpaceToDepth", spaceToDepth);
  table.add("Resize", resize, {1, 4, 1}).shapeOperands = {1, 2, 3};
  table.add("ImageScaler", imageScaler);
  table.add("Upsample", upsample, {1, 2, 1}).shapeOperands = {1};
}
