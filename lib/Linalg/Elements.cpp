#include "gantry/Linalg/Elements.h"

#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/LoopBuilder.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

using Predicate = arith::CmpIPredicate;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static constexpr auto kNoOverflow =
    arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw;

Value gantry::indexConstant(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

static std::optional<int64_t> knownIndex(Value v) { return getConstantIntValue(v); }

Value gantry::addIndex(ImplicitLocOpBuilder &b, Value x, Value y) {
  if (knownIndex(x) == 0)
    return y;
  return knownIndex(y) == 0 ? x : Value(arith::AddIOp::create(b, x, y, kNoOverflow));
}

Value gantry::mulIndex(ImplicitLocOpBuilder &b, Value x, int64_t factor) {
  return factor == 1 ? x
                     : Value(arith::MulIOp::create(b, x, indexConstant(b, factor), kNoOverflow));
}

Indices gantry::delinearize(ImplicitLocOpBuilder &b, Value linear, ArrayRef<int64_t> shape) {
  Indices indices(shape.size());
  Value rest = linear;
  int64_t outer = 0; // dimensions with more than one element, in front of the current one
  for (int64_t size : shape)
    outer += size != 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) {
      indices[i] = indexConstant(b, 0);
      continue;
    }
    if (--outer == 0) {
      indices[i] = rest;
      continue;
    }
    Value size = indexConstant(b, shape[i]);
    indices[i] = arith::RemUIOp::create(b, rest, size);
    rest = arith::DivUIOp::create(b, rest, size);
  }
  return indices;
}

Value gantry::linearize(ImplicitLocOpBuilder &b, ValueRange indices, ArrayRef<int64_t> shape) {
  Value linear = indexConstant(b, 0);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1)
      linear = addIndex(b, mulIndex(b, indices[i], stride), linear);
    stride *= shape[i];
  }
  return linear;
}

//===----------------------------------------------------------------------===//
// What is known where
//===----------------------------------------------------------------------===//

static std::pair<void *, std::vector<void *>> keyOf(Value tensor, ValueRange indices) {
  std::vector<void *> at;
  for (Value index : indices) {
    // Equal constants are one index, and odd, which no pointer is.
    std::optional<int64_t> known = knownIndex(index);
    at.push_back(known ? reinterpret_cast<void *>(*known * 2 + 1) : index.getAsOpaquePointer());
  }
  return {tensor.getAsOpaquePointer(), std::move(at)};
}

void Elements::provide(Value tensor, Load load) {
  provided[tensor.getAsOpaquePointer()] = std::move(load);
}

void Elements::forget() {
  provided.clear();
  for (auto &scope : scopes)
    scope.clear();
}

Value Elements::at(Value tensor, ValueRange indices) {
  Key key = keyOf(tensor, indices);
  for (auto &scope : llvm::reverse(scopes))
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  Value value = compute(tensor, indices);
  scopes.back()[key] = value;
  return value;
}

Elements::Region::Region(Elements &elements, Block *block) : elements(elements), guard(elements.b) {
  elements.b.setInsertionPointToEnd(block);
  elements.scopes.emplace_back();
}

Elements::Region::~Region() { elements.scopes.pop_back(); }

Value Elements::branch(Value condition, function_ref<Value()> then,
                       function_ref<Value()> otherwise) {
  // The type is known once a branch is there.
  scf::IfOp placeholder = scf::IfOp::create(b, TypeRange(), condition, /*withElseRegion=*/true);
  auto fill = [&](mlir::Region &region, function_ref<Value()> make) {
    region.front().getTerminator()->erase();
    Region inside(*this, &region.front());
    Value value = make();
    scf::YieldOp::create(b, value);
    return value.getType();
  };
  Type type = fill(placeholder.getThenRegion(), then);
  fill(placeholder.getElseRegion(), otherwise);
  auto typed = scf::IfOp::create(b, TypeRange(type), condition, /*withElseRegion=*/true);
  typed.getThenRegion().takeBody(placeholder.getThenRegion());
  typed.getElseRegion().takeBody(placeholder.getElseRegion());
  placeholder.erase();
  return typed.getResult(0);
}

//===----------------------------------------------------------------------===//
// Scalars in bodies
//===----------------------------------------------------------------------===//

Value Elements::scalarIn(Value v, IRMapping *inside) {
  if (inside && inside->contains(v))
    return inside->lookup(v);
  Operation *op = v.getDefiningOp();
  if (!op || isa<arith::ConstantOp>(op))
    return v;
  // Computed between tensor ops, from elements of some of them.
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Indices indices;
    for (Value index : extract.getIndices())
      indices.push_back(scalarIn(index, inside));
    return at(extract.getTensor(), indices);
  }
  Key key = keyOf(v, {});
  for (auto &scope : llvm::reverse(scopes))
    if (auto found = scope.find(key); found != scope.end())
      return found->second;
  IRMapping own;
  emitBody(*op, own, {});
  for (Value result : op->getResults())
    scopes.back()[keyOf(result, {})] = own.lookup(result);
  return own.lookup(v);
}

