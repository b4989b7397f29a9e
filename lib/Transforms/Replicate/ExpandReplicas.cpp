// Replaces replicated regions by the ops of the replicas.
//
// The replicas are cloned side by side, op by op, so that a collective finds the values of all of
// them. A replica with an empty shard gets only the ops that what it gives for itself needs: the new
// value of its mirror of a variable, say, which is all-reduced from the others.

#include "gantry/Device/DeviceName.h"
#include "gantry/Transforms/InferShapes.h"
#include "gantry/Transforms/Passes.h"
#include "gantry/Transforms/Shards.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDREPLICASPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// One replica in the making.
struct Replica {
  unsigned number;
  DeviceAttr device;
  Shard shard;
  bool isEmpty = false;
  IRMapping values;
};

/// One gantry.replicate on its way.
class Expansion {
public:
  explicit Expansion(ReplicateOp op) : op(op), builder(op) {}

  LogicalResult run() {
    if (failed(cut()))
      return failure();
    enter();
    collectNeeded();
    for (Operation &inner : op.getBody().front().without_terminator())
      if (failed(expand(inner)))
        return failure();
    return leave();
  }

private:
  LogicalResult cut();
  void enter();
  void collectNeeded();
  LogicalResult expand(Operation &inner);
  LogicalResult expandAllReduce(AllReduceOp reduce);
  LogicalResult cloneInto(Replica &replica, Operation &inner);
  void mark(Operation *clone, const Replica &replica);
  LogicalResult leave();
  FailureOr<Value> combine(ReplicaMode mode, Value yielded);
  Value slice(Value value, int64_t axis, Shard shard);
  Value weigh(const Replica &replica, Value value);

  /// Request for an op that no replica owns, on a device.
  void place(Operation *made, DeviceAttr device, const Twine &name) {
    if (device)
      made->setAttr(kDeviceAttr, device);
    made->setAttr(kOriginAttr, LocationAttr(op.getLoc()));
    if (auto own = op->getAttrOfType<StringAttr>(kNameAttr))
      made->setAttr(kNameAttr, builder.getStringAttr(own.getValue() + name));
  }

  DeviceAttr homeOf(Value value);
  DeviceAttr gatherDevice(OpResult result);

  ReplicateOp op;
  OpBuilder builder;
  SmallVector<Replica> replicas;
  DenseSet<Operation *> needed; ///< by replicas without a shard
  int64_t total = 0;            ///< rows of all shards
};
} // namespace

static DeviceAttr fullDevice(MLIRContext *context, StringRef text) {
  return DeviceAttr::get(context, DeviceName::parse(text.str())->str());
}

/// All inputs that are split are cut in the same way.
LogicalResult Expansion::cut() {
  size_t next = 0;
  std::optional<int64_t> size;
  for (auto text : op.getInputs().getAsRange<StringAttr>()) {
    ReplicaMode mode = *parseReplicaMode(text);
    if (mode.kind == ReplicaMode::split) {
      int64_t own = cast<RankedTensorType>(op.getValues()[next].getType()).getDimSize(mode.axis);
      if (ShapedType::isDynamic(own))
        return op.emitOpError() << "splits " << op.getValues()[next].getType() << " along axis "
                                << mode.axis << ", whose size is not known";
      if (size && *size != own)
        return op.emitOpError() << "splits inputs of " << *size << " and of " << own
                                << " rows; they need to be the same batch";
      size = own;
    }
    next += mode.kind == ReplicaMode::perReplica ? op.getDevices().size() : 1;
  }
  auto shards = cutIntoShards(size.value_or(0), op.getDevices().size(), op.getWeights());
  for (auto [i, text] : llvm::enumerate(op.getDevices().getAsRange<StringAttr>())) {
    replicas.push_back(
        {unsigned(i), fullDevice(op.getContext(), text.getValue()), shards[i], false, {}});
    replicas.back().isEmpty = size && shards[i].size == 0;
  }
  // Of an empty batch somebody has to make the empty results.
  if (llvm::all_of(replicas, [](const Replica &replica) { return replica.isEmpty; }))
    replicas.front().isEmpty = false;
  total = size.value_or(0);
  return success();
}

/// The device that a value is known to be on: that of an argument. Cutting it there copies no more
/// than the shards.
DeviceAttr Expansion::homeOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp())
                       : func::FuncOp();
  if (!func)
    return {};
  if (auto given = func.getArgAttrOfType<DeviceAttr>(argument.getArgNumber(), kDeviceAttr))
    return given;
  return fullDevice(op.getContext(), "CPU:0");
}

Value Expansion::slice(Value value, int64_t axis, Shard shard) {
  auto type = cast<RankedTensorType>(value.getType());
  if (shard.begin == 0 && shard.size == type.getDimSize(axis))
    return value;
  SmallVector<int64_t> starts(type.getRank(), 0), sizes(type.getShape()),
      steps(type.getRank(), 1);
  starts[axis] = shard.begin;
  sizes[axis] = shard.size;
  return SliceOp::create(builder, op.getLoc(), type.clone(sizes), value, starts, sizes, steps);
}

