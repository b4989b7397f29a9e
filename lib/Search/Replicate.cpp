// A graph in MLIR keeps its open batch, so its function is wrapped in one gantry.replicate. An ONNX
// model is imported for sizes that are known, with its shape arithmetic done: decoded once, it
// gives a function for each size that shards have, and the bodies stand side by side. Which results
// are joined is told by their types at these sizes.

#include "Replicate.h"

#include "gantry/Analysis/Homes.h"
#include "gantry/Analysis/Shards.h"
#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Optimizers.h"
#include "gantry/Transforms/Passes.h"
#include "gantry/Transforms/Replicas.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <set>

using namespace mlir;
using namespace gantry;

namespace {
/// One replica of a function that was imported for its shard.
struct Part {
  unsigned number;
  Shard shard;
  func::FuncOp body;
  IRMapping values;

  Value result(unsigned i) { return body.getBody().front().getTerminator()->getOperand(i); }
};

/// Weights of the same bytes are one for all replicas, whichever tensors of the model hold them.
struct SharedWeights {
  std::map<std::pair<const void *, size_t>, SmallVector<ElementsAttr>> known; ///< by type and size

  static ArrayRef<char> bytesOf(ElementsAttr value) {
    auto resource = dyn_cast<DenseResourceElementsAttr>(value);
    AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
    return blob ? blob->getData() : ArrayRef<char>();
  }

  ElementsAttr unify(ElementsAttr value) {
    ArrayRef<char> bytes = bytesOf(value);
    if (bytes.empty())
      return value;
    auto &same = known[{value.getType().getAsOpaquePointer(), bytes.size()}];
    // The same tensor in another size of the graph is the same attribute; no byte is looked at.
    if (llvm::is_contained(same, value))
      return value;
    for (ElementsAttr other : same)
      if (bytesOf(other) == bytes)
        return other;
    same.push_back(value);
    return value;
  }
};

/// One --replicate on its way.
struct Replication {
  ModuleOp module;
  GraphImporter &importer;
  const ImportOptions &import;
  const CompileOptions &options;
  SmallVector<Attribute> devices = {};
  std::optional<SmallVector<int64_t>> weights = {};
  func::FuncOp func = {};
  std::map<int64_t, OwningOpRef<ModuleOp>> forms = {}; ///< the graph, by the size of a shard
  SmallVector<Part> parts = {};

  LogicalResult findDevices();
  LogicalResult run();
  LogicalResult findFunction();
  LogicalResult wrap(int64_t batch);
  /// Who asks for the replicas' devices: the command line, not the file.
  Location flagLocation() {
    return NameLoc::get(StringAttr::get(module.getContext(), kReplicateFlag), func.getLoc());
  }

  std::vector<std::string> openBatch();
  FailureOr<std::optional<int64_t>> batchSize(ArrayRef<std::string> names);
  FailureOr<OwningOpRef<ModuleOp>> importShard(ArrayRef<std::string> names, int64_t size);
  LogicalResult importParts(ArrayRef<std::string> names, int64_t batch);
  LogicalResult enter(Part &part, Block &block, OpBuilder &builder);
  void cloneBody(Part &part, SharedWeights &shared, OpBuilder &builder);
  FailureOr<Value> join(unsigned i, Type type, const DenseSet<Value> &batched, OpBuilder &builder);
  LogicalResult standSideBySide();
};
} // namespace

/// Those that the list means among the devices of the topology.
LogicalResult Replication::findDevices() {
  const ReplicaList &list = *options.replicate.list;
  const Topology topology = getTopology(module);
  std::set<DeviceName> known;
  if (list.hasWeights)
    weights.emplace();
  for (const ReplicaList::Entry &entry : list.entries) {
    Expected<std::vector<DeviceName>> named = topology.devicesNamed(entry.text);
    if (!named)
      return module.emitError() << "--replicate: " << named.status().message();
    for (const DeviceName &device : *named) {
      devices.push_back(DeviceAttr::get(module.getContext(), device));
      if (!known.insert(device.withDefaultTask()).second)
        return module.emitError() << "--replicate lists '" << device.str() << "' twice";
      if (weights)
        weights->push_back(entry.weight);
    }
  }
  return success();
}

