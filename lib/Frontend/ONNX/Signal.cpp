// Windows and Fourier transforms. Everything but the signal is known when compiling: a transform is
// a product with a constant matrix of cosines and sines.

#include "Handlers.h"

#include <cmath>

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// Longest transform or window; its matrix has the square of it.
static constexpr int64_t kMaxLength = 1024;
static constexpr double kPi = 3.14159265358979323846;

/// Constants of computed elements; `element` gives the value at each index.
static Value table(NodeContext &n, IntsRef shape, mlir::Type type,
                   llvm::function_ref<double(int64_t)> element) {
  auto tensor = makeTensorType(shape, type);
  if (!tensor)
    return n.fail(tensor.status().message());
  if (!n.countTable(tensor->getNumElements()))
    return {};
  KnownElements elements;
  elements.isFloat = true;
  for (int64_t i = 0; i < tensor->getNumElements(); ++i)
    elements.floats.push_back(element(i));
  return n.constant(makeConstantElements(*tensor, elements, n.outputName(0)));
}

/// A sum of cosines over one period.
static Values window(NodeContext &n, std::initializer_list<double> coefficients) {
  auto size = n.shapeScalar(0, "size");
  bool periodic = n.intAttr("periodic", 1) != 0;
  mlir::Type type = n.elementType(n.intAttr("output_datatype", 1));
  if (!size || !type)
    return {};
  if (*size < 0 || *size > kMaxLength * kMaxLength)
    return {n.fail("a window of " + Twine(*size) + " elements is out of range")};
  double period = double(periodic ? *size : *size - 1);
  return {table(n, {*size}, type, [&](int64_t i) {
    double sum = 0;
    int k = 0;
    for (double c : coefficients)
      sum += c * std::cos(2 * kPi * double(i) * k++ / period);
    return sum;
  })};
}

static Values hann(NodeContext &n) { return window(n, {0.5, -0.5}); }
static Values hamming(NodeContext &n) { return window(n, {25.0 / 46, -21.0 / 46}); }
static Values blackman(NodeContext &n) { return window(n, {0.42, -0.5, 0.08}); }

/// Transforms the last but one dimension of [..., length, 1 or 2] into [..., bins, 2].
static Value transform(NodeContext &n, Value x, int64_t bins, bool inverse) {
  if (!x)
    return {};
  Ints shape = n.shapeOf(x);
  int64_t rank = int64_t(shape.size()), length = shape[rank - 2];
  bool complex = shape[rank - 1] == 2;
  mlir::Type type = n.elementOf(x);
  double sign = inverse ? 1 : -1, scale = inverse ? 1.0 / double(length) : 1;
  auto angle = [&](int64_t i) {
    return sign * 2 * kPi * double((i / bins) * (i % bins) % length) / double(length);
  };
  // [length, bins]: row by sample, column by frequency.
  Value cosines =
      table(n, {length, bins}, type, [&](int64_t i) { return scale * std::cos(angle(i)); });
  Value sines =
      table(n, {length, bins}, type, [&](int64_t i) { return scale * std::sin(angle(i)); });
  Ints plain(shape.begin(), shape.end() - 1), row = plain;
  row.insert(row.end() - 1, 1);
  auto part = [&](int64_t which) { return n.reshape(n.sliceAxis(x, rank - 1, which, 1), row); };
  Value re = part(0), real = n.matmul(re, cosines), imaginary = n.matmul(re, sines);
  if (complex) {
    Value im = part(1);
    real = n.sub(real, n.matmul(im, sines));
    imaginary = n.add(imaginary, n.matmul(im, cosines));
  }
  Ints out = plain;
  out.back() = bins;
  out.push_back(1);
  return n.concat({n.reshape(real, out), n.reshape(imaginary, out)}, rank - 1);
}

