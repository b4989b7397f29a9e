// Products whose second operand is made of few bits an element read these, in records of blocks
// (Dialect/Gantry/IR/BlockQuantized.h), and not the numbers of f32 that would be made of them at
// load: a row of them reads an eighth of the bytes.
//
//   matmul(x, (cast(q) - zero) * scale)      q of bits in bytes, in rows of whole blocks
//   matmul(x, cast(q - zero) * scale)        q of bytes, which need not need all their bits
//
// The weights are put in records here.

#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Dialect/Gantry/IR/BlockQuantized.h"
#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/TargetMap.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <cstring>
#include <functional>

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_KEEPBLOCKQUANTIZEDPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

//===----------------------------------------------------------------------===//
// Bits in bytes
//===----------------------------------------------------------------------===//

/// What only gives a tensor another shape, or takes the first elements of its lines.
static Value skipShapes(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto slice = dyn_cast<SliceOp>(op);
    bool isPrefix = slice && llvm::all_of(slice.getStarts(), [](int64_t at) { return at == 0; }) &&
                    llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; });
    if (!isPrefix && !isa<ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {
/// Numbers of so many bits in the bytes of a constant, the lowest ones first.
struct Packed {
  ConstantOp bytes;
  int64_t bits;
};
} // namespace

static bool isSplat(Value value, int64_t number) {
  auto elements = evaluateValue(value);
  return elements && !elements->isFloat &&
         llvm::all_of(elements->ints, [&](int64_t each) { return each == number; });
}

/// The shifts that take a byte apart.
static std::optional<int64_t> bitsOfShifts(Value value) {
  auto shifts = evaluateValue(value);
  if (!shifts || shifts->isFloat || typeOf(value).getRank() != 1)
    return std::nullopt;
  const int64_t count = shifts->ints.size();
  if (count != 2 && count != 4)
    return std::nullopt;
  for (int64_t i = 0; i < count; ++i)
    if (shifts->ints[i] != i * (8 / count))
      return std::nullopt;
  return 8 / count;
}

static std::optional<Packed> findPacked(Value value) {
  if (!typeOf(value).getElementType().isUnsignedInteger(8))
    return std::nullopt;
  if (auto bytes = value.getDefiningOp<ConstantOp>())
    return Packed{bytes, 8};
  auto masked = value.getDefiningOp<BitwiseAndOp>();
  auto moved = masked ? masked.getLhs().getDefiningOp<ShiftRightOp>() : ShiftRightOp();
  auto bits = moved ? bitsOfShifts(moved.getRhs()) : std::nullopt;
  if (!bits || !isSplat(masked.getRhs(), (1 << *bits) - 1) || shapeOf(moved.getLhs()).back() != 1)
    return std::nullopt;
  auto bytes = skipShapes(moved.getLhs()).getDefiningOp<ConstantOp>();
  if (!bytes || typeOf(bytes).getNumElements() != typeOf(moved.getLhs()).getNumElements())
    return std::nullopt;
  return Packed{bytes, *bits};
}

namespace {
/// The weights of a product, columns of terms.
struct Weights {
  BlockQuantized form;
  int64_t columns;
  std::vector<float> scales, zeros; ///< [columns, blocks]; no zeros: form.zero
  ConstantOp like;                  ///< what they are made of
  /// Writes the numbers of a block of a column, in bytes that are zero.
  std::function<void(int64_t column, int64_t block, char *out)> write;
};
} // namespace

static std::optional<std::vector<float>> readFloats(ConstantOp constant) {
  ArrayRef<char> bytes = storedBytes(constant.getValue());
  if (bytes.empty() || !typeOf(constant).getElementType().isF32())
    return std::nullopt;
  std::vector<float> numbers(bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return numbers;
}

//===----------------------------------------------------------------------===//
// As MatMulNBits has them
//===----------------------------------------------------------------------===//

/// The zero point of all, a whole number that has as few bits.
static std::optional<int64_t> findZero(Value value, int64_t bits) {
  auto number = typeOf(value).getNumElements() == 1 ? evaluateValue(value) : std::nullopt;
  if (!number || !number->isFloat)
    return std::nullopt;
  const double zero = number->floats[0];
  const bool fits = zero >= 0 && zero < (1 << bits) && zero == double(int64_t(zero));
  return fits ? std::optional(int64_t(zero)) : std::nullopt;
}

/// Zero points of f32, one for each block: numbers as they are, or few bits of bytes, each column
/// from a byte of its own on.
static std::optional<std::vector<float>> findZeros(Value value, int64_t columns, int64_t blocks) {
  if (typeOf(value).getNumElements() != columns * blocks)
    return std::nullopt;
  value = skipShapes(value);
  if (auto plain = value.getDefiningOp<ConstantOp>())
    return readFloats(plain);
  auto cast = value.getDefiningOp<CastOp>();
  auto packed = cast ? findPacked(skipShapes(cast.getInput())) : std::nullopt;
  ArrayRef<char> bytes = packed ? storedBytes(packed->bytes.getValue()) : ArrayRef<char>();
  if (bytes.empty())
    return std::nullopt;
  const int64_t columnBytes = llvm::divideCeil(blocks * packed->bits, 8), inByte = 8 / packed->bits;
  if (int64_t(bytes.size()) != columns * columnBytes)
    return std::nullopt;
  std::vector<float> zeros(columns * blocks);
  for (int64_t column = 0; column < columns; ++column)
    for (int64_t block = 0; block < blocks; ++block) {
      const auto byte = uint8_t(bytes[column * columnBytes + block / inByte]);
      zeros[column * blocks + block] =
          float((byte >> (block % inByte * packed->bits)) & ((1 << packed->bits) - 1));
    }
  return zeros;
}

/// (cast(q) - zero) * scale, of [columns, blocks, terms of a block].
static std::optional<Weights> findPackedWeights(Value value) {
  const int64_t columns = shapeOf(value)[0], sizeK = shapeOf(value)[1];
  auto mul = skipShapes(value).getDefiningOp<MulOp>();
  auto sub = mul ? mul.getLhs().getDefiningOp<SubOp>() : SubOp();
  auto cast = sub ? sub.getLhs().getDefiningOp<CastOp>() : CastOp();
  auto constant = mul ? skipShapes(mul.getRhs()).getDefiningOp<ConstantOp>() : ConstantOp();
  auto scales = constant ? readFloats(constant) : std::nullopt;
  if (!cast || !scales || cast.getType() != mul.getType())
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(mul);
  if (shape.size() != 3 || shape[0] != columns || shapeOf(mul.getRhs()).back() != 1 ||
      int64_t(scales->size()) != columns * shape[1])
    return std::nullopt;
  const int64_t blocks = shape[1], block = shape[2];
  auto packed = findPacked(skipShapes(cast.getInput()));
  ArrayRef<char> bytes = packed ? storedBytes(packed->bytes.getValue()) : ArrayRef<char>();
  if (bytes.empty() || int64_t(bytes.size()) != columns * blocks * block * packed->bits / 8)
    return std::nullopt;
  auto zero = findZero(sub.getRhs(), packed->bits);
  auto zeros = zero ? std::vector<float>() : findZeros(sub.getRhs(), columns, blocks);
  BlockQuantized form{packed->bits, block, sizeK, zero.value_or(-1)};
  if (!zeros || !form.isValid() || form.blocks() != blocks)
    return std::nullopt;
  auto write = [=, data = bytes, blob = block * packed->bits / 8](int64_t column, int64_t at,
                                                                  char *out) {
    std::memcpy(out, data.data() + (column * blocks + at) * blob, blob);
  };
  return Weights{form, columns, std::move(*scales), std::move(*zeros), packed->bytes, write};
}

//===----------------------------------------------------------------------===//
// As DequantizeLinear has them
//===----------------------------------------------------------------------===//

namespace {
/// A matrix of weights in the graph: which of its two dimensions are terms.
struct Matrix {
  int64_t columns, sizeK;
  unsigned dimK;

  int64_t at(int64_t column, int64_t atK) const {
    return dimK == 0 ? atK * columns + column : column * sizeK + atK;
  }
};

/// Numbers that neighbouring terms have in common.
struct PerBlock {
  int64_t block;              ///< all terms, where they are the same for these
  std::vector<float> numbers; ///< [columns, blocks]
};
} // namespace

/// The value whose numbers it has, in the same order: bytes are the same numbers in i32.
static Value skipWidening(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto cast = dyn_cast<CastOp>(op);
    const bool isWidened = cast && typeOf(cast).getElementType().isSignlessInteger(32) &&
                           typeOf(cast.getInput()).getElementType().isInteger(8);
    if (!isWidened && !isa<ReshapeOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static std::optional<std::vector<float>> readNumbers(Value value) {
  std::optional<KnownElements> known;
  // However many there are.
  if (auto constant = skipWidening(value).getDefiningOp<ConstantOp>())
    known = readElements(constant.getValue(), typeOf(value).getNumElements());
  else
    known = evaluateValue(value);
  if (!known)
    return std::nullopt;
  std::vector<float> numbers;
  if (known->isFloat)
    numbers.assign(known->floats.begin(), known->floats.end());
  else
    numbers.assign(known->ints.begin(), known->ints.end());
  return numbers;
}

/// Each number of a block repeated for its terms: reshape(broadcast([.., blocks, 1, ..])).
static std::optional<PerBlock> findRepeated(Value value, const Matrix &matrix) {
  auto wide = skipShapes(value).getDefiningOp<BroadcastOp>();
  if (!wide || typeOf(wide).getRank() != 3)
    return std::nullopt;
  const unsigned dim = matrix.dimK;
  ArrayRef<int64_t> from = shapeOf(wide.getInput()), to = shapeOf(wide);
  const int64_t block = to[dim + 1], blocks = to[dim];
  if (from.size() != 3 || from[dim] != blocks || from[dim + 1] != 1 || block < 1 ||
      from[dim == 0 ? 2 : 0] != matrix.columns ||
      blocks != int64_t(llvm::divideCeil(matrix.sizeK, block)))
    return std::nullopt;
  auto read = readNumbers(wide.getInput());
  if (!read)
    return std::nullopt;
  PerBlock found{block, std::vector<float>(read->size())};
  const Matrix table{matrix.columns, blocks, dim};
  for (int64_t column = 0; column < matrix.columns; ++column)
    for (int64_t i = 0; i < blocks; ++i)
      found.numbers[column * blocks + i] = (*read)[table.at(column, i)];
  return found;
}

/// Numbers of all terms: those of columns that do not change along them, or changes at blocks.
static std::optional<PerBlock> findSpread(Value value, const Matrix &matrix) {
  auto type = typeOf(value);
  auto read = type.getRank() <= 2 ? readNumbers(value) : std::nullopt;
  if (!read)
    return std::nullopt;
  SmallVector<int64_t, 2> shape(2 - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  const int64_t columns = shape[1 - matrix.dimK], sizeK = shape[matrix.dimK];
  const Matrix table{columns, sizeK, matrix.dimK};
  auto at = [&](int64_t column, int64_t atK) {
    return (*read)[table.at(columns == 1 ? 0 : column, atK)];
  };
  int64_t block = 1;
  auto changes = [&](int64_t atK) {
    for (int64_t column = 0; column < columns; ++column)
      if (at(column, atK) != at(column, atK / block * block))
        return true;
    return false;
  };
  while (block < sizeK && at(0, block) == at(0, 0))
    ++block;
  for (int64_t atK = 0; atK < sizeK; ++atK)
    if (changes(atK))
      return std::nullopt;
  PerBlock found{block == sizeK ? matrix.sizeK : block, {}};
  for (int64_t column = 0; column < matrix.columns; ++column)
    for (int64_t atK = 0; atK < sizeK; atK += block)
      found.numbers.push_back(at(column, atK));
  return found;
}

static std::optional<PerBlock> findPerBlock(Value value, const Matrix &matrix) {
  auto repeated = findRepeated(value, matrix);
  return repeated ? repeated : findSpread(value, matrix);
}

/// The bits that numbers of bytes need, in which they are counted from their least value on.
static int64_t bitsOf(ArrayRef<char> bytes, bool isSigned) {
  for (int64_t bits : {2, 4}) {
    const int64_t offset = isSigned ? 1 << (bits - 1) : 0;
    if (llvm::all_of(bytes, [&](char byte) {
          const int64_t number =
              (isSigned ? int64_t(int8_t(byte)) : int64_t(uint8_t(byte))) + offset;
          return number >= 0 && number < (1 << bits);
        }))
      return bits;
  }
  return 8;
}

/// cast(q - zero) * scale in i32, of a matrix of bytes.
static std::optional<Weights> findByteWeights(Value value, bool isTransposed) {
  if (auto transpose = value.getDefiningOp<TransposeOp>()) {
    value = transpose.getInput();
    isTransposed = !isTransposed;
  }
  auto mul = value.getDefiningOp<MulOp>();
  auto steps = mul ? mul.getLhs().getDefiningOp<CastOp>() : CastOp();
  if (!steps || steps.getType() != mul.getType() || typeOf(mul).getRank() != 2)
    return std::nullopt;
  Value numbers = steps.getInput(), zero;
  if (auto sub = numbers.getDefiningOp<SubOp>(); sub && sub.getLhs().getType() == sub.getType()) {
    numbers = sub.getLhs();
    zero = sub.getRhs();
  }
  if (auto wide = numbers.getDefiningOp<CastOp>();
      wide && typeOf(wide).getElementType().isSignlessInteger(32))
    numbers = wide.getInput();
  auto constant = numbers.getDefiningOp<ConstantOp>();
  ArrayRef<char> bytes = constant && typeOf(constant).getElementType().isInteger(8)
                             ? storedBytes(constant.getValue())
                             : ArrayRef<char>();
  if (bytes.empty() || shapeOf(numbers) != shapeOf(mul))
    return std::nullopt;
  const unsigned dimK = isTransposed ? 1 : 0;
  const Matrix matrix{shapeOf(mul)[1 - dimK], shapeOf(mul)[dimK], dimK};
  auto scales = findPerBlock(mul.getRhs(), matrix);
  auto zeros = zero ? findPerBlock(zero, matrix) : PerBlock{matrix.sizeK, {}};
  if (!scales || !zeros)
    return std::nullopt;
  const bool isSigned = !typeOf(constant).getElementType().isUnsignedInteger();
  BlockQuantized form{bitsOf(bytes, isSigned), 0, matrix.sizeK, -1};
  const int64_t offset = isSigned ? 1 << (form.bits - 1) : 0;
  if (!zero)
    form.zero = offset;
  // One of them may be the same for all terms.
  const int64_t block = std::min(scales->block, zeros->block), most = matrix.sizeK;
  form.block = block == most ? llvm::alignTo(most, form.numbersOfWord()) : block;
  if ((scales->block != block && scales->block != most) ||
      (zeros->block != block && zeros->block != most) || !form.isValid())
    return std::nullopt;
  const int64_t blocks = form.blocks();
  auto spread = [&](const PerBlock &of, float plus) {
    std::vector<float> all;
    const int64_t own = of.numbers.size() / matrix.columns;
    for (int64_t i = 0; own != 0 && i < matrix.columns * blocks; ++i)
      all.push_back(of.numbers[i / blocks * own + std::min(i % blocks, own - 1)] + plus);
    return all;
  };
  auto write = [=, data = bytes](int64_t column, int64_t at, char *out) {
    const int64_t first = at * form.block, inByte = 8 / form.bits;
    for (int64_t i = 0; i < form.block && first + i < most; ++i) {
      const auto byte = uint8_t(data[matrix.at(column, first + i)] + offset);
      out[i / inByte] = char(uint8_t(out[i / inByte]) | byte << (i % inByte * form.bits));
    }
  };
  return Weights{form,     matrix.columns, spread(*scales, 0), spread(*zeros, float(offset)),
                 constant, write};
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The constant of records.
static Value makeRecords(const Weights &weights) {
  const BlockQuantized &form = weights.form;
  const int64_t blocks = form.blocks(), record = form.recordWords() * BlockQuantized::kWordBytes,
                head = form.headWords() * BlockQuantized::kWordBytes;
  AsmResourceBlob made = HeapAsmResourceBlob::allocate(weights.columns * form.columnBytes(),
                                                       /*align=*/64, /*dataIsMutable=*/true);
  char *out = made.getMutableData().data();
  std::memset(out, 0, weights.columns * form.columnBytes());
  for (int64_t i = 0; i < weights.columns * blocks; ++i, out += record) {
    std::memcpy(out, &weights.scales[i], sizeof(float));
    if (form.hasZeros())
      std::memcpy(out + sizeof(float), &weights.zeros[i], sizeof(float));
    weights.write(i / blocks, i % blocks, out + head);
  }
  ConstantOp like = weights.like;
  OpBuilder b(like);
  auto type = RankedTensorType::get({weights.columns, form.columnBytes()},
                                    b.getIntegerType(8, /*isSigned=*/false));
  ElementsAttr value;
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(like.getValue()))
    value = DenseResourceElementsAttr::get(type, resource.getRawHandle().getKey(), std::move(made));
  else
    value = DenseElementsAttr::getFromRawBuffer(type, made.getData());
  auto constant = ConstantOp::create(b, like.getLoc(), value);
  constant->setDiscardableAttrs(like->getDiscardableAttrDictionary());
  return constant;
}

using Products = llvm::SetVector<MatmulOp>;

/// Whether an op multiplies by these weights, and can read records of them.
static bool isProductWith(Operation *op, Value weights, const Products &attention,
                          const TargetMap &targets) {
  auto matmul = dyn_cast<MatmulOp>(op);
  return matmul && !attention.contains(matmul) && matmul.getRhs() == weights &&
         matmul.getLhs() != weights && !matmul.getTransposeA() &&
         typeOf(matmul).getElementType().isF32() &&
         typeOf(matmul.getLhs()).getElementType().isF32() &&
         targets.isOnlyOf(op, kCPUTarget, DeviceType::CPU);
}

/// The way in which all products read the weights: their columns are rows, or not.
static std::optional<bool> findTransposition(Value weights, const Products &attention,
                                             const TargetMap &targets) {
  std::optional<bool> isTransposed;
  for (Operation *user : weights.getUsers()) {
    if (!isProductWith(user, weights, attention, targets))
      return std::nullopt;
    const bool own = cast<MatmulOp>(user).getTransposeB();
    if (own != isTransposed.value_or(own))
      return std::nullopt;
    isTransposed = own;
  }
  return isTransposed;
}

static void eraseUnused(Operation *op) {
  if (!op || !isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  op->erase();
  for (Value operand : operands)
    eraseUnused(operand.getDefiningOp());
}

/// Whether something computes the weights, and in what may be reshaped, transposed or cut.
static bool isMade(Value weights) {
  return isa_and_nonnull<MulOp, ReshapeOp, SliceOp, TransposeOp>(weights.getDefiningOp());
}

namespace {
struct KeepBlockQuantized : gantry::impl::KeepBlockQuantizedPassBase<KeepBlockQuantized> {
  using KeepBlockQuantizedPassBase::KeepBlockQuantizedPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    // Attention is a kernel of its own, with factors of its own.
    Products attention;
    for (auto func : getOperation().getOps<func::FuncOp>())
      attention.insert_range(productsOfAttention(func));
    llvm::SetVector<Value> weights;
    getOperation().walk([&](MatmulOp op) {
      if (typeOf(op.getRhs()).getRank() == 2 && typeOf(op.getRhs()).getNumElements() > 0 &&
          isMade(op.getRhs()))
        weights.insert(op.getRhs());
    });
    for (Value value : weights)
      keep(value, attention, targets);
  }

  void keep(Value value, const Products &attention, const TargetMap &targets) {
    std::optional<bool> isTransposed = findTransposition(value, attention, targets);
    if (!isTransposed)
      return;
    std::optional<Weights> found = *isTransposed ? findPackedWeights(value) : std::nullopt;
    if (!found)
      found = findByteWeights(value, *isTransposed);
    if (!found)
      return;
    Value records = makeRecords(*found);
    for (OpOperand &use : llvm::make_early_inc_range(value.getUses())) {
      auto product = cast<MatmulOp>(use.getOwner());
      product.setBlockQuantizedAttr(BlockQuantizedAttr::get(&getContext(), found->form));
      product.setTransposeB(true);
      use.set(records);
    }
    eraseUnused(value.getDefiningOp());
  }
};
} // namespace
