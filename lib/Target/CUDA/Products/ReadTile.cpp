// How a thread reads, or computes, its elements of a tile (FillTile.h).

#include "FillTile.h"

#include "StoreAccumulators.h"
#include "gantry/Linalg/Emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Numbers of an entry, entries of a table, and what is added to a place far from any image.
static constexpr int64_t kMostNumbers = 4, kMostOfTable = 4096;
static constexpr int32_t kFarOutside = 1 << 30;

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

static Value zeroOf(ImplicitLocOpBuilder &b, Type type) {
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

/// A piece travels as a vector, so that numbers of 16 bits share registers.
SmallVector<Value> FillTile::where(Value condition, size_t pieces,
                                   function_ref<SmallVector<Value>()> read,
                                   function_ref<Value(Type)> otherwise) {
  if (!condition)
    return read();
  ImplicitLocOpBuilder &b = launch.builder();
  Type own = values == 1 ? factor.getType() : VectorType::get({values}, factor.getType());
  auto branch = scf::IfOp::create(b, TypeRange(SmallVector<Type>(pieces, own)), condition,
                                  /*withElseRegion=*/true);
  {
    Elements::Region inside(kernel.elements(), branch.thenBlock());
    SmallVector<Value> all = read(), packed;
    for (size_t i = 0; i < pieces; ++i)
      packed.push_back(values == 1 ? all[i]
                                   : Value(vector::FromElementsOp::create(
                                         b, own, ArrayRef(all).slice(i * values, values))));
    scf::YieldOp::create(b, packed);
  }
  {
    Elements::Region inside(kernel.elements(), branch.elseBlock());
    scf::YieldOp::create(b, SmallVector<Value>(pieces, otherwise(own)));
  }
  SmallVector<Value> unpacked;
  for (Value piece : branch.getResults()) {
    if (values == 1)
      unpacked.push_back(piece);
    else
      llvm::append_range(unpacked, vector::ToElementsOp::create(b, piece).getResults());
  }
  return unpacked;
}

//===----------------------------------------------------------------------===//
// Rows and terms
//===----------------------------------------------------------------------===//

/// The row of the op that this thread reads; behind the last one it is that one, whose sums nobody
/// wants.
Value FillTile::rowAt(int64_t offset) {
  ImplicitLocOpBuilder &b = launch.builder();
  int64_t rows = product.count(loops);
  Value row = addIndex(b, first, addIndex(b, threadRow, indexConstant(b, offset)));
  if (rows % extent != 0)
    row = arith::MinUIOp::create(b, row, indexConstant(b, rows - (alongK ? 1 : values)));
  return row;
}

/// The term; those behind the last one are zero, which `isInK` says where there are such.
Value FillTile::placeK(Value atK, int64_t offset, Value &isInK) {
  ImplicitLocOpBuilder &b = launch.builder();
  int64_t sizeK = product.count(product.k);
  Value k = addIndex(b, atK, addIndex(b, threadK, indexConstant(b, offset)));
  if (sizeK % depth != 0) {
    isInK = isBelow(b, k, sizeK);
    k = arith::MinUIOp::create(b, k, indexConstant(b, sizeK - (alongK ? values : 1)));
  }
  return k;
}

/// Zeros where there is no term.
static Value whereInK(ImplicitLocOpBuilder &b, Value isInK, Value value) {
  if (!isInK)
    return value;
  return arith::SelectOp::create(b, isInK, value, zeroOf(b, value.getType()));
}

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

Value FillTile::compute(int64_t turn, Value atK) {
  ImplicitLocOpBuilder &b = launch.builder();
  linalg::GenericOp op = product.op;
  Value isInK, k = placeK(atK, offsetOf(turn, true), isInK);
  SmallVector<Value> at(op.getNumLoops());
  auto place = [&](ArrayRef<unsigned> list, ValueRange indices) {
    for (auto [loop, index] : llvm::zip(list, indices))
      at[loop] = index;
  };
  place(product.batch, batch);
  place(loops, delinearize(b, rowAt(offsetOf(turn, false)), product.sizes(loops)));
  place(product.k, delinearize(b, k, product.sizes(product.k)));
  return whereInK(b, isInK, kernel.elements().inBody(op, factor, at));
}

SmallVector<Value> FillTile::computeAll(Value atK) {
  SmallVector<Value> computed;
  for (int64_t turn = 0; turn < turns(); ++turn)
    computed.push_back(compute(turn, atK));
  return computed;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Where a row begins, in the matrix of this block.
Spot FillTile::spotOfRow(int64_t offset) {
  ImplicitLocOpBuilder &b = launch.builder();
  linalg::GenericOp op = product.op;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  Spot spot = spotOf(*rowWalk, rowAt(offset));
  for (auto [loop, index] : llvm::zip(product.batch, batch))
    for (const Walk::Loop &own : Walk(*places, sizes, {loop}).loops)
      spot.move(b, own, index);
  spot.start(b, *places);
  return spot;
}

/// Where the number `index` of a walk is.
Spot FillTile::spotOf(const Walk &walk, Value index) {
  ImplicitLocOpBuilder &b = launch.builder();
  Spot spot(places->borders.size());
  auto sizes = llvm::map_to_vector(walk.loops, [](const Walk::Loop &loop) { return loop.size; });
  for (auto [loop, own] : llvm::zip(walk.loops, delinearize(b, index, sizes)))
    spot.move(b, loop, own);
  return spot;
}

/// Whether all terms of a round differ in the last loop only.
bool FillTile::isEven() const { return walkOfK->last().size % depth == 0; }

/// Where each term is, and what borders ask of it, as a table: for images of few channels, a round
/// of which has many places of the window. Behind the last term is outside of the image.
void FillTile::makeTable() {
  ImplicitLocOpBuilder &b = launch.builder();
  size_t borders = places->borders.size();
  // In the last round the next one is looked up, too, though not read.
  int64_t sizeK = int64_t(llvm::alignTo(product.count(product.k), depth)) + depth;
  if (isEven() || walkOfK->loops.size() <= 1 || borders >= kMostNumbers || sizeK > kMostOfTable ||
      ShapedType::getNumElements(shapeOf(places->argument)) >= kFarOutside)
    return;
  int64_t numbers = int64_t(llvm::PowerOf2Ceil(1 + borders));
  SmallVector<int32_t> elements(sizeK * numbers, 0);
  for (int64_t atK = 0; atK < sizeK; ++atK) {
    int32_t *own = &elements[atK * numbers];
    int64_t rest = atK;
    for (const Walk::Loop &loop : llvm::reverse(walkOfK->loops)) {
      int64_t index = rest % loop.size;
      rest /= loop.size;
      own[0] += int32_t(index * loop.step);
      for (size_t i = 0; i < borders; ++i)
        own[1 + i] += int32_t(index * loop.borders[i]);
    }
    if (rest > 0)
      std::fill(own + 1, own + 1 + borders, kFarOutside);
  }
  auto type = RankedTensorType::get({int64_t(elements.size())}, b.getI32Type());
  table = kernel.makeTable(DenseElementsAttr::get(type, ArrayRef<int32_t>(elements)));
}

Spot FillTile::spotInTable(Value atK) {
  ImplicitLocOpBuilder &b = launch.builder();
  Spot spot(places->borders.size());
  int64_t numbers = int64_t(llvm::PowerOf2Ceil(1 + spot.borders.size()));
  Value entry = vector::LoadOp::create(b, VectorType::get({numbers}, b.getI32Type()), table,
                                       ValueRange{mulIndex(b, atK, numbers)},
                                       /*nontemporal=*/false, llvm::MaybeAlign(4 * numbers));
  auto number = [&](int64_t i) -> Value {
    Value own = vector::ExtractOp::create(b, entry, i);
    return arith::IndexCastOp::create(b, b.getIndexType(), own);
  };
  spot.address = number(0);
  for (auto [i, border] : llvm::enumerate(spot.borders))
    border = number(1 + int64_t(i));
  return spot;
}

/// Of what the op makes of an element.
Value FillTile::factorOf(Value element) {
  linalg::GenericOp op = product.op;
  for (linalg::GenericOp body : places->bodies) {
    IRMapping known;
    for (auto [operand, argument] : llvm::zip(body.getDpsInputs(), body.getRegionInputArgs()))
      if (operand.getType() == body->getResult(0).getType())
        known.map(argument, element);
    Value made = body.getBody()->getTerminator()->getOperand(0);
    element = kernel.elements().inBody(body, made, SmallVector<Value>(body.getNumLoops()), known);
  }
  IRMapping known;
  known.map(op.getMatchingBlockArgument(side.operand), element);
  return kernel.elements().inBody(op, factor, SmallVector<Value>(op.getNumLoops()), known);
}

/// A piece that begins at `address`, its terms each a step of the last loop apart.
SmallVector<Value> FillTile::readPiece(Value address) {
  ImplicitLocOpBuilder &b = launch.builder();
  SmallVector<Value> piece;
  bool isLine = !lanesAlongRows || !alongK;
  if (values > 1 && isLine) {
    auto type = VectorType::get({values}, elementOf(side.operand->get()));
    Value whole =
        vector::LoadOp::create(b, type, memory, ValueRange{address},
                               /*nontemporal=*/false, llvm::MaybeAlign(values * bytesOfElement()));
    llvm::append_range(piece, vector::ToElementsOp::create(b, whole).getResults());
  } else {
    for (int64_t i = 0; i < values; ++i)
      piece.push_back(memref::LoadOp::create(
          b, memory, addIndex(b, address, indexConstant(b, i * walkOfK->last().step))));
  }
  for (Value &value : piece)
    value = factorOf(value);
  return piece;
}

FillTile::Reach FillTile::reachOf(const Spot &row, ArrayRef<int64_t> turns, Value atK) {
  ImplicitLocOpBuilder &b = launch.builder();
  Value isInK, isInside;
  Spot spot = row;
  if (isEven()) {
    // One place for all, from which each is a constant away.
    spot.add(b, spotOf(*walkOfK, atK));
    spot.move(b, {depth, walkOfK->last().step, {}}, threadK);
  } else if (int64_t offset = offsetOf(turns.front(), true); table) {
    Value k = addIndex(b, atK, addIndex(b, threadK, indexConstant(b, offset)));
    int64_t sizeK = product.count(product.k);
    if (sizeK % depth != 0)
      isInK = isBelow(b, k, sizeK);
    spot.add(b, spotInTable(k));
  } else {
    spot.add(b, spotOf(*walkOfK, placeK(atK, offset, isInK)));
  }
  for (auto [border, index] : llvm::zip(places->borders, spot.borders)) {
    Value isBetween = isBelow(b, index, border.size);
    isInside = isInside ? arith::AndIOp::create(b, isInside, isBetween).getResult() : isBetween;
  }
  return {spot, isInK, isInside};
}

int64_t FillTile::distanceOf(int64_t turn) const {
  return isEven() ? offsetOf(turn, true) * walkOfK->last().step : 0;
}

/// Pieces of one row; outside of the image they are what is there.
SmallVector<Value> FillTile::readRow(const Spot &row, ArrayRef<int64_t> turns, Value atK) {
  ImplicitLocOpBuilder &b = launch.builder();
  auto [spot, isInK, isInside] = reachOf(row, turns, atK);
  // Behind the last term the table is outside of the image.
  bool isOutside = table && !places->borders.empty();
  auto read = [&, address = spot.address, isInK = isInK] {
    SmallVector<Value> loaded;
    for (int64_t turn : turns)
      for (Value value : readPiece(addIndex(b, address, indexConstant(b, distanceOf(turn)))))
        loaded.push_back(isOutside ? value : whereInK(b, isInK, value));
    return loaded;
  };
  return where(isInside, turns.size(), read, [&, isInK = isInK](Type type) -> Value {
    Value outside = whereInK(b, isInK, factorOf(kernel.elements().scalar(places->outside)));
    return values == 1 ? outside : Value(vector::BroadcastOp::create(b, type, outside));
  });
}

/// Those of one row are read together where they can.
FillTile::Groups FillTile::groupsOfTurns() const {
  Groups groups;
  for (int64_t turn = 0; turn < turns(); ++turn)
    groups[{offsetOf(turn, false), isEven() ? 0 : turn}].push_back(turn);
  return groups;
}

/// In the order of turns.
SmallVector<Value> FillTile::readAll(Value atK) {
  SmallVector<Value> all(turns() * values);
  for (auto &[key, group] : groupsOfTurns()) {
    SmallVector<Value> loaded = readRow(spots.find(key.first)->second, group, atK);
    for (auto [i, turn] : llvm::enumerate(group))
      llvm::copy(ArrayRef(loaded).slice(i * values, values), all.begin() + turn * values);
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Either
//===----------------------------------------------------------------------===//

SmallVector<Value> FillTile::load(Value atK, Value condition) {
  ImplicitLocOpBuilder &b = launch.builder();
  if (!isForAll()) {
    Value isMine = isBelow(b, launch.thread(), pieces());
    condition = condition ? arith::AndIOp::create(b, condition, isMine).getResult() : isMine;
  }
  // What else there is nobody stores.
  return where(
      condition, size_t(turns()), [&] { return places ? readAll(atK) : computeAll(atK); },
      [&](Type type) -> Value { return LLVM::UndefOp::create(b, type); });
}
