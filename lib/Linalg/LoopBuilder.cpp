#include "gantry/Linalg/LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace gantry;

Value LoopBuilder::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }

void LoopBuilder::fill(Block *block, function_ref<Values()> body) {
  // One without values has its end already.
  if (!block->empty())
    block->back().erase();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(block);
  std::optional<Elements::Region> inside;
  if (elements)
    inside.emplace(*elements, block);
  scf::YieldOp::create(b, loc, body());
}

void LoopBuilder::loop(Value first, Value end, Value step, function_ref<void(Value)> body) {
  loop(first, end, step, ValueRange(), [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

LoopBuilder::Values LoopBuilder::loop(Value first, Value end, Value step, ValueRange carried,
                                      Round body) {
  auto loop = scf::ForOp::create(b, loc, first, end, step, carried);
  fill(loop.getBody(), [&] { return body(loop.getInductionVar(), loop.getRegionIterArgs()); });
  return Values(loop.getResults());
}

Value LoopBuilder::loop(Value first, Value end, Value step, Value carried,
                        function_ref<Value(Value, Value)> body) {
  return loop(first, end, step, ValueRange(carried),
              [&](Value i, ValueRange values) { return Values{body(i, values[0])}; })[0];
}

LoopBuilder::Values LoopBuilder::nest(ArrayRef<int64_t> shape, ValueRange carried,
                                      function_ref<Values(ValueRange, ValueRange)> body) {
  Values at;
  return nest(shape, at, carried, body);
}

LoopBuilder::Values LoopBuilder::nest(ArrayRef<int64_t> shape, Values &at, ValueRange carried,
                                      function_ref<Values(ValueRange, ValueRange)> body) {
  if (at.size() == shape.size())
    return body(at, carried);
  return loop(0, shape[at.size()], 1, carried, [&](Value i, ValueRange inner) {
    at.push_back(i);
    Values values = nest(shape, at, inner, body);
    at.pop_back();
    return values;
  });
}

void LoopBuilder::onlyIf(Value condition, function_ref<void()> then) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  fill(branch.thenBlock(), [&] { return then(), Values(); });
}

void LoopBuilder::choose(Value condition, function_ref<void()> then,
                         function_ref<void()> otherwise) {
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/true);
  fill(branch.thenBlock(), [&] { return then(), Values(); });
  fill(branch.elseBlock(), [&] { return otherwise(), Values(); });
}

Value LoopBuilder::choose(Value condition, function_ref<Value()> then, Value otherwise) {
  auto branch = scf::IfOp::create(b, loc, otherwise.getType(), condition, /*withElseRegion=*/true);
  fill(branch.thenBlock(), [&] { return Values{then()}; });
  fill(branch.elseBlock(), [&] { return Values{otherwise}; });
  return branch.getResult(0);
}

void LoopBuilder::forItems(ArrayRef<int64_t> sizes, function_ref<void(ValueRange)> body) {
  SmallVector<OpFoldResult> bounds;
  for (int64_t size : sizes)
    bounds.push_back(b.getIndexAttr(size));
  auto items = scf::ForallOp::create(b, loc, bounds, ValueRange(), std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(items.getTerminator());
  body(items.getInductionVars());
}
