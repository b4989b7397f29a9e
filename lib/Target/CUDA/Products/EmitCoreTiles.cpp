// Products on tensor cores: warps multiply pieces of tiles by `mma.sync`, sums stay in f32.
//
// f16 and bf16 lie in shared memory as they do in memory, in lines along whichever side is
// contiguous there; `ldmatrix` turns what has to be turned. f32 is rounded to tf32 on its way
// there, where the graph was compiled for that, or on its way from there, where copies bring it.

#include "CoreTiles.h"

#include "Banks.h"
#include "CoreInstructions.h"
#include "Threads/Kernel.h"
#include "Tile.h"
#include "TilePair.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Target/CUDA/CUDATarget.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace {
using Kind = CoreKind;

/// Registers of a lane for one side of a step: a list for each piece of 16 rows or 8 columns.
using Fragments = SmallVector<SmallVector<Value>>;

class CoreEmitter {
public:
  CoreEmitter(KernelEmitter &kernel, const Product &product, const CoreOperands &operands,
              const CoreTile &tile);
  void run(const TilePlace &place, StoreAccumulators &storeAccumulators);

private:
  void findPlace();
  TilePair::Layout layoutOf(const FillTile &fill, int64_t pieces) const;
  SmallVector<Value> addUp();
  SmallVector<Value> multiply(ValueRange accumulators, Value stageOfLeft, Value stageOfRight);
  SmallVector<Value> multiplyStep(ValueRange accumulators, const Fragments &a, const Fragments &b);

  Fragments readLeft(Value atK, Value stage);
  Fragments readRight(Value atK, Value stage);
  bool hasMatrices(const TileMemory &from) const;
  SmallVector<Value> loadHalves(const TileMemory &from, Value first, Value half, Value atK,
                                Value far, Value line, Value stage);
  Value loadWord(const TileMemory &from, Value extentAt, Value placeK, Value stage);
  Value placeIn(const TileMemory &memory, Value extentAt, Value placeK, Value ownLine, Value stage);
  SmallVector<Run> runsOf(ArrayRef<Value> accumulators);
  Value roundToTF32(Value x);
  Value roundWord(Value word);

  Launch &launch;
  const CoreOperands operands;
  const CoreTile tile;
  ImplicitLocOpBuilder &b;
  TilePair pair;
  Value slice, warpRow, warpColumn; ///< of this thread's warp in the tile
  Value lane, group, member;        ///< lane = 4 * group + member
};
} // namespace