/// The real signal of `length` whose spectrum begins with [..., bins, 2]: bins that have a mirror
/// image count twice.
static Value realSignal(NodeContext &n, Value x, int64_t length) {
  if (!x)
    return {};
  Ints shape = n.shapeOf(x), out = shape;
  int64_t rank = int64_t(shape.size()), bins = shape[rank - 2];
  auto part = [&](int64_t which) {
    Ints row(shape.begin(), shape.end() - 2);
    row.append({1, bins});
    return n.reshape(n.sliceAxis(x, rank - 1, which, 1), row);
  };
  auto weights = [&](double (*wave)(double), double sign) {
    return table(n, {bins, length}, n.elementOf(x), [&](int64_t i) {
      int64_t bin = i / length, at = i % length;
      double scale = (bin == 0 || 2 * bin == length ? sign : 2 * sign) / double(length);
      return scale * wave(2 * kPi * double(bin * at % length) / double(length));
    });
  };
  Value real = n.matmul(part(0), weights(std::cos, 1));
  Value y = n.add(real, n.matmul(part(1), weights(std::sin, -1)));
  out[rank - 2] = length;
  out.back() = 1;
  return n.reshape(y, out);
}

static Values dft(NodeContext &n) {
  Value x = n.input(0);
  int64_t rank = n.rankOf(x);
  bool inverse = n.intAttr("inverse", 0) != 0, onesided = n.intAttr("onesided", 0) != 0;
  // The axis became an operand with opset 20.
  auto given = n.opset() < 20 ? std::optional(n.intAttr("axis", 1))
               : n.input(2)   ? n.shapeScalar(2, "axis")
                              : std::optional<int64_t>(-2);
  auto axis = given ? n.axis(*given, rank) : std::nullopt;
  if (!axis)
    return {};
  bool toReal = inverse && onesided;
  if (rank < 2 || *axis == rank - 1 ||
      (n.shapeOf(x).back() != 2 && (toReal || n.shapeOf(x).back() != 1)))
    return {n.fail(Twine("the input must be ") + (toReal ? "" : "[..., 1] or ") +
                   "[..., 2] and not transformed along its last axis")};
  int64_t places = n.shapeOf(x)[*axis], length = toReal ? 2 * (places - 1) : places;
  if (n.input(1)) {
    auto wanted = n.shapeScalar(1, "dft_length");
    if (!wanted)
      return {};
    length = *wanted;
    int64_t used = toReal ? length / 2 + 1 : length;
    if (used > places) {
      Ints low(rank, 0), high(rank, 0);
      high[*axis] = used - places;
      x = n.make<PadOp>(x, n.scalar(n.elementOf(x), 0), IntsRef(low), IntsRef(high),
                        PadMode::Constant);
    } else if (length > 0) {
      x = n.sliceAxis(x, *axis, 0, used);
    }
  }
  if (length < 1 || length > kMaxLength)
    return {n.fail("transforms of length " + Twine(length) + " are not supported; 1 to " +
                   Twine(kMaxLength) + " are")};
  Ints order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(order[*axis], order[rank - 2]);
  x = n.transpose(x, order);
  Value y = toReal ? realSignal(n, x, length)
                   : transform(n, x, onesided ? length / 2 + 1 : length, inverse);
  return {n.transpose(y, order)};
}

/// Cuts the signal into frames, multiplies by the window, transforms each.
static Values stft(NodeContext &n) {
  Value signal = n.input(0), taper = n.input(2);
  bool onesided = n.intAttr("onesided", 1) != 0;
  auto step = n.shapeScalar(1, "frame_step");
  auto wanted = n.input(3) ? n.shapeScalar(3, "frame_length") : std::nullopt;
  if (!step || n.hasFailed())
    return {};
  if (n.rankOf(signal) == 2)
    signal = n.reshape(signal, {n.shapeOf(signal)[0], n.shapeOf(signal)[1], 1});
  if (n.rankOf(signal) != 3 || (taper && n.rankOf(taper) != 1))
    return {
        n.fail("the signal must be [batch, length, 1] or [batch, length, 2], the window a list")};
  int64_t frame = wanted  ? *wanted
                  : taper ? n.shapeOf(taper)[0]
                          : 0,
          length = n.shapeOf(signal)[1], width = n.shapeOf(signal)[2];
  if (*step < 1 || frame < 1 || frame > length || frame > kMaxLength ||
      (width != 1 && width != 2) || (onesided && width == 2) ||
      (taper && n.shapeOf(taper)[0] != frame))
    return {n.fail("frame_step, frame_length, window and signal do not fit each other")};
  int64_t frames = (length - frame) / *step + 1;
  Value start = n.mulScalar(n.iota({frames, 1}, n.i64(), 0), double(*step));
  Value index = n.add(start, n.iota({1, frame}, n.i64(), 1));
  Value cut = n.make<GatherOp>(signal, index, uint64_t(1));
  if (taper)
    cut = n.mul(cut, n.reshape(n.cast(taper, n.elementOf(signal)), {frame, 1}));
  return {transform(n, cut, onesided ? frame / 2 + 1 : frame, false)};
}

