// Branches and loops: results and carried values are buffers, written by copies or by what makes
// the values; see FunctionLowering.h.

#include "FunctionLowering.h"

#include "Overwrite.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

LogicalResult FunctionLowering::lowerRegion(Region &source, Region &target,
                                            function_ref<void(ValueRange)> finish) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(target.empty() ? builder.createBlock(&target) : &target.front());
  if (failed(lowerBlock(source.front())))
    return failure();
  finish(source.front().getTerminator()->getOperands());
  return success();
}

LogicalResult FunctionLowering::lowerIf(IfOp op) {
  Value condition = bufferOf(op.getCondition(), state.host(), nameOf(op));
  SmallVector<Value> results;
  for (Value result : op.getResults())
    results.push_back(bufferOf(result, 0, ""));
  for (Region *region : {&op.getThenBody(), &op.getElseBody()})
    makeIn(*region, results);
  auto branch = plan::ir::IfOp::create(builder, op.getLoc(), condition);
  if (Attribute library = op->getAttr(kLibraryAttr))
    branch->setAttr(kLibraryAttr, library);
  auto finish = [&](ValueRange yielded) {
    for (auto [value, result] : llvm::zip(yielded, results))
      copyTo(bufferOf(value, places.at(result), nameOf(op)), result, op.getLoc(), nameOf(op),
             nameOf(op));
  };
  if (failed(lowerRegion(op.getThenBody(), branch.getThenBody(), finish)) ||
      failed(lowerRegion(op.getElseBody(), branch.getElseBody(), finish)))
    return failure();
  giveConditions(branch, [&](unsigned device) {
    if (skipViews(op.getCondition()).getDefiningOp<ConstantOp>())
      return bufferOf(op.getCondition(), device, nameOf(op));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(branch);
    Value copy = makeBuffer(op.getCondition().getType(), text("condition"), op.getLoc(), device, 1);
    copyTo(condition, copy, op.getLoc(), text("condition"), nameOf(op));
    return copy;
  });
  return success();
}

LogicalResult FunctionLowering::lowerWhile(WhileOp op) {
  SmallVector<Value> carried;
  for (auto [init, result] : llvm::zip(op.getInits(), op.getResults())) {
    Value buffer = bufferOf(result, 0, "");
    carried.push_back(buffer);
    copyTo(bufferOf(init, places.at(buffer), nameOf(op)), buffer, op.getLoc(), nameOf(op),
           nameOf(op));
  }
  for (Region *region : {&op.getConditionBody(), &op.getBody()})
    for (auto [argument, buffer] : llvm::zip(region->getArguments(), carried))
      buffers[argument] = buffer;
  carryInPlace(op.getBody().front(), carried);
  Type flagType = RankedTensorType::get({}, builder.getI1Type());
  Value flag = makeBuffer(flagType, text("condition"), op.getLoc(), state.host(), 1);
  makeIn(op.getConditionBody(), flag);
  auto loop = plan::ir::WhileOp::create(builder, op.getLoc(), flag,
                                        op->getAttrOfType<IntegerAttr>(kTripsAttr));
  auto test = [&](ValueRange yielded) {
    copyTo(bufferOf(yielded[0], state.host(), nameOf(op)), flag, op.getLoc(), text("condition"),
           nameOf(op));
  };
  auto next = [&](ValueRange yielded) { carry(op, yielded, carried); };
  if (failed(lowerRegion(op.getConditionBody(), loop.getConditionBody(), test)) ||
      failed(lowerRegion(op.getBody(), loop.getBody(), next)))
    return failure();
  giveConditions(loop, [&](unsigned device) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop);
    Value copy = makeBuffer(flagType, text("condition"), op.getLoc(), device, 1);
    builder.setInsertionPointToEnd(&loop.getConditionBody().front());
    copyTo(flag, copy, op.getLoc(), text("condition"), nameOf(op));
    return copy;
  });
  return success();
}

bool FunctionLowering::mayBeMadeIn(Value root, Block &block, Value buffer) {
  Operation *maker = root.getDefiningOp();
  return isa_and_present<LaunchOp, CopyOp, AllReduceOp>(maker) && maker->getBlock() == &block &&
         !buffers.contains(root) && makerDevice(root) == places.at(buffer);
}

void FunctionLowering::makeIn(Region &region, ArrayRef<Value> wanted) {
  for (auto [value, buffer] : llvm::zip(region.front().getTerminator()->getOperands(), wanted))
    if (Value root = skipViews(value); mayBeMadeIn(root, region.front(), buffer))
      buffers[root] = buffer;
}

void FunctionLowering::carryInPlace(Block &body, ArrayRef<Value> carried) {
  for (auto [argument, buffer, value] :
       llvm::zip(body.getArguments(), carried, body.getTerminator()->getOperands())) {
    Value root = skipViews(value);
    if (mayBeMadeIn(root, body, buffer) && !readerBehind(argument, cast<OpResult>(root), state))
      buffers[root] = buffer;
  }
}

void FunctionLowering::carry(WhileOp op, ValueRange yielded, ArrayRef<Value> carried) {
  SmallVector<Value> next;
  DenseSet<Value> overwritten(carried.begin(), carried.end());
  for (auto [value, buffer] : llvm::zip(yielded, carried)) {
    Value source = bufferOf(value, places.at(buffer), nameOf(op));
    if (source != buffer && overwritten.contains(source)) {
      Value safe = makeBuffer(value.getType(), text("next"), op.getLoc(), places.at(buffer),
                              byteSize(value.getType()));
      copyTo(source, safe, op.getLoc(), text("next"), nameOf(op));
      source = safe;
    }
    next.push_back(source);
  }
  for (auto [source, buffer] : llvm::zip(next, carried))
    copyTo(source, buffer, op.getLoc(), nameOf(op), nameOf(op));
}
