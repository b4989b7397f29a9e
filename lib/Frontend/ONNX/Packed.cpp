// Ops of com.microsoft on weights of 2, 4 or 8 bits that lie in bytes, the lowest bits first, and
// in blocks that have a scale and a zero point each. Where weights are constants, what makes
// numbers of them runs once, when the plan is loaded.

#include "Packed.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

/// The 8 / `bits` numbers of each byte, along the last dimension.
static Value unpack(NodeContext &n, Value bytes, int64_t bits) {
  if (!bytes || bits == 8)
    return bytes;
  mlir::Type u8 = n.elementOf(bytes);
  Ints shape = n.shapeOf(bytes), one = shape, shifts;
  one.push_back(1);
  for (int64_t shift = 0; shift < 8; shift += bits)
    shifts.push_back(shift);
  Value moved = n.make<ShiftRightOp>(n.reshape(bytes, one), n.ints(shifts, u8));
  shape.back() *= 8 / bits;
  return n.reshape(n.make<BitwiseAndOp>(moved, n.scalarInt(u8, (1 << bits) - 1)), shape);
}

static std::optional<int64_t> readBits(NodeContext &n) {
  int64_t bits = n.intAttr("bits", 4);
  if (bits == 2 || bits == 4 || bits == 8)
    return bits;
  n.fail("bits must be 2, 4 or 8, not " + Twine(bits));
  return std::nullopt;
}

/// Zero points of [rows, blocks], which lie in bytes row by row where they are bytes.
static Value zeroPoints(NodeContext &n, Value zero, Ints shape, int64_t bits) {
  int64_t rows = shape[0], blocks = shape[1];
  int64_t inBytes = llvm::divideCeil(blocks * bits, 8);
  bool packed = !n.isFloat(zero);
  if (n.typeOf(zero).getNumElements() != rows * (packed ? inBytes : blocks))
    return n.fail("zero points of " + Twine(rows) + " rows of " + Twine(blocks) +
                  " blocks are needed");
  if (!packed)
    return n.reshape(zero, shape);
  return n.sliceAxis(unpack(n, n.reshape(zero, {rows, inBytes}), bits), 1, 0, blocks);
}

/// Rows of the second matrix are columns of the product.
static Values matmulBits(NodeContext &n) {
  Value a = n.input(0), b = n.input(1), scales = n.input(2), zero = n.input(3), bias = n.input(5);
  int64_t terms = n.intAttr("K", 0), rows = n.intAttr("N", 0), size = n.intAttr("block_size", 0);
  n.ignoreAttrs({"accuracy_level"}); // how precise it has to be at least
  auto bits = readBits(n);
  if (!bits)
    return {};
  if (n.input(4))
    return {n.fail("operand 4 (g_idx) is not supported; blocks of neighbours are")};
  if (size < 1 || size * *bits % 8 || terms < 1 || rows < 1)
    return {n.fail("K, N and block_size must be positive, and blocks fill whole bytes")};
  int64_t blocks = llvm::divideCeil(terms, size), blob = size * *bits / 8;
  if (!n.elementOf(b).isUnsignedInteger(8) ||
      n.typeOf(b).getNumElements() != rows * blocks * blob ||
      n.typeOf(scales).getNumElements() != rows * blocks)
    return {n.fail("operands 1 and 2 must be u8[N, blocks, bytes of a block] and [N, blocks]")};
  mlir::Type element = n.elementOf(scales);
  Value w = n.cast(unpack(n, n.reshape(b, {rows, blocks, blob}), *bits), element);
  Value middle = n.scalar(element, 1 << (*bits - 1));
  if (zero) {
    zero = zeroPoints(n, zero, {rows, blocks}, *bits);
    middle = zero ? n.reshape(n.cast(zero, element), {rows, blocks, 1}) : Value();
  }
  w = n.mul(n.sub(w, middle), n.reshape(scales, {rows, blocks, 1}));
  w = n.sliceAxis(n.reshape(w, {rows, blocks * size}), 1, 0, terms);
  bool isVector = n.rankOf(a) == 1;
  if (isVector)
    a = n.reshape(a, {1, n.shapeOf(a)[0]});
  Value y = n.matmul(a, n.cast(w, n.elementOf(a)), false, true);
  if (isVector)
    y = n.reshape(y, {rows});
  return {bias ? n.add(y, bias) : y};
}

/// Rows are looked up before they are made numbers of.
static Values gatherBlocks(NodeContext &n) {
  Value data = n.input(0), indices = n.input(1), scales = n.input(2), zero = n.input(3);
  auto bits = readBits(n);
  int64_t size = n.intAttr("block_size", 128), rank = n.rankOf(data);
  auto rows = n.axis(n.intAttr("gather_axis", 0), rank);
  auto axis = n.axis(n.intAttr("quantize_axis", 1), rank);
  if (!bits || !rows || !axis)
    return {};
  bool inBytes = n.elementOf(data).isUnsignedInteger(8) && !n.isNarrow(0);
  if (*rows != 0 || *axis != rank - 1 || rank < 2 || size < 1)
    return {n.fail("gather_axis must be the first, quantize_axis the last one")};
  if (n.rankOf(scales) != rank || (zero && n.rankOf(zero) != rank))
    return {n.fail("data, scales and zero points must have the same number of dimensions")};
  auto lookUp = [&](Value v) { return n.make<GatherOp>(v, indices, uint64_t(0)); };
  auto whole = [&](Value v) { return inBytes ? unpack(n, v, *bits) : v; };
  Value x = whole(lookUp(data)), scale = lookUp(scales);
  if (!x || !scale)
    return {};
  int64_t last = n.rankOf(x) - 1, length = n.shapeOf(x)[last];
  int64_t blocks = llvm::divideCeil(length, size);
  if (n.shapeOf(scale)[last] != blocks)
    return {n.fail("one scale for each block of " + Twine(size) + " is needed")};
  mlir::Type element = n.elementOf(scale);
  Value middle = n.scalar(element, inBytes ? 1 << (*bits - 1) : 0);
  if (zero)
    middle = repeatBlocks(n, n.cast(n.sliceAxis(whole(lookUp(zero)), last, 0, blocks), element),
                          last, size, length);
  return {n.mul(n.sub(n.cast(x, element), middle), repeatBlocks(n, scale, last, size, length))};
}

void gantry::onnx::addPackedOps(OpTable &table) {
  table.add("MatMulNBits", matmulBits, {3, 6, 1}, kMicrosoft);
  table.add("GatherBlockQuantized", gatherBlocks, {3, 4, 1}, kMicrosoft).narrow = Narrow::reads;
}