LogicalResult Replication::findFunction() {
  SmallVector<func::FuncOp> funcs;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (candidate.isPublic() && !candidate.isExternal() &&
        llvm::hasSingleElement(candidate.getBody()))
      funcs.push_back(candidate);
  if (funcs.size() == 1) {
    func = funcs.front();
    return success();
  }
  auto error = module.emitError() << "--replicate is for one function; choose it with --entry: ";
  llvm::interleaveComma(funcs, error, [&](func::FuncOp f) { error << "'" << f.getName() << "'"; });
  return error;
}

static int64_t firstDim(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() ? tensor.getDimSize(0) : -1;
}

/// Whether a result is computed from the batch.
static bool dependsOn(Value value, const DenseSet<Value> &batched) {
  SmallVector<Value> work = {value};
  DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (batched.contains(next))
      return true;
    Operation *op = next.getDefiningOp();
    if (!op)
      continue;
    op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
  return false;
}

static std::string outputName(func::FuncOp func, unsigned i) {
  auto name = func.getResultAttrOfType<StringAttr>(i, kNameAttr);
  return name ? name.str() : "output" + std::to_string(i);
}

static LogicalResult refuseOutput(func::FuncOp func, unsigned i, Type type) {
  return func.emitError() << "--replicate: output '" << outputName(func, i) << "' (" << type
                          << ") is computed from the batch, but its first dimension is not the "
                             "batch: every replica would have another; write the graph with "
                             "gantry.replicate and say \"sum\" or \"mean\"";
}

/// The variable that the op gives another value, or null.
static FlatSymbolRefAttr assignedVariable(Operation *op) {
  return llvm::TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
      .Case<AssignOp, AssignAddOp, OptimizerStepOp>(
          [](auto assign) { return assign.getVariableAttr(); })
      .Default([](Operation *) { return FlatSymbolRefAttr(); });
}

