// Replaces replicated regions by the ops of the replicas.
//
// The replicas are cloned side by side, op by op, so that a collective finds the values of all of
// them. Branches and loops that have a collective inside are one for all replicas, whose condition
// is the same (gantry-check-collectives): in its regions the replicas are side by side again, and
// their results one after the other. So is a gradient, which is of the losses of all replicas then.
// A replica with an empty shard gets only the ops that what it gives for itself needs: the new
// value of its mirror of a variable, say, which is all-reduced from the others.
//
// With parts a replica is a part, and a device has several, or none. What is the same for all parts
// of a device, as what comes of mirrors and of all-reduces is, is cloned for its first one alone.

#include "Expansion.h"

#include "gantry/Analysis/Flow.h"
#include "gantry/Analysis/Homes.h"
#include "gantry/Transforms/InferShapes.h"
#include "gantry/Transforms/Passes.h"
#include "gantry/Transforms/Replicas.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDREPLICASPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

LogicalResult Expansion::run() {
  FailureOr<SmallVector<Replica>> cut = cutIntoReplicas(op);
  if (failed(cut))
    return failure();
  replicas = std::move(*cut);
  for (const Replica &replica : replicas)
    total += replica.shard.size;
  enter();
  collectJoint();
  if (op.getParts())
    collectVarying();
  collectNeeded();
  if (failed(expandOps(op.getBody().front())))
    return failure();
  return leave();
}

/// From shards and shares along operands; what joint ops carry is taken to vary.
void Expansion::collectVarying() {
  for (auto [mode, argument] : llvm::zip(op.getInputModes(), op.getBody().getArguments()))
    if (mode.is(ReplicaKind::Split))
      varying.insert(argument);
  op.getBody().walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (joint.contains(inner)) {
      varying.insert_range(inner->getResults());
      for (Region &region : inner->getRegions())
        varying.insert_range(region.getArguments());
      return WalkResult::advance();
    }
    if (!isa<AllReduceOp>(inner) && varies(*inner))
      varying.insert_range(inner->getResults());
    return WalkResult::skip();
  });
}