CoreEmitter::CoreEmitter(KernelEmitter &kernel, const Product &product,
                         const CoreOperands &operands, const CoreTile &tile)
    : launch(kernel.launch()), operands(operands), tile(tile), b(kernel.builder()),
      pair(kernel, product, operands.left, operands.right, {tile.rows, tile.columns, tile.k}) {
  if (tile.stages > 0)
    pair.useStages(tile.stages);
  else if (operands.kind == Kind::tf32)
    pair.fillLeft.round = pair.fillRight.round = [this](Value x) { return roundToTF32(x); };
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

void CoreEmitter::findPlace() {
  Indices thread =
      delinearize(b, launch.thread(),
                  {tile.slices, tile.rows / tile.warpRows, tile.columns / tile.warpColumns, kWarp});
  slice = thread[0];
  warpRow = mulIndex(b, thread[1], tile.warpRows);
  warpColumn = mulIndex(b, thread[2], tile.warpColumns);
  lane = thread[3];
  group = arith::DivUIOp::create(b, lane, indexConstant(b, 4));
  member = arith::RemUIOp::create(b, lane, indexConstant(b, 4));
}

/// Lines as they lie in memory; for tf32 lines of rows, since no instruction turns 32 bits, unless
/// copies bring what is in lines of K already.
TilePair::Layout CoreEmitter::layoutOf(const FillTile &fill, int64_t pieces) const {
  const bool isTF32 = operands.kind == Kind::tf32;
  bool linesOfK = (!isTF32 || tile.stages > 0) && fill.readsAlongK();
  int64_t bytes = operands.bytes();
  auto passesToRead = [=, this](int64_t stride) {
    int64_t steps = tile.k / tile.slices / operands.shape().k;
    if (operands.kind == Kind::tf32)
      return steps * pieces * 4 *
             countPasses([&](int64_t lane) { return (lane % 4 * stride + lane / 4) * bytes; },
                         bytes);
    // The lines of a matrix, for each quarter of the warp.
    auto line = [&](int64_t lane) {
      int64_t matrix = lane / 8, other = (linesOfK ? matrix / 2 : matrix % 2) * 8;
      int64_t own = (linesOfK ? matrix % 2 : matrix / 2) * 8 + lane % 8;
      return (own * stride + other) * bytes;
    };
    return steps * pieces * countPasses(line, 16);
  };
  return {linesOfK, 16 / bytes, kMostCorePadding / bytes, passesToRead,
          isTF32 && !linesOfK ? 2 : 1};
}

/// `ownLine` is what of the line's number tells the lanes of a warp apart. The rest is a multiple
/// of all lines whose pieces have places of their own.
Value CoreEmitter::placeIn(const TileMemory &memory, Value extentAt, Value placeK, Value ownLine,
                           Value stage) {
  Value line = memory.linesOfK ? extentAt : placeK;
  Value column = memory.linesOfK ? placeK : extentAt;
  if (memory.swizzle)
    column = arith::XOrIOp::create(b, column, memory.swizzle->of(b, ownLine));
  return addIndex(b, addIndex(b, mulIndex(b, line, memory.stride), column), stage);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Value CoreEmitter::roundToTF32(Value x) {
  auto rounding = NVVM::FPRoundingModeAttr::get(b.getContext(), NVVM::FPRoundingMode::RNA);
  Value rounded = NVVM::ConvertFloatToTF32Op::create(b, b.getI32Type(), x, rounding);
  return arith::BitcastOp::create(b, b.getF32Type(), rounded);
}

Value CoreEmitter::roundWord(Value word) {
  Value number = arith::BitcastOp::create(b, b.getF32Type(), word);
  return arith::BitcastOp::create(b, b.getI32Type(), roundToTF32(number));
}

/// Whether pieces are read as matrices: what is turned has to have 16 bits.
bool CoreEmitter::hasMatrices(const TileMemory &from) const {
  return operands.kind != Kind::tf32 || from.linesOfK;
}

/// Four matrices of 8 x 8, in the halves from `first` on and the near and far terms from `atK` on:
/// of every eight lanes each says where a line of one begins.
SmallVector<Value> CoreEmitter::loadHalves(const TileMemory &from, Value first, Value half,
                                           Value atK, Value far, Value line, Value stage) {
  Value extentAt = addIndex(b, first, mulIndex(b, half, 8));
  Value placeK = addIndex(b, atK, mulIndex(b, far, operands.shape().k / 2));
  Value &moving = from.linesOfK ? extentAt : placeK;
  moving = addIndex(b, moving, line);
  SmallVector<Value> words =
      loadMatrices(b, from.memory, placeIn(from, extentAt, placeK, line, stage), !from.linesOfK);
  if (operands.kind == Kind::tf32)
    for (Value &word : words)
      word = roundWord(word);
  return words;
}

Value CoreEmitter::loadWord(const TileMemory &from, Value extentAt, Value placeK, Value stage) {
  Value number =
      memref::LoadOp::create(b, from.memory, placeIn(from, extentAt, placeK, member, stage));
  if (tile.stages > 0)
    number = roundToTF32(number);
  return arith::BitcastOp::create(b, b.getI32Type(), number);
}

/// Pieces of 16 rows by the terms of a step.
Fragments CoreEmitter::readLeft(Value atK, Value stage) {
  Fragments fragments;
  Value eight = indexConstant(b, 8);
  for (int64_t row = 0; row < tile.warpRows; row += 16) {
    Value first = addIndex(b, warpRow, indexConstant(b, row));
    if (!hasMatrices(pair.left)) {
      Value upper = addIndex(b, first, group), lower = addIndex(b, upper, eight);
      Value near = addIndex(b, atK, member), far = addIndex(b, near, indexConstant(b, 4));
      fragments.push_back(
          {loadWord(pair.left, upper, near, stage), loadWord(pair.left, lower, near, stage),
           loadWord(pair.left, upper, far, stage), loadWord(pair.left, lower, far, stage)});
      continue;
    }
    // Upper and lower half of the near terms, then of the far ones.
    Indices at = delinearize(b, lane, {2, 2, 8});
    fragments.push_back(loadHalves(pair.left, first, at[1], atK, at[0], at[2], stage));
  }
  return fragments;
}

/// Pieces of 8 columns; two of them are loaded together.
Fragments CoreEmitter::readRight(Value atK, Value stage) {
  Fragments fragments;
  for (int64_t column = 0; column < tile.warpColumns; column += 16) {
    Value first = addIndex(b, warpColumn, indexConstant(b, column));
    if (!hasMatrices(pair.right)) {
      Value near = addIndex(b, atK, member), far = addIndex(b, near, indexConstant(b, 4));
      for (int64_t piece : {0, 8}) {
        Value at = addIndex(b, addIndex(b, first, group), indexConstant(b, piece));
        fragments.push_back(
            {loadWord(pair.right, at, near, stage), loadWord(pair.right, at, far, stage)});
      }
      continue;
    }
    // Near and far terms of the first piece, then of the second one.
    Indices at = delinearize(b, lane, {2, 2, 8});
    SmallVector<Value> words = loadHalves(pair.right, first, at[0], atK, at[1], at[2], stage);
    fragments.push_back({words[0], words[1]});
    fragments.push_back({words[2], words[3]});
  }
  return fragments;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

SmallVector<Value> CoreEmitter::multiplyStep(ValueRange accumulators, const Fragments &x,
                                             const Fragments &y) {
  SmallVector<Value> next(accumulators.begin(), accumulators.end());
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < y.size(); ++j) {
      size_t at = (i * y.size() + j) * 4;
      llvm::copy(multiplyOnCores(b, operands.kind, x[i], y[j], ArrayRef(next).slice(at, 4)),
                 next.begin() + at);
    }
  return next;
}

/// The steps of this warp's slice, one after the other.
SmallVector<Value> CoreEmitter::multiply(ValueRange accumulators, Value stageOfLeft,
                                         Value stageOfRight) {
  int64_t step = operands.shape().k, sizeK = tile.k / tile.slices;
  Value first = mulIndex(b, slice, sizeK);
  SmallVector<Value> next(accumulators.begin(), accumulators.end());
  for (int64_t atK = 0; atK < sizeK; atK += step) {
    Value at = addIndex(b, first, indexConstant(b, atK));
    Fragments x = readLeft(at, stageOfLeft), y = readRight(at, stageOfRight);
    next = multiplyStep(next, x, y);
  }
  return next;
}

SmallVector<Value> CoreEmitter::addUp() {
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  SmallVector<Value> zeros(tile.warpRows * tile.warpColumns / kWarp, zero);
  return pair.addUp(layoutOf(pair.fillLeft, tile.warpRows / 16),
                    layoutOf(pair.fillRight, tile.warpColumns / 16), zeros,
                    [&](ValueRange accumulators, Value left, Value right) {
                      return multiply(accumulators, left, right);
                    });
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

SmallVector<Run> CoreEmitter::runsOf(ArrayRef<Value> accumulators) {
  SmallVector<Run> runs;
  int64_t across = tile.warpColumns / 8;
  for (int64_t i = 0; i < tile.warpRows / 8; ++i) {
    Value row = addIndex(b, addIndex(b, warpRow, group), indexConstant(b, 8 * i));
    for (int64_t j = 0; j < across; ++j) {
      Value column =
          addIndex(b, addIndex(b, warpColumn, mulIndex(b, member, 2)), indexConstant(b, 8 * j));
      size_t at = (i / 2 * across + j) * 4 + i % 2 * 2;
      runs.push_back({row, column, {accumulators[at], accumulators[at + 1]}});
    }
  }
  return runs;
}

void CoreEmitter::run(const TilePlace &place, StoreAccumulators &storeAccumulators) {
  pair.moveTo(place);
  storeAccumulators.moveTo(place);
  findPlace();
  SmallVector<Value> accumulators = addUp();
  if (tile.slices > 1)
    storeAccumulators.joinAndStore(runsOf(accumulators), slice, tile.slices,
                                   [](int64_t lane) { return std::pair(lane / 4, lane % 4 * 2); });
  else
    storeAccumulators.store(runsOf(accumulators));
}

void gantry::gpu::emitTile(KernelEmitter &kernel, const Product &product,
                           const CoreOperands &operands, const CoreTile &tile,
                           const TilePlace &place, StoreAccumulators &store) {
  CoreEmitter(kernel, product, operands, tile).run(place, store);
}

/// The narrow number that a factor of the body is, before it is widened.
static Value narrowFactor(Value factor) {
  auto widened = factor.getDefiningOp<arith::ExtFOp>();
  return widened && widened.getType().isF32() ? widened.getIn() : Value();
}

std::optional<CoreOperands> gantry::gpu::coreOperandsOf(const Product &product,
                                                        const Output &output) {
  if (output.arch < kTensorCoreArch || !product.type().isF32() ||
      product.count(product.rows) < kFewestCoreRows ||
      product.count(product.columns) < kFewestCoreRows)
    return std::nullopt;
  Value left = narrowFactor(product.left.factor), right = narrowFactor(product.right.factor);
  if (left && right && left.getType() == right.getType()) {
    if (left.getType().isF16())
      return CoreOperands{Kind::f16, left, right};
    if (left.getType().isBF16())
      return CoreOperands{Kind::bf16, left, right};
  }
  if (output.mayBeTF32)
    return CoreOperands{Kind::tf32, product.left.factor, product.right.factor};
  return std::nullopt;
}

namespace {
class CoreTilesStrategy : public LoweringStrategy {
public:
  CoreTilesStrategy(const Output &output, Product product, const CoreOperands &operands)
      : LoweringStrategy(output), product(std::move(product)), operands(operands),
        tile(chooseCoreTile(this->product, operands.shape(), operands.bytes())) {
    if (output.stages != 0 && mayBeStaged())
      tile = chooseStagedTile(tile, ProductSizes::of(this->product), operands.shape(),
                              operands.bytes(), output.stages);
  }
  int64_t threads() const override { return tile.threads(); }
  void emit(KernelEmitter &kernel) override {
    StoreAccumulators store(kernel, output, product, tile.rows, tile.columns);
    emitTile(kernel, product, operands, tile,
             placeOfBlock(kernel, product, tile.rows, tile.columns), store);
  }

private:
  bool mayBeStaged() const {
    return mayBeCopied(product, product.left, operands.left, product.rows) &&
           mayBeCopied(product, product.right, operands.right, product.columns);
  }

  Product product;
  CoreOperands operands;
  CoreTile tile;
};
} // namespace

std::unique_ptr<LoweringStrategy> gantry::gpu::makeCoreTiles(const Output &output,
                                                             const Product &product) {
  std::optional<CoreOperands> operands = coreOperandsOf(product, output);
  return operands ? std::make_unique<CoreTilesStrategy>(output, product, *operands) : nullptr;
}