void Elements::emitBody(Operation &op, IRMapping &inside, ValueRange loops) {
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return inside.map(index.getResult(), loops[index.getDim()]);
  if (isa<tensor::ExtractOp>(op))
    return inside.map(op.getResult(0), scalarIn(op.getResult(0), &inside));
  for (Value operand : op.getOperands())
    if (!inside.contains(operand))
      inside.map(operand, scalarIn(operand, &inside));
  if (op.getNumRegions() == 0) {
    b.clone(op, inside);
    return;
  }
  // The regions of scf.if and scf.for: op by op, since they may read elements as well.
  Operation *copy = b.insert(op.cloneWithoutRegions(inside));
  for (auto [from, to] : llvm::zip(op.getRegions(), copy->getRegions()))
    for (Block &block : from) {
      Block *target = &to.emplaceBlock();
      for (BlockArgument argument : block.getArguments())
        inside.map(argument, target->addArgument(argument.getType(), argument.getLoc()));
      Region nested(*this, target);
      for (Operation &inner : block)
        emitBody(inner, inside, loops);
    }
  inside.map(op.getResults(), copy->getResults());
}

//===----------------------------------------------------------------------===//
// linalg.generic
//===----------------------------------------------------------------------===//

static Indices applyMap(ImplicitLocOpBuilder &b, AffineMap map, ValueRange loops) {
  Indices indices;
  for (AffineExpr expr : map.getResults()) {
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      indices.push_back(loops[dim.getPosition()]);
    else if (auto constant = dyn_cast<AffineConstantExpr>(expr))
      indices.push_back(indexConstant(b, constant.getValue()));
    else
      indices.push_back(affine::expandAffineExpr(b, b.getLoc(), expr, loops, {}));
  }
  return indices;
}

void Elements::mapInput(linalg::GenericOp op, OpOperand &input, ValueRange loops,
                        IRMapping &inside) {
  AffineMap map = op.getMatchingIndexingMap(&input);
  inside.map(op.getMatchingBlockArgument(&input), isa<ShapedType>(input.get().getType())
                                                      ? at(input.get(), applyMap(b, map, loops))
                                                      : scalar(input.get()));
}

Value Elements::inBody(linalg::GenericOp op, Value v, ValueRange loops, IRMapping inside) {
  llvm::SmallPtrSet<Operation *, 8> needed;
  SmallVector<Value> open{v};
  while (!open.empty()) {
    Value next = open.pop_back_val();
    auto argument = dyn_cast<BlockArgument>(next);
    if (argument && argument.getOwner() == op.getBody()) {
      if (!inside.contains(next))
        mapInput(op, op->getOpOperand(argument.getArgNumber()), loops, inside);
    } else if (Operation *by = next.getDefiningOp(); by && by->getBlock() == op.getBody()) {
      if (needed.insert(by).second)
        llvm::append_range(open, by->getOperands());
    }
  }
  for (Operation &inner : op.getBody()->without_terminator())
    if (needed.contains(&inner))
      emitBody(inner, inside, loops);
  return scalarIn(v, &inside);
}

SmallVector<Value> Elements::step(linalg::GenericOp op, ValueRange loops, ValueRange soFar) {
  IRMapping inside;
  Block *body = op.getBody();
  for (OpOperand *input : op.getDpsInputOperands())
    if (!op.getMatchingBlockArgument(input).use_empty())
      mapInput(op, *input, loops, inside);
  for (auto [argument, value] : llvm::zip(op.getRegionOutputArgs(), soFar))
    inside.map(argument, value);
  for (Operation &inner : body->without_terminator())
    emitBody(inner, inside, loops);
  SmallVector<Value> results;
  for (Value yielded : body->getTerminator()->getOperands())
    results.push_back(scalarIn(yielded, &inside));
  return results;
}

SmallVector<Value> Elements::start(linalg::GenericOp op, ValueRange loops) {
  SmallVector<Value> values;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    // What no body reads needs no value; a generic without reductions often does not.
    if (op.getMatchingBlockArgument(&init).use_empty())
      values.push_back(Value());
    else
      values.push_back(at(init.get(), applyMap(b, map, loops)));
  }
  return values;
}