/// Whether an op that is cloned as a whole gives each part something else.
bool Expansion::varies(Operation &inner) {
  auto result = inner.walk([&](Operation *each) {
    bool does = isa<ShareOp>(each) || llvm::any_of(each->getOperands(), [&](Value value) {
                  return varying.contains(value);
                });
    return does ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

void Expansion::enter() {
  size_t next = 0;
  for (auto [mode, argument] : llvm::zip(op.getInputModes(), op.getBody().getArguments())) {
    for (Replica &replica : replicas) {
      Value value = op.getValues()[next + (mode.is(ReplicaKind::PerReplica) ? replica.number : 0)];
      if (mode.is(ReplicaKind::Split))
        value = sliceShard(builder, op.getLoc(), value, mode.getAxis(), replica.shard,
                           nameOf("/split_" + Twine(argument.getArgNumber()) +
                                  replicaSuffix(replica.number, replica.part)));
      replica.values.map(argument, value);
    }
    next += mode.countValues(op.getDevices().size());
  }
}

void Expansion::collectJoint() {
  op.getBody().walk([&](AllReduceOp reduce) {
    for (Operation *above = reduce->getParentOp(); above != op; above = above->getParentOp())
      joint.insert(above);
  });
}

/// What a replica gives for itself, back to what it gets from the collectives.
void Expansion::collectNeeded() {
  SmallVector<Value> work;
  Operation *yield = op.getBody().front().getTerminator();
  for (auto [mode, value] : llvm::zip(op.getOutputModes(), yield->getOperands()))
    if (mode.is(ReplicaKind::PerReplica))
      work.push_back(value);
  while (!work.empty())
    need(work.pop_back_val(), work);
}

/// The op around or at `inner` that is cloned as a whole; null outside of the region.
Operation *Expansion::findUnit(Operation *inner) {
  for (; inner; inner = inner->getParentOp())
    if (Operation *above = inner->getParentOp(); above == op || joint.contains(above))
      return inner;
  return nullptr;
}

/// One step back. Of a joint op it leads to what the same result or argument comes from.
void Expansion::need(Value value, SmallVectorImpl<Value> &work) {
  Operation *unit;
  unsigned index = 0;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unit = argument.getOwner()->getParentOp();
    if (!joint.contains(unit))
      return;
    if (auto gradient = dyn_cast<GradientOp>(unit))
      return work.push_back(gradient.getWrt()[argument.getArgNumber()]);
    index = resultOf(argument).getResultNumber();
  } else {
    unit = findUnit(value.getDefiningOp());
    index = cast<OpResult>(value).getResultNumber();
  }
  if (!unit || isa<AllReduceOp>(unit))
    return;
  if (!joint.contains(unit)) {
    if (needed.insert(unit).second)
      unit->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
    return;
  }
  if (!neededResults.insert({unit, index}).second)
    return;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(unit))
    forEachFlow(branch, [&](OpOperand &source, Value input) {
      if (input == unit->getResult(index))
        work.push_back(source.get());
    });
}

LogicalResult Expansion::expandOps(Block &block) {
  for (Operation &inner : block.without_terminator())
    if (failed(expand(inner)))
      return failure();
  return success();
}

LogicalResult Expansion::expand(Operation &inner) {
  if (auto reduce = dyn_cast<AllReduceOp>(inner))
    return expandAllReduce(reduce);
  if (joint.contains(&inner)) {
    if (auto branch = dyn_cast<IfOp>(inner))
      return expandIf(branch);
    if (auto loop = dyn_cast<WhileOp>(inner))
      return expandWhile(loop);
    if (auto gradient = dyn_cast<GradientOp>(inner))
      return expandGradient(gradient);
    return inner.emitError(
        "has a gantry.all_reduce inside, which only branches, loops and gradients may have");
  }
  if (op.getParts() && !varies(inner))
    return expandCommon(inner);
  for (Replica &replica : replicas)
    if ((!replica.isEmpty || needed.contains(&inner)) && failed(cloneInto(replica, inner)))
      return failure();
  return success();
}

/// Once for each device.
LogicalResult Expansion::expandCommon(Operation &inner) {
  DenseMap<unsigned, Replica *> first;
  for (Replica &replica : replicas) {
    if (replica.isEmpty && !needed.contains(&inner))
      continue;
    if (replica.isFirst) {
      first[replica.number] = &replica;
      if (failed(cloneInto(replica, inner, /*isCommon=*/true)))
        return failure();
      continue;
    }
    for (Value result : inner.getResults())
      replica.values.map(result, first[replica.number]->values.lookup(result));
  }
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

/// The number in the place of the op; gives its value.
static Value replaceShare(ShareOp share, double number) {
  OpBuilder builder(share);
  auto values = DenseElementsAttr::get(share.getType(), builder.getF32FloatAttr(float(number)));
  Value made = ConstantOp::create(builder, share.getLoc(), values);
  share.replaceAllUsesWith(made);
  share.erase();
  return made;
}

LogicalResult Expansion::cloneInto(Replica &replica, Operation &inner, bool isCommon) {
  Operation *clone = builder.clone(inner, replica.values);
  std::string reason;
  {
    // Handlers are told what every thread says, and other functions are at work, too.
    ScopedDiagnosticHandler first(
        op.getContext(), [&, own = llvm::get_threadid()](Diagnostic &diagnostic) -> LogicalResult {
          if (llvm::get_threadid() != own)
            return failure();
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
  if (isa<ShareOp>(clone)) {
    replica.values.map(inner.getResult(0), replaceShare(cast<ShareOp>(clone), shareOf(replica)));
    return success();
  }
  clone->walk([&](ShareOp share) { replaceShare(share, shareOf(replica)); });
  ReplicaMark mark{replica.number, isCommon ? std::nullopt : replica.part, replica.device,
                   LocationAttr(op.getLoc()), op->getAttrOfType<SoftModeAttr>(kSoftAttr)};
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
    devices.push_back(replica.device);
    weights.push_back(replica.shard.size);
  }
  bool isWeighted = reduce.getKind() == CombineKind::Mean && total > 0;
  auto made =
      AllReduceOp::create(builder, reduce.getLoc(), TypeRange(ValueRange(values)), values,
                          reduce.getKind(), builder.getArrayAttr(devices),
                          isWeighted ? builder.getDenseI64ArrayAttr(weights) : DenseI64ArrayAttr(),
                          /*tree=*/op.getParts().has_value());
  if (auto name = reduce->getAttrOfType<StringAttr>(kNameAttr))
    made->setAttr(kNameAttr, name);
  made->setAttr(kOriginAttr, LocationAttr(op.getLoc()));
  // All parts of a device have its first one's.
  size_t next = 0;
  DenseMap<unsigned, Value> ofDevice;
  for (Replica &replica : replicas) {
    Value own = made.getResult(replica.isEmpty ? 0 : next++);
    replica.values.map(reduce.getResult(0),
                       ofDevice.try_emplace(replica.number, own).first->second);
  }
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
    wanted = requestOfResult(func, use.getOperandNumber());
  }
  return wanted ? wanted : replicas.front().device;
}

/// Of the batch; where nothing is split, of the replicas.
double Expansion::shareOf(const Replica &replica) {
  auto count = llvm::count_if(replicas, [](const Replica &r) { return !r.isEmpty; });
  return total ? double(replica.shard.size) / double(total) : 1.0 / double(count);
}

/// A replica's mean, times its share of the batch.
Value Expansion::weigh(const Replica &replica, Value value) {
  double share = shareOf(replica);
  if (share == 1)
    return value;
  const Type element = cast<RankedTensorType>(value.getType()).getElementType();
  auto scalar = RankedTensorType::get({}, element);
  Attribute number = builder.getFloatAttr(element, share);
  Value factor = ConstantOp::create(builder, op.getLoc(), DenseElementsAttr::get(scalar, number));
  auto product = MulOp::create(builder, op.getLoc(), value.getType(), value, factor);
  place(product, replica.device, "/share" + replicaSuffix(replica.number, replica.part));
  return product;
}

FailureOr<Value> Expansion::combine(size_t i, ReplicaModeAttr mode, Value yielded) {
  SmallVector<Value> parts;
  bool isMean = mode.is(ReplicaKind::Mean);
  if (isMean && !isa<FloatType>(cast<RankedTensorType>(yielded.getType()).getElementType()))
    return op.emitOpError() << "takes the mean of " << yielded.getType()
                            << "; only floating-point numbers have one";
  for (Replica &replica : replicas)
    if (!replica.isEmpty) {
      Value part = replica.values.lookupOrDefault(yielded);
      parts.push_back(isMean ? weigh(replica, part) : part);
    }
  if (mode.is(ReplicaKind::Same) || parts.size() == 1)
    return parts.front();
  if (mode.is(ReplicaKind::Gather)) {
    int64_t axis = mode.getAxis();
    auto first = cast<RankedTensorType>(parts.front().getType());
    SmallVector<int64_t> shape(first.getShape());
    shape[axis] = 0;
    for (Value part : parts)
      shape[axis] += cast<RankedTensorType>(part.getType()).getDimSize(axis);
    return ConcatOp::create(builder, op.getLoc(), first.clone(shape), parts, axis).getResult();
  }
  if (op.getParts())
    return addParts(parts, "/" + Twine(stringifyReplicaKind(mode.getKind())) + "_" + Twine(i));
  return AddNOp::create(builder, op.getLoc(), parts.front().getType(), parts).getResult();
}

/// The first one's of what an all-reduce gives, which no other device reads.
Value Expansion::addParts(ArrayRef<Value> parts, const Twine &name) {
  SmallVector<Attribute> devices;
  for (Replica &replica : replicas)
    if (!replica.isEmpty)
      devices.push_back(replica.device);
  auto made =
      AllReduceOp::create(builder, op.getLoc(), TypeRange(ValueRange(parts)), parts,
                          CombineKind::Sum, builder.getArrayAttr(devices), DenseI64ArrayAttr(),
                          /*tree=*/true);
  place(made, DeviceAttr(), name);
  return made.getResult(0);
}

LogicalResult Expansion::leave() {
  Operation *yield = op.getBody().front().getTerminator();
  unsigned next = 0;
  for (auto [i, mode, yielded] : llvm::enumerate(op.getOutputModes(), yield->getOperands())) {
    if (mode.is(ReplicaKind::PerReplica)) {
      for (Replica &replica : replicas)
        if (replica.isFirst)
          op.getResult(next + replica.number)
              .replaceAllUsesWith(replica.values.lookupOrDefault(yielded));
      next += op.getDevices().size();
      continue;
    }
    OpResult result = op->getResult(next++);
    FailureOr<Value> combined = combine(i, mode, yielded);
    if (failed(combined))
      return failure();
    Operation *made = combined->getDefiningOp();
    if (isa_and_present<ConcatOp, AddNOp>(made) && !made->hasAttr(kDeviceAttr))
      place(made, mode.is(ReplicaKind::Gather) ? gatherDevice(result) : replicas.front().device,
            "/" + Twine(stringifyReplicaKind(mode.getKind())) + "_" + Twine(i));
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
    getOperation().walk([](ShareOp share) { replaceShare(share, 1); });
  }
};
} // namespace