void Expansion::enter() {
  size_t next = 0;
  for (auto [text, argument] :
       llvm::zip(op.getInputs().getAsRange<StringAttr>(), op.getBody().getArguments())) {
    ReplicaMode mode = *parseReplicaMode(text);
    for (Replica &replica : replicas) {
      Value value = op.getValues()[next + (mode.kind == ReplicaMode::perReplica ? replica.number : 0)];
      if (mode.kind == ReplicaMode::split) {
        DeviceAttr home = homeOf(value);
        Value whole = value;
        value = slice(value, mode.axis, replica.shard);
        if (value != whole)
          place(value.getDefiningOp(), home,
                "/split_" + Twine(argument.getArgNumber()) + "/replica_" + Twine(replica.number));
      }
      replica.values.map(argument, value);
    }
    next += mode.kind == ReplicaMode::perReplica ? replicas.size() : 1;
  }
}

/// What a replica gives for itself, back to what it gets from the collectives.
void Expansion::collectNeeded() {
  SmallVector<Value> work;
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [text, value] :
       llvm::zip(op.getOutputs().getAsRange<StringAttr>(), yield->getOperands()))
    if (parseReplicaMode(text)->kind == ReplicaMode::perReplica)
      work.push_back(value);
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *maker = value.getDefiningOp();
    Operation *top = maker ? op.getBody().findAncestorOpInRegion(*maker) : nullptr;
    if (!top || isa<AllReduceOp>(top) || !needed.insert(top).second)
      continue;
    top->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
}

LogicalResult Expansion::expand(Operation &inner) {
  if (auto reduce = dyn_cast<AllReduceOp>(inner))
    return expandAllReduce(reduce);
  auto nested = inner.walk([&](AllReduceOp reduce) {
    reduce.emitOpError("is inside of control flow; replicas could disagree on whether it runs: "
                       "put it in the replicated region itself");
    return WalkResult::interrupt();
  });
  if (nested.wasInterrupted())
    return failure();
  for (Replica &replica : replicas)
    if ((!replica.isEmpty || needed.contains(&inner)) && failed(cloneInto(replica, inner)))
      return failure();
  return success();
}

