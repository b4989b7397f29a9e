#include "FillTile.h"

#include "Banks.h"
#include "StoreSums.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/Reshapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Bytes that a thread reads at once, where it can, and bytes of a sector of memory.
static constexpr int64_t kAccessBytes = 16, kSectorBytes = 32;
/// How many threads write 16 bytes in one pass over the banks.
static constexpr int64_t kThreadsOfPass = 8;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

/// Runs `emit` where `condition` holds; elsewhere the values are zeros of these types.
static SmallVector<Value> valuesWhere(ImplicitLocOpBuilder &b, Elements &elements, Value condition,
                                      ArrayRef<Type> types,
                                      function_ref<SmallVector<Value>()> emit) {
  auto branch = scf::IfOp::create(b, TypeRange(types), condition, /*withElseRegion=*/true);
  {
    Elements::Region inside(elements, branch.thenBlock());
    scf::YieldOp::create(b, emit());
  }
  Elements::Region inside(elements, branch.elseBlock());
  SmallVector<Value> zeros;
  for (Type type : types)
    zeros.push_back(arith::ConstantOp::create(b, b.getZeroAttr(type)));
  scf::YieldOp::create(b, zeros);
  return branch.getResults();
}

//===----------------------------------------------------------------------===//
// Who reads what
//===----------------------------------------------------------------------===//

FillTile::FillTile(KernelEmitter &kernel, const Product &product, const Side &side, Value factor,
                   ArrayRef<unsigned> loops, int64_t extent, int64_t depth)
    : kernel(kernel), launch(kernel.launch()), product(product), side(side), factor(factor),
      loops(loops), extent(extent), depth(depth) {
  chooseWidth();
}

/// The loop that walks along the operand's memory, and how many neighbours are there to be read at
/// once: those of a row of it, if rows begin where such an access may.
void FillTile::chooseWidth() {
  linalg::GenericOp op = product.op;
  Value tensor = side.operand->get();
  ArrayRef<int64_t> shape = shapeOf(tensor);
  AffineMap map = op.getMatchingIndexingMap(side.operand);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t last = int64_t(shape.size()) - 1;
  while (last >= 0 && shape[last] == 1)
    --last;
  if (last < 0)
    return;
  AffineExpr expr = map.getResult(last);
  bool usesRows = llvm::any_of(loops, [&](unsigned loop) { return expr.isFunctionOfDim(loop); });
  alongTerms = !usesRows;
  auto dim = dyn_cast<AffineDimExpr>(expr);
  unsigned innermost = alongTerms ? product.terms.back() : loops.empty() ? ~0u : loops.back();
  bool isThere = isa<BlockArgument>(skipReshapes(tensor));
  if (!dim || dim.getPosition() != innermost || !isThere)
    return;
  int64_t bytes = std::max<int64_t>(1, elementOf(tensor).getIntOrFloatBitWidth() / 8);
  int64_t most = std::min(kAccessBytes / bytes, alongTerms ? depth : extent);
  while (values < most && sizes[innermost] % (2 * values) == 0 && shape[last] % (2 * values) == 0)
    values *= 2;
}

int64_t FillTile::turns() const { return std::max<int64_t>(1, pieces() / launch.threads()); }

/// Digits of `thread + turn * threads`; all divisors are powers of two, so the two never carry.
Value FillTile::digit(int64_t turn, int64_t divisor, int64_t modulus) {
  ImplicitLocOpBuilder &b = launch.builder();
  int64_t threads = launch.threads();
  Value mine = launch.thread();
  if (modulus == 1)
    return indexConstant(b, 0);
  if (divisor > 1)
    mine = divisor >= threads ? indexConstant(b, 0)
                              : Value(arith::DivUIOp::create(b, mine, indexConstant(b, divisor)));
  if (divisor < threads && threads / divisor > modulus)
    mine = arith::RemUIOp::create(b, mine, indexConstant(b, modulus));
  return addIndex(b, mine, indexConstant(b, turn * threads / divisor % modulus));
}

/// All are powers of two. Along terms, the threads of a warp read a sector of each of their rows.
SmallVector<FillTile::Digit, 4> FillTile::digits() const {
  if (!alongTerms) {
    int64_t across = extent / values;
    // Eight threads write at a time. Where a line has less for them, each has a line.
    int64_t lines = values > 1 && across < kThreadsOfPass ? std::min(depth, kThreadsOfPass) : 1;
    return {{1, lines, 1, true},
            {lines, across, values, false},
            {lines * across, depth / lines, lines, true}};
  }
  int64_t bytes = std::max<int64_t>(1, elementOf(side.operand->get()).getIntOrFloatBitWidth() / 8);
  int64_t across = depth / values;
  int64_t lanesOfRow = std::min(across, std::max<int64_t>(1, kSectorBytes / bytes / values));
  int64_t lanes = std::min(extent, kWarp / lanesOfRow);
  return {{1, lanes, 1, false},
          {lanes, lanesOfRow, values, true},
          {lanes * lanesOfRow, extent / lanes, lanes, false},
          {lanesOfRow * extent, across / lanesOfRow, lanesOfRow * values, true}};
}