SmallVector<Value> Elements::reduce(linalg::GenericOp op, ValueRange loops) {
  SmallVector<Value> at(loops.begin(), loops.end());
  SmallVector<unsigned> reducing;
  for (auto [d, loop] : llvm::enumerate(at))
    if (!loop)
      reducing.push_back(d);
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  std::function<SmallVector<Value>(size_t, ValueRange)> run = [&](size_t level, ValueRange soFar) {
    if (level == reducing.size())
      return step(op, at, soFar);
    unsigned d = reducing[level];
    if (sizes[d] == 1) {
      at[d] = indexConstant(b, 0);
      return run(level + 1, soFar);
    }
    return LoopBuilder(b, this).loop(0, sizes[d], 1, soFar, [&](Value i, ValueRange inner) {
      at[d] = i;
      return run(level + 1, inner);
    });
  };
  SmallVector<Value> first = start(op, at);
  if (reducing.empty())
    return step(op, at, first);
  // An unused start has no value to carry along.
  for (auto [value, argument] : llvm::zip(first, op.getRegionOutputArgs()))
    if (!value)
      value = arith::ConstantOp::create(b, b.getZeroAttr(argument.getType()));
  return run(0, first);
}

/// Loops from the indices of a result: its map takes each parallel loop to a dimension.
static Indices loopsOf(linalg::GenericOp op, unsigned result, ValueRange indices) {
  Indices loops(op.getNumLoops());
  AffineMap map = op.getIndexingMapMatchingResult(op->getResult(result));
  for (auto [expr, index] : llvm::zip(map.getResults(), indices))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      loops[dim.getPosition()] = index;
  return loops;
}

Value Elements::generic(linalg::GenericOp op, unsigned result, ValueRange indices) {
  SmallVector<Value> values = reduce(op, loopsOf(op, result, indices));
  // The others are known now as well.
  for (auto [i, value] : llvm::enumerate(values))
    if (op.getIndexingMapMatchingResult(op->getResult(i)) ==
        op.getIndexingMapMatchingResult(op->getResult(result)))
      scopes.back()[keyOf(op->getResult(i), indices)] = value;
  return values[result];
}

void Elements::prepare(Value tensor, ValueRange indices, const DenseSet<Value> &late) {
  if (!late.contains(tensor)) {
    at(tensor, indices);
    return;
  }
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0)
    return;
  Indices loops = loopsOf(op, cast<OpResult>(tensor).getResultNumber(), indices);
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<ShapedType>(input->get().getType()))
      prepare(input->get(), applyMap(b, op.getMatchingIndexingMap(input), loops), late);
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

Value Elements::collapsed(tensor::CollapseShapeOp op, ValueRange indices) {
  ArrayRef<int64_t> source = shapeOf(op.getSrc());
  Indices at;
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    SmallVector<int64_t> sizes;
    for (int64_t d : group)
      sizes.push_back(source[d]);
    llvm::append_range(at, delinearize(b, indices[i], sizes));
  }
  // To a scalar: all dimensions have one element.
  while (at.size() < source.size())
    at.push_back(indexConstant(b, 0));
  return this->at(op.getSrc(), at);
}

Value Elements::expanded(tensor::ExpandShapeOp op, ValueRange indices) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  Indices at;
  for (const auto &group : op.getReassociationIndices()) {
    SmallVector<int64_t> sizes;
    Indices inner;
    for (int64_t d : group) {
      sizes.push_back(shape[d]);
      inner.push_back(indices[d]);
    }
    at.push_back(linearize(b, inner, sizes));
  }
  return this->at(op.getSrc(), at);
}

Value Elements::indexOf(OpFoldResult index) {
  if (std::optional<int64_t> known = getConstantIntValue(index))
    return indexConstant(b, *known);
  return scalar(cast<Value>(index));
}

Value Elements::extracted(tensor::ExtractSliceOp op, ValueRange indices) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Indices at;
  size_t next = 0;
  for (auto [d, offset, stride] : llvm::enumerate(op.getMixedOffsets(), op.getMixedStrides())) {
    Value start = indexOf(offset);
    at.push_back(
        dropped[d] ? start
                   : addIndex(b, mulIndex(b, indices[next], *getConstantIntValue(stride)), start));
    next += !dropped[d];
  }
  return this->at(op.getSource(), at);
}

Value Elements::inserted(tensor::InsertSliceOp op, ValueRange indices) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  Indices at;
  Value isInside;
  auto need = [&](Value condition) {
    isInside = isInside ? arith::AndIOp::create(b, isInside, condition).getResult() : condition;
  };
  ArrayRef<int64_t> whole = shapeOf(op.getDest());
  for (auto [d, offset, size, stride] :
       llvm::enumerate(op.getMixedOffsets(), op.getMixedSizes(), op.getMixedStrides())) {
    int64_t step = *getConstantIntValue(stride), count = *getConstantIntValue(size);
    Value rest = indices[d];
    if (getConstantIntValue(offset) != 0 || step != 1 || count != whole[d]) {
      // Below the start the difference is huge, as an unsigned number.
      rest = arith::SubIOp::create(b, indices[d], indexOf(offset));
      need(
          arith::CmpIOp::create(b, Predicate::ult, rest, indexConstant(b, (count - 1) * step + 1)));
      if (step != 1) {
        Value by = indexConstant(b, step);
        Value over = arith::RemUIOp::create(b, rest, by);
        need(arith::CmpIOp::create(b, Predicate::eq, over, indexConstant(b, 0)));
        rest = arith::DivUIOp::create(b, rest, by);
      }
    }
    if (!dropped[d])
      at.push_back(rest);
  }
  if (!isInside)
    return this->at(op.getSource(), at);
  return branch(
      isInside, [&] { return this->at(op.getSource(), at); },
      [&] { return this->at(op.getDest(), indices); });
}