LogicalResult Expansion::cloneInto(Replica &replica, Operation &inner) {
  Operation *clone = builder.clone(inner, replica.values);
  if (failed(inferTypesAgain(*clone)))
    return op.emitError() << "replica " << replica.number << ", with a shard of "
                          << replica.shard.size << " of " << total
                          << " rows, does not fit together; sizes inside must follow from the shard";
  auto result = clone->walk([&](Operation *made) {
    for (Type type : made->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type); tensor && !tensor.hasStaticShape()) {
        made->emitOpError() << "has the open shape " << tensor << " in replica " << replica.number
                            << "; sizes inside must follow from the shard";
        return WalkResult::interrupt();
      }
    mark(made, replica);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

/// Request, name and variable of an op of a replica. An op's own request is the inner one.
void Expansion::mark(Operation *made, const Replica &replica) {
  std::string suffix = "/replica_" + std::to_string(replica.number);
  if (auto variable = made->getAttrOfType<FlatSymbolRefAttr>(kVariableAttr); variable && replica.number)
    made->setAttr(kVariableAttr, FlatSymbolRefAttr::get(op.getContext(),
                                                        (variable.getValue() + suffix).str()));
  auto kernel = dyn_cast<KernelOpInterface>(made);
  if (!kernel)
    return;
  std::string name;
  if (auto own = made->getAttrOfType<StringAttr>(kNameAttr))
    name = own.str();
  else if (auto loc = dyn_cast<NameLoc>(made->getLoc()); loc && loc.getName() != "?")
    name = loc.getName().str();
  if (!name.empty())
    made->setAttr(kNameAttr, builder.getStringAttr(name + suffix));
  if (kernel.getFusionKind() == FusionKind::View && !made->hasAttr(kDeviceAttr))
    return;
  DeviceName request = *DeviceName::parse(replica.device.getSpelling().str());
  if (auto own = made->getAttrOfType<DeviceAttr>(kDeviceAttr)) {
    request = mergeScopes(request, *DeviceName::parse(own.getSpelling().str()));
  } else {
    made->setAttr(kOriginAttr, LocationAttr(op.getLoc()));
    if (Attribute soft = op->getAttr(kSoftAttr); soft && !made->hasAttr(kSoftAttr))
      made->setAttr(kSoftAttr, soft);
  }
  made->setAttr(kDeviceAttr, DeviceAttr::get(op.getContext(), request.str()));
}

/// Replicas without a shard have nothing to add; they take what the first one gets.
LogicalResult Expansion::expandAllReduce(AllReduceOp reduce) {
  SmallVector<Value> values;
  SmallVector<Attribute> devices;
  SmallVector<int64_t> weights;
  Value inside = reduce.getValues().front();
  for (Replica &replica : replicas) {
    if (replica.isEmpty)
      continue;
    values.push_back(replica.values.lookupOrDefault(inside));
    devices.push_back(builder.getStringAttr(replica.device.getSpelling()));
    weights.push_back(replica.shard.size);
  }
  bool isWeighted = reduce.getKind() == "mean" && total > 0;
  auto made = AllReduceOp::create(
      builder, reduce.getLoc(), TypeRange(ValueRange(values)), values, reduce.getKindAttr(),
      builder.getArrayAttr(devices),
      isWeighted ? builder.getDenseI64ArrayAttr(weights) : DenseI64ArrayAttr());
  if (auto name = reduce->getAttrOfType<StringAttr>(kNameAttr))
    made->setAttr(kNameAttr, name);
  made->setAttr(kOriginAttr, LocationAttr(op.getLoc()));
  size_t next = 0;
  for (Replica &replica : replicas)
    replica.values.map(reduce.getResult(0), made.getResult(replica.isEmpty ? 0 : next++));
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What is only returned is joined where the caller wants it.
DeviceAttr Expansion::gatherDevice(OpResult result) {
  auto func = op->getParentOfType<func::FuncOp>();
  DeviceAttr wanted;
  for (OpOperand &use : result.getUses()) {
    if (!isa<func::ReturnOp>(use.getOwner()))
      return replicas.front().device;
    wanted = func.getResultAttrOfType<DeviceAttr>(use.getOperandNumber(), kDeviceAttr);
    if (!wanted)
      wanted = fullDevice(op.getContext(), "CPU:0");
  }
  return wanted ? wanted : replicas.front().device;
}

/// A replica's mean, times its share of the batch.
Value Expansion::weigh(const Replica &replica, Value value) {
  auto count = llvm::count_if(replicas, [](const Replica &r) { return !r.isEmpty; });
  double share = total ? double(replica.shard.size) / double(total) : 1.0 / double(count);
  if (share == 1)
    return value;
  auto element = cast<FloatType>(cast<RankedTensorType>(value.getType()).getElementType());
  auto scalar = RankedTensorType::get({}, element);
  APFloat number(share);
  bool inexact;
  number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  Value factor = ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(scalar, number));
  auto product = MulOp::create(builder, op.getLoc(), value.getType(), value, factor);
  place(product, replica.device, "/share/replica_" + Twine(replica.number));
  return product;
}

FailureOr<Value> Expansion::combine(ReplicaMode mode, Value yielded) {
  SmallVector<Value> parts;
  bool isMean = mode.kind == ReplicaMode::mean;
  if (isMean && !isa<FloatType>(cast<RankedTensorType>(yielded.getType()).getElementType()))
    return op.emitOpError() << "takes the mean of " << yielded.getType()
                            << "; only floating-point numbers have one";
  for (Replica &replica : replicas)
    if (!replica.isEmpty) {
      Value part = replica.values.lookupOrDefault(yielded);
      parts.push_back(isMean ? weigh(replica, part) : part);
    }
  if (mode.kind == ReplicaMode::same || parts.size() == 1)
    return parts.front();
  if (mode.kind == ReplicaMode::gather) {
    auto first = cast<RankedTensorType>(parts.front().getType());
    SmallVector<int64_t> shape(first.getShape());
    shape[mode.axis] = 0;
    for (Value part : parts)
      shape[mode.axis] += cast<RankedTensorType>(part.getType()).getDimSize(mode.axis);
    return ConcatOp::create(builder, op.getLoc(), first.clone(shape), parts, mode.axis).getResult();
  }
  return AddNOp::create(builder, op.getLoc(), parts.front().getType(), parts).getResult();
}

LogicalResult Expansion::leave() {
  Operation *yield = op.getBody().front().getTerminator();
  unsigned next = 0;
  for (auto [i, text, yielded] :
       llvm::enumerate(op.getOutputs().getAsRange<StringAttr>(), yield->getOperands())) {
    ReplicaMode mode = *parseReplicaMode(text);
    if (mode.kind == ReplicaMode::perReplica) {
      for (Replica &replica : replicas)
        op.getResult(next++).replaceAllUsesWith(replica.values.lookupOrDefault(yielded));
      continue;
    }
    OpResult result = op->getResult(next++);
    FailureOr<Value> combined = combine(mode, yielded);
    if (failed(combined))
      return failure();
    Operation *made = combined->getDefiningOp();
    if (isa_and_present<ConcatOp, AddNOp>(made) && !made->hasAttr(kDeviceAttr))
      place(made, mode.kind == ReplicaMode::gather ? gatherDevice(result) : replicas.front().device,
            "/" + Twine(text.getValue().take_until([](char c) { return c == ' '; })) + "_" + Twine(i));
    if (combined->getType() != result.getType())
      return op.emitOpError() << "result " << i << " is " << result.getType()
                              << ", the replicas together give " << combined->getType();
    result.replaceAllUsesWith(*combined);
  }
  op.erase();
  return success();
}

namespace {
struct ExpandReplicas : gantry::impl::ExpandReplicasPassBase<ExpandReplicas> {
  void runOnOperation() override {
    SmallVector<ReplicateOp> ops;
    getOperation().walk([&](ReplicateOp op) { ops.push_back(op); });
    for (ReplicateOp op : ops)
      if (failed(Expansion(op).run()))
        return signalPassFailure();
  }
};
} // namespace