/// Mirrors of a variable have to stay the same.
static LogicalResult checkAssignments(func::FuncOp func, const DenseSet<Value> &batched) {
  auto result = func.walk([&](Operation *op) {
    FlatSymbolRefAttr variable = assignedVariable(op);
    if (!variable || !dependsOn(op->getOperand(0), batched))
      return WalkResult::advance();
    op->emitError() << "--replicate: '" << variable
                    << "' is assigned what is computed from the batch, and every replica would "
                       "assign another value; write the graph with gantry.replicate and "
                       "gantry.all_reduce";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Graphs with an open batch, or with a fixed one
//===----------------------------------------------------------------------===//

/// Puts the body into a gantry.replicate. `batch` is open or the size that the file fixes.
LogicalResult Replication::wrap(int64_t batch) {
  Block &body = func.getBody().front();
  Operation *end = body.getTerminator();
  Builder b(func.getContext());
  DenseSet<Value> batched;
  SmallVector<Attribute> inputs, outputs;
  for (BlockArgument argument : body.getArguments()) {
    bool isBatched = firstDim(argument.getType()) == batch;
    if (isBatched)
      batched.insert(argument);
    inputs.push_back(ReplicaModeAttr::get(func.getContext(),
                                          isBatched ? ReplicaKind::Split : ReplicaKind::Broadcast));
  }
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    bool isJoined = firstDim(value.getType()) == batch && dependsOn(value, batched);
    if (!isJoined && dependsOn(value, batched))
      return refuseOutput(func, i, value.getType());
    outputs.push_back(ReplicaModeAttr::get(func.getContext(),
                                           isJoined ? ReplicaKind::Gather : ReplicaKind::Same));
  }
  if (failed(checkAssignments(func, batched)))
    return failure();

  auto *outer = new Block();
  for (BlockArgument argument : body.getArguments())
    outer->addArgument(argument.getType(), argument.getLoc());
  OpBuilder builder(func.getContext());
  builder.setInsertionPointToEnd(outer);
  auto replicate = ReplicateOp::create(
      builder, flagLocation(), end->getOperandTypes(), outer->getArguments(),
      b.getArrayAttr(devices), weights ? b.getDenseI64ArrayAttr(*weights) : DenseI64ArrayAttr(),
      /*parts=*/IntegerAttr(), b.getArrayAttr(inputs), b.getArrayAttr(outputs));
  auto yielded = llvm::to_vector(end->getOperands());
  func::ReturnOp::create(builder, end->getLoc(), replicate.getResults());
  builder.setInsertionPoint(end);
  YieldOp::create(builder, end->getLoc(), yielded);
  end->erase();
  replicate.getBody().takeBody(func.getBody());
  func.getBody().push_back(outer);
  return success();
}

//===----------------------------------------------------------------------===//
// ONNX files with an open batch
//===----------------------------------------------------------------------===//

/// What the file calls the open first dimensions of its inputs; none when it opens none or keeps
/// them open in the module.
std::vector<std::string> Replication::openBatch() {
  std::vector<std::string> names;
  for (const GraphPort &port : importer.inputsToSize()) {
    bool isGiven =
        llvm::any_of(import.values, [&](auto &value) { return value.name == port.name; });
    if (isGiven || !port.dims || port.dims->empty() || port.dims->front().size)
      continue;
    if (std::string name = port.dimName(0); !llvm::is_contained(names, name))
      names.push_back(name);
  }
  return names;
}

/// Whether a --dim is about the batch: by its name, or by the place of an input's first dimension.
static bool isBatch(StringRef dim, ArrayRef<std::string> names) {
  return llvm::is_contained(names, dim) || dim.ends_with(":0");
}

FailureOr<OwningOpRef<ModuleOp>> Replication::importShard(ArrayRef<std::string> names,
                                                          int64_t size) {
  ImportOptions shard = import;
  for (auto &[name, value] : shard.dims)
    if (isBatch(name, names))
      value = size;
  OwningOpRef<ModuleOp> imported = importer.import(shard);
  if (!imported)
    return failure();
  PassManager pm(module.getContext());
  pm.addPass(createResolveCallsPass());
  pm.addPass(createResolveScopesPass());
  if (failed(pm.run(*imported)))
    return failure();
  return imported;
}

/// A function for each replica that has a shard; of an empty batch the first one makes the empty
/// results.
LogicalResult Replication::importParts(ArrayRef<std::string> names, int64_t batch) {
  std::optional<ArrayRef<int64_t>> given;
  if (weights)
    given = *weights;
  const auto shards = cutIntoShards(batch, devices.size(), given);
  remarkIdleReplicas(flagLocation(), shards, batch, given,
                     [&](size_t i) { return cast<DeviceAttr>(devices[i]).getName().shortStr(); });
  for (auto [i, shard] : llvm::enumerate(shards)) {
    if (shard.size == 0 && (batch != 0 || i > 0))
      continue; // nothing is left to compute for it
    auto [known, fresh] = forms.try_emplace(shard.size);
    if (fresh) {
      FailureOr<OwningOpRef<ModuleOp>> imported = importShard(names, shard.size);
      if (failed(imported))
        return failure();
      known->second = std::move(*imported);
    }
    auto body = known->second->lookupSymbol<func::FuncOp>(func.getSymName());
    if (!body || body.getNumArguments() != func.getNumArguments())
      return func.emitError() << "--replicate: '" << func.getSymName()
                              << "' has other inputs for a batch of " << shard.size;
    parts.push_back({unsigned(i), shard, body, {}});
  }
  return success();
}

/// What the replica gets of the function's arguments.
LogicalResult Replication::enter(Part &part, Block &block, OpBuilder &builder) {
  for (auto [i, argument, own] : llvm::enumerate(block.getArguments(), part.body.getArguments())) {
    auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttr);
    Value value = argument;
    if (argument.getType() != own.getType())
      value = sliceShard(builder, func.getLoc(), argument, 0, part.shard,
                         (name ? name.getValue() : StringRef("input")) + Twine("/replica_") +
                             Twine(part.number));
    if (value.getType() != own.getType())
      return func.emitError() << "--replicate: input " << i << " is " << argument.getType()
                              << ", for a batch of " << part.shard.size << " it is "
                              << own.getType() << "; only the first dimension can be the batch";
    part.values.map(own, value);
  }
  return success();
}

void Replication::cloneBody(Part &part, SharedWeights &shared, OpBuilder &builder) {
  ReplicaMark mark{
      part.number, {}, cast<DeviceAttr>(devices[part.number]), LocationAttr(flagLocation()), {}};
  for (Operation &op : part.body.getBody().front().without_terminator())
    builder.clone(op, part.values)->walk([&](Operation *made) {
      markAsReplica(made, mark);
      if (auto constant = dyn_cast<ConstantOp>(made))
        constant.setValueAttr(shared.unify(constant.getValueAttr()));
    });
}

/// Whether the parts, one after the other along the first dimension, are of this type.
static bool makeUp(ArrayRef<Value> parts, RankedTensorType whole) {
  int64_t rows = 0;
  for (Value value : parts) {
    auto part = cast<RankedTensorType>(value.getType());
    if (whole.getRank() == 0 || part.getRank() != whole.getRank() ||
        part.getShape().drop_front() != whole.getShape().drop_front())
      return false;
    rows += part.getDimSize(0);
  }
  return rows == whole.getDimSize(0);
}

/// Result `i`: what all replicas give if they agree on it, else their parts joined.
FailureOr<Value> Replication::join(unsigned i, Type type, const DenseSet<Value> &batched,
                                   OpBuilder &builder) {
  SmallVector<Value> values;
  for (Part &part : parts)
    values.push_back(part.values.lookupOrDefault(part.result(i)));
  if (parts.size() == 1 || !dependsOn(parts.front().result(i), batched))
    return values.front();
  auto tensor = cast<RankedTensorType>(type);
  if (!makeUp(values, tensor))
    return refuseOutput(func, i, type);
  auto joined = ConcatOp::create(builder, func.getLoc(), tensor, values, /*axis=*/0);
  joined->setAttr(kDeviceAttr, requestOfResult(func, i));
  joined->setAttr(kOriginAttr, LocationAttr(flagLocation()));
  joined->setAttr(kNameAttr, builder.getStringAttr(outputName(func, i) + "/gather"));
  return joined.getResult();
}

/// The function's body anew: the parts' bodies one after the other, and their results joined.
LogicalResult Replication::standSideBySide() {
  Block &old = func.getBody().front();
  SmallVector<Type> wanted(func.getFunctionType().getResults());
  auto *block = new Block();
  for (BlockArgument argument : old.getArguments())
    block->addArgument(argument.getType(), argument.getLoc());
  func.getBody().push_back(block);
  old.erase();
  OpBuilder builder(func.getContext());
  builder.setInsertionPointToEnd(block);
  SharedWeights shared;
  for (Part &part : parts) {
    if (failed(enter(part, *block, builder)))
      return failure();
    cloneBody(part, shared, builder);
  }
  DenseSet<Value> batched;
  for (auto [argument, own] : llvm::zip(block->getArguments(), parts.front().body.getArguments()))
    if (argument.getType() != own.getType())
      batched.insert(own);
  SmallVector<Value> results;
  for (auto [i, type] : llvm::enumerate(wanted)) {
    FailureOr<Value> result = join(i, type, batched, builder);
    if (failed(result))
      return failure();
    results.push_back(*result);
  }
  func::ReturnOp::create(builder, func.getLoc(), results);
  return success();
}

/// The size that --dim gives the batch; none when it gives none.
FailureOr<std::optional<int64_t>> Replication::batchSize(ArrayRef<std::string> names) {
  std::optional<int64_t> batch;
  for (auto &[name, size] : import.dims) {
    if (!isBatch(name, names))
      continue;
    if (batch && *batch != size)
      return func.emitError() << "--replicate: inputs begin with dimensions of " << *batch
                              << " and of " << size << "; they need to be the same batch";
    batch = size;
  }
  return batch;
}

LogicalResult Replication::run() {
  if (failed(findFunction()))
    return failure();
  for (Type type : func.getArgumentTypes())
    if (firstDim(type) == ShapedType::kDynamic)
      return wrap(ShapedType::kDynamic);
  auto known =
      llvm::find_if(func.getArgumentTypes(), [](Type type) { return firstDim(type) >= 0; });
  if (known == func.getArgumentTypes().end())
    return func.emitError() << "--replicate: '" << func.getSymName()
                            << "' has no input with a batch to split";
  std::vector<std::string> names = openBatch();
  if (names.empty())
    return wrap(firstDim(*known));
  FailureOr<std::optional<int64_t>> batch = batchSize(names);
  if (failed(batch))
    return failure();
  if (!*batch)
    return wrap(firstDim(*known));
  return success(succeeded(importParts(names, **batch)) && succeeded(standSideBySide()));
}

LogicalResult gantry::replicateFunction(ModuleOp module, GraphImporter &importer,
                                        const ImportOptions &import,
                                        const CompileOptions &options) {
  Replication replication{module, importer, import, options};
  if (failed(replication.findDevices()))
    return failure();
  return replication.run();
}
