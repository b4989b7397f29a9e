// Replaces replicated regions by the ops of the replicas.
//
// The replicas are cloned side by side, op by op, so that a collective finds the values of all of
// them. A replica with an empty shard gets only the ops that what it gives for itself needs: the
// new value of its mirror of a variable, say, which is all-reduced from the others.

#include "gantry/Transforms/InferShapes.h"
#include "gantry/Transforms/Passes.h"
#include "gantry/Transforms/Replicas.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

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
  LogicalResult leave();
  FailureOr<Value> combine(ReplicaMode mode, Value yielded);
  Value weigh(const Replica &replica, Value value);

  /// Request for an op that no replica owns, on a device.
  void place(Operation *made, DeviceAttr device, const Twine &name) {
    if (device)
      made->setAttr(kDeviceAttr, device);
    made->setAttr(kOriginAttr, LocationAttr(op.getLoc()));
    if (std::string text = nameOf(name); !text.empty())
      made->setAttr(kNameAttr, builder.getStringAttr(text));
  }

  /// Name for an op of this gantry.replicate; empty when that has none.
  std::string nameOf(const Twine &suffix) {
    auto own = op->getAttrOfType<StringAttr>(kNameAttr);
    return own ? (own.getValue() + suffix).str() : "";
  }

  DeviceAttr gatherDevice(OpResult result);

  ReplicateOp op;
  OpBuilder builder;
  SmallVector<Replica> replicas;
  DenseSet<Operation *> needed; ///< by replicas without a shard
  int64_t total = 0;            ///< rows of all shards
};
} // namespace

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
        {unsigned(i), makeDeviceAttr(op.getContext(), text.getValue()), shards[i], false, {}});
    replicas.back().isEmpty = size && shards[i].size == 0;
  }
  // Of an empty batch somebody has to make the empty results.
  if (llvm::all_of(replicas, [](const Replica &replica) { return replica.isEmpty; }))
    replicas.front().isEmpty = false;
  total = size.value_or(0);
  return success();
}

void Expansion::enter() {
  size_t next = 0;
  for (auto [text, argument] :
       llvm::zip(op.getInputs().getAsRange<StringAttr>(), op.getBody().getArguments())) {
    ReplicaMode mode = *parseReplicaMode(text);
    for (Replica &replica : replicas) {
      Value value =
          op.getValues()[next + (mode.kind == ReplicaMode::perReplica ? replica.number : 0)];
      if (mode.kind == ReplicaMode::split)
        value = sliceShard(builder, op.getLoc(), value, mode.axis, replica.shard,
                           nameOf("/split_" + Twine(argument.getArgNumber()) + "/replica_" +
                                  Twine(replica.number)));
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

/// A shape that the graph states in full, for the whole batch, becomes that of the shard when the
/// batch is its first dimension and nothing else fits.
static void rebatch(Operation *op, int64_t whole, int64_t shard) {
  op->walk([&](ReshapeOp reshape) {
    auto in = reshape.getInput().getType(), out = reshape.getType();
    if (!in.hasStaticShape() || !out.hasStaticShape() || out.getRank() == 0 ||
        in.getNumElements() == out.getNumElements() || out.getDimSize(0) != whole)
      return;
    SmallVector<int64_t> shape(out.getShape());
    shape[0] = shard;
    if (auto cut = out.clone(shape); cut.getNumElements() == in.getNumElements())
      reshape.getResult().setType(cut);
  });
}

/// The first op inside that has a result of open shape.
static Operation *findOpen(Operation *op) {
  Operation *open = nullptr;
  op->walk([&](Operation *inner) {
    for (Type type : inner->getResultTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type);
          tensor && !tensor.hasStaticShape() && !open)
        open = inner;
  });
  return open;
}

LogicalResult Expansion::cloneInto(Replica &replica, Operation &inner) {
  Operation *clone = builder.clone(inner, replica.values);
  std::string reason;
  {
    ScopedDiagnosticHandler first(op.getContext(), [&](Diagnostic &diagnostic) {
      if (reason.empty())
        reason = diagnostic.str();
      return success();
    });
    bool fits = succeeded(inferTypesAgain(*clone));
    rebatch(clone, total, replica.shard.size);
    fits = fits && succeeded(verify(clone));
    if (Operation *open = fits ? findOpen(clone) : nullptr)
      open->emitOpError() << "has the open shape " << open->getResult(0).getType();
  }
  if (!reason.empty())
    return inner.emitError()
           << "does not fit a shard of " << replica.shard.size << " of " << total
           << " rows (replica " << replica.number << "): " << reason
           << "; sizes have to follow from the batch: leave its dimension open when exporting the "
              "model (dynamic_axes of torch.onnx.export) and give it with --dim";
  ReplicaMark mark{replica.number, replica.device, LocationAttr(op.getLoc()),
                   op->getAttr(kSoftAttr)};
  clone->walk([&](Operation *made) { markAsReplica(made, mark); });
  return success();
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
  auto made =
      AllReduceOp::create(builder, reduce.getLoc(), TypeRange(ValueRange(values)), values,
                          reduce.getKindAttr(), builder.getArrayAttr(devices),
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
      wanted = makeDeviceAttr(op.getContext(), "CPU:0");
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
            "/" + Twine(text.getValue().take_until([](char c) { return c == ' '; })) + "_" +
                Twine(i));
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
    // Names first: then what is one op in the graph has one name in all replicas, and a number.
    OpPassManager names(func::FuncOp::getOperationName());
    names.addPass(createNameOpsPass());
    if (!ops.empty() && failed(runPipeline(names, getOperation())))
      return signalPassFailure();
    for (ReplicateOp op : ops)
      if (failed(Expansion(op).run()))
        return signalPassFailure();
  }
};
} // namespace
