// What goes between tasks: messages, collectives, and conditions, each as the parts of its members
// side by side; see FunctionLowering.h.
//
// Parts stand in the order of the members wherever an exchange stands, and each task does its own
// in the order of the plan. So there is an order in which all of them can happen.

#include "FunctionLowering.h"

#include "gantry/Analysis/Segments.h"

#include <set>

using namespace mlir;
using namespace gantry;
using namespace gantry::schedule;

void FunctionLowering::makePart(Location loc, FlatSymbolRefAttr exchange, unsigned rank,
                                Value source, Value target, StringAttr name) {
  const int64_t queue = source && target ? kCollectiveQueue : source ? kSendQueue : kReceiveQueue;
  plan::ir::PartOp::create(builder, loc, builder.getI64IntegerAttr(rank), exchange, source, target,
                           state.symbolOf(places.at(source ? source : target)),
                           builder.getI64IntegerAttr(queue), name, text(describeLocation(loc)));
}

void FunctionLowering::sendTo(Value source, Value target, Location loc, StringAttr name,
                              StringRef cause) {
  const int64_t size = static_cast<int64_t>(sizeOf(target));
  FlatSymbolRefAttr exchange = state.declareExchange(
      loc, ExchangeKind::Message, {places.at(source), places.at(target)}, size, {}, cause, name);
  makePart(loc, exchange, 0, source, Value(), name);
  makePart(loc, exchange, 1, Value(), target, name);
}

LogicalResult FunctionLowering::lowerExchange(ExchangeOp op) {
  auto devices = llvm::map_to_vector(op.getDevices().getAsRange<DeviceAttr>(),
                                     [&](DeviceAttr device) { return state.device(device); });
  SmallVector<Value> sources(devices.size()), targets(devices.size());
  for (OpOperand &operand : op->getOpOperands()) {
    const unsigned member = op.getMemberOfOperand(operand.getOperandNumber());
    sources[member] = bufferOf(operand.get(), devices[member], nameOf(op));
    if (places.at(sources[member]) != devices[member])
      return op.emitOpError() << "has what member " << member
                              << " brings on another device; Copy was to bring it there";
  }
  for (OpResult result : op->getResults())
    targets[op.getMemberOfResult(result.getResultNumber())] = bufferOf(result, 0, "");
  const auto element = cast<RankedTensorType>(op.getValues().front().getType()).clone({1});
  SmallVector<int64_t> sizes;
  for (int64_t size : op.getSizes())
    sizes.push_back(size * int64_t(byteSize(element)));
  FlatSymbolRefAttr exchange = state.declareExchange(op.getLoc(), op.getKind(), devices, sizes,
                                                     op.getRowsAttr(), "", nameOf(op));
  for (auto [rank, source, target] : llvm::enumerate(sources, targets))
    makePart(op.getLoc(), exchange, rank, source, target, nameOf(op));
  return success();
}

SmallVector<unsigned> FunctionLowering::tasksIn(Operation *op) {
  std::set<unsigned> tasks;
  op->walk([&](Operation *inner) {
    if (isCommand(inner))
      tasks.insert(state.taskOf(cast<FlatSymbolRefAttr>(schedule::queueOf(inner).first)));
    else if (inner != op && isa<plan::ir::IfOp, plan::ir::WhileOp, plan::ir::ConditionsOp>(inner))
      for (Value condition : inner->getOperands())
        tasks.insert(state.taskOf(places.at(condition)));
  });
  return {tasks.begin(), tasks.end()};
}

void FunctionLowering::giveConditions(Operation *op, function_ref<Value(unsigned)> copy) {
  if (!messages)
    return;
  const Value own = op->getOperand(0);
  const unsigned home = state.taskOf(state.host());
  SmallVector<Value> conditions;
  for (unsigned task : tasksIn(op))
    conditions.push_back(task == home ? own : copy(state.hostOfTask(task)));
  if (conditions.empty())
    return;
  op->setOperand(0, conditions.front());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  if (conditions.size() > 1)
    plan::ir::ConditionsOp::create(builder, op->getLoc(), ArrayRef(conditions).drop_front());
}