/// Triangular filters on the mel scale, which bend a spectrum to how pitch is heard.
static Values melWeightMatrix(NodeContext &n) {
  auto mels = n.shapeScalar(0, "num_mel_bins"), length = n.shapeScalar(1, "dft_length"),
       rate = n.shapeScalar(2, "sample_rate");
  auto low = n.knownOperand(3, "lower_edge_hertz"), high = n.knownOperand(4, "upper_edge_hertz");
  mlir::Type type = n.elementType(n.intAttr("output_datatype", 1));
  if (!mels || !length || !rate || !low || !high || !type)
    return {};
  if (*mels < 1 || *mels > kMaxLength || *length < 1 || *length > kMaxLength * 16 || *rate < 1 ||
      !low->isFloat || !high->isFloat || low->size() != 1 || high->size() != 1)
    return {n.fail("an operand is out of range")};
  int64_t bins = *length / 2 + 1;
  auto toMel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double lowest = toMel(low->floats[0]),
         step = (toMel(high->floats[0]) - lowest) / double(*mels + 2);
  auto edge = [&](int64_t i) {
    double hertz = 700 * (std::pow(10, (double(i) * step + lowest) / 2595) - 1);
    return std::floor(double(*length + 1) * hertz / double(*rate));
  };
  return {table(n, {bins, *mels}, type, [&](int64_t at) {
    double bin = double(at / *mels), left = edge(at % *mels), centre = edge(at % *mels + 1),
           right = edge(at % *mels + 2);
    if (centre == left && bin == centre)
      return 1.0;
    if (bin >= left && bin <= centre && centre > left)
      return (bin - left) / (centre - left);
    return bin > centre && bin < right ? (right - bin) / (right - centre) : 0.0;
  })};
}

/// Determinant of the last two dimensions, by cofactors; larger matrices would need pivoting.
static Value determinant(NodeContext &n, Value x, SmallVector<int64_t> columns, int64_t row) {
  int64_t rank = n.rankOf(x);
  auto entry = [&](int64_t column) {
    Ints shape(n.shapeOf(x));
    shape.truncate(rank - 2);
    return n.reshape(n.sliceAxis(n.sliceAxis(x, rank - 2, row, 1), rank - 1, column, 1), shape);
  };
  if (columns.size() == 1)
    return entry(columns.front());
  Value sum;
  for (auto [i, column] : llvm::enumerate(columns)) {
    SmallVector<int64_t> others;
    for (int64_t other : columns)
      if (other != column)
        others.push_back(other);
    Value term = n.mul(entry(column), determinant(n, x, others, row + 1));
    sum = !sum ? term : i % 2 ? n.sub(sum, term) : n.add(sum, term);
  }
  return sum;
}

static Values det(NodeContext &n) {
  Value x = n.input(0);
  int64_t rank = n.rankOf(x), size = rank < 2 ? 0 : n.shapeOf(x)[rank - 1];
  if (rank < 2 || n.shapeOf(x)[rank - 2] != size || size < 1 || size > 4)
    return {n.fail("only square matrices of up to 4 rows are supported")};
  return {determinant(n, x, llvm::to_vector(llvm::seq<int64_t>(0, size)), 0)};
}

void gantry::onnx::addSignalOps(OpTable &table) {
  table.add("HannWindow", hann).shapeOperands = {0};
  table.add("HammingWindow", hamming).shapeOperands = {0};
  table.add("BlackmanWindow", blackman).shapeOperands = {0};
  table.add("DFT", dft, {1, 3, 1}).shapeOperands = {1, 2};
  table.add("STFT", stft, {2, 4, 1}).shapeOperands = {1, 3};
  table.add("MelWeightMatrix", melWeightMatrix, {5, 5, 1}).shapeOperands = {0, 1, 2, 3, 4};
  table.add("Det", det);
}