/// A single element.
Value Elements::replaced(tensor::InsertOp op, ValueRange indices) {
  Value isIt;
  for (auto [index, place] : llvm::zip(indices, op.getIndices())) {
    Value same = arith::CmpIOp::create(b, Predicate::eq, index, scalar(place));
    isIt = isIt ? arith::AndIOp::create(b, isIt, same).getResult() : same;
  }
  if (!isIt)
    return scalar(op.getScalar());
  return branch(
      isIt, [&] { return scalar(op.getScalar()); },
      [&] { return this->at(op.getDest(), indices); });
}

Value Elements::padded(tensor::PadOp op, ValueRange indices) {
  Indices at;
  Value isInside;
  for (auto [d, low] : llvm::enumerate(op.getMixedLowPad())) {
    int64_t size = shapeOf(op.getSource())[d];
    if (getConstantIntValue(low) == 0 && size == shapeOf(op.getResult())[d]) {
      at.push_back(indices[d]);
      continue;
    }
    at.push_back(arith::SubIOp::create(b, indices[d], indexOf(low)));
    Value inside = arith::CmpIOp::create(b, Predicate::ult, at.back(), indexConstant(b, size));
    isInside = isInside ? arith::AndIOp::create(b, isInside, inside).getResult() : inside;
  }
  Value border = op.getConstantPaddingValue();
  if (!isInside)
    return this->at(op.getSource(), at);
  return branch(
      isInside, [&] { return this->at(op.getSource(), at); }, [&] { return scalar(border); });
}

/// The piece that the index lies in, by halves.
Value Elements::joined(tensor::ConcatOp op, ValueRange indices) {
  unsigned axis = op.getDim();
  SmallVector<int64_t> starts;
  int64_t total = 0;
  for (Value piece : op.getInputs()) {
    starts.push_back(total);
    total += shapeOf(piece)[axis];
  }
  std::function<Value(size_t, size_t)> pick = [&](size_t first, size_t last) -> Value {
    if (last - first == 1) {
      Indices at(indices.begin(), indices.end());
      at[axis] = arith::SubIOp::create(b, at[axis], indexConstant(b, starts[first]));
      return this->at(op.getInputs()[first], at);
    }
    size_t middle = (first + last) / 2;
    Value isBefore =
        arith::CmpIOp::create(b, Predicate::ult, indices[axis], indexConstant(b, starts[middle]));
    return branch(
        isBefore, [&] { return pick(first, middle); }, [&] { return pick(middle, last); });
  };
  return pick(0, starts.size());
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

Value Elements::constant(arith::ConstantOp op, ValueRange indices) {
  auto elements = cast<DenseElementsAttr>(op.getValue());
  if (elements.isSplat() || elements.getNumElements() == 1)
    return arith::ConstantOp::create(b, cast<TypedAttr>(*elements.value_begin<Attribute>()));
  llvm_unreachable("tables are provided by whoever can keep them");
}

Value Elements::compute(Value tensor, ValueRange indices) {
  if (auto found = provided.find(tensor.getAsOpaquePointer()); found != provided.end())
    return found->second(indices);
  return TypeSwitch<Operation *, Value>(tensor.getDefiningOp())
      .Case([&](linalg::GenericOp op) {
        return generic(op, cast<OpResult>(tensor).getResultNumber(), indices);
      })
      .Case([&](linalg::FillOp op) { return scalar(op.value()); })
      .Case([&](tensor::EmptyOp op) -> Value {
        return arith::ConstantOp::create(b, b.getZeroAttr(op.getType().getElementType()));
      })
      .Case([&](arith::ConstantOp op) { return constant(op, indices); })
      .Case([&](tensor::CollapseShapeOp op) { return collapsed(op, indices); })
      .Case([&](tensor::ExpandShapeOp op) { return expanded(op, indices); })
      .Case([&](tensor::ExtractSliceOp op) { return extracted(op, indices); })
      .Case([&](tensor::InsertSliceOp op) { return inserted(op, indices); })
      .Case([&](tensor::InsertOp op) { return replaced(op, indices); })
      .Case([&](tensor::PadOp op) { return padded(op, indices); })
      .Case([&](tensor::ConcatOp op) { return joined(op, indices); });
}