FillTile::Place FillTile::placeOf(int64_t turn) {
  ImplicitLocOpBuilder &b = launch.builder();
  Place place{indexConstant(b, 0), indexConstant(b, 0)};
  for (const Digit &own : digits()) {
    Value part = mulIndex(b, digit(turn, own.divisor, own.modulus), own.weight);
    Value &to = own.isOfTerm ? place.term : place.row;
    to = addIndex(b, to, part);
  }
  return place;
}

int64_t FillTile::passesToStore(bool linesOfTerms, int64_t stride) const {
  int64_t bytes = factor.getType().getIntOrFloatBitWidth() / 8;
  auto placeOfLane = [&](int64_t lane) {
    int64_t row = 0, term = 0;
    for (const Digit &own : digits())
      (own.isOfTerm ? term : row) += lane / own.divisor % own.modulus * own.weight;
    int64_t line = linesOfTerms ? row : term, column = linesOfTerms ? term : row;
    return (line * stride + column) * bytes;
  };
  bool isOneLine = linesOfTerms == alongTerms;
  return turns() * (isOneLine ? countPasses(placeOfLane, values * bytes)
                              : values * countPasses(placeOfLane, bytes));
}

void FillTile::moveTo(ValueRange indices, Value start) {
  batch = llvm::to_vector(indices);
  first = start;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Rows behind the last one are the last one, whose sums nobody wants; terms behind the last one
/// are zero.
SmallVector<Value> FillTile::loadPiece(const Place &place, Value term) {
  ImplicitLocOpBuilder &b = launch.builder();
  linalg::GenericOp op = product.op;
  int64_t rows = product.count(loops), terms = product.count(product.terms);
  Value row = addIndex(b, first, place.row), k = addIndex(b, term, place.term), isTerm;
  if (rows % extent != 0)
    row = arith::MinUIOp::create(b, row, indexConstant(b, rows - (alongTerms ? 1 : values)));
  if (terms % depth != 0) {
    isTerm = isBelow(b, k, terms);
    k = arith::MinUIOp::create(b, k, indexConstant(b, terms - (alongTerms ? values : 1)));
  }
  Indices rowAt = delinearize(b, row, product.sizes(loops));
  Indices termAt = delinearize(b, k, product.sizes(product.terms));
  SmallVector<Value> at(op.getNumLoops()), loaded;
  for (auto [loop, index] : llvm::zip(product.batch, batch))
    at[loop] = index;
  for (int64_t i = 0; i < values; ++i) {
    for (auto [loop, index] : llvm::zip(loops, rowAt))
      at[loop] = index;
    for (auto [loop, index] : llvm::zip(product.terms, termAt))
      at[loop] = index;
    Value &moving = at[alongTerms ? product.terms.back() : loops.empty() ? 0 : loops.back()];
    if (i > 0)
      moving = addIndex(b, moving, indexConstant(b, i));
    Value value = kernel.elements().inBody(op, factor, at);
    if (isTerm)
      value = arith::SelectOp::create(b, isTerm, value,
                                      arith::ConstantOp::create(b, b.getZeroAttr(value.getType())));
    loaded.push_back(value);
  }
  return loaded;
}

SmallVector<Value> FillTile::loadAll(Value term) {
  SmallVector<Value> loaded;
  for (int64_t turn = 0; turn < turns(); ++turn)
    llvm::append_range(loaded, loadPiece(placeOf(turn), term));
  return loaded;
}

SmallVector<Value> FillTile::load(Value term, Value condition) {
  ImplicitLocOpBuilder &b = launch.builder();
  if (!isForAll()) {
    Value isMine = isBelow(b, launch.thread(), pieces());
    condition = condition ? arith::AndIOp::create(b, condition, isMine).getResult() : isMine;
  }
  if (!condition)
    return loadAll(term);
  SmallVector<Type> types(turns() * values, factor.getType());
  return valuesWhere(b, kernel.elements(), condition, types, [&] { return loadAll(term); });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void FillTile::store(ArrayRef<Value> loaded, const TileMemory &to, Value offset) {
  ImplicitLocOpBuilder &b = launch.builder();
  auto write = [&] {
    for (int64_t turn = 0; turn < turns(); ++turn) {
      Place place = placeOf(turn);
      SmallVector<Value> piece(loaded.slice(turn * values, values));
      if (round)
        for (Value &value : piece)
          value = round(value);
      Value line = to.linesOfTerms ? place.row : place.term;
      Value column = to.linesOfTerms ? place.term : place.row;
      Value at = addIndex(b, addIndex(b, mulIndex(b, line, to.stride), column), offset);
      bool isOneLine = to.linesOfTerms == alongTerms;
      if (isOneLine && values > 1) {
        auto type = VectorType::get({values}, factor.getType());
        int64_t bytes = values * factor.getType().getIntOrFloatBitWidth() / 8;
        Value whole = vector::FromElementsOp::create(b, type, piece);
        vector::StoreOp::create(b, whole, to.memory, ValueRange{at}, /*nontemporal=*/false,
                                llvm::MaybeAlign(std::min(bytes, kAccessBytes)));
        continue;
      }
      for (auto [i, value] : llvm::enumerate(piece)) {
        int64_t step = int64_t(i) * (isOneLine ? 1 : to.stride);
        memref::StoreOp::create(b, value, to.memory, addIndex(b, at, indexConstant(b, step)));
      }
    }
  };
  if (isForAll())
    return write();
  kernel.onlyIf(isBelow(b, launch.thread(), pieces()), write);
}
