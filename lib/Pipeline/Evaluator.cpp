// Evaluates ops of known operands when compiling: their kernels are made for this machine and run
// once, in this process.
//
// The ops behind a value become a function of the constants that they begin with. It goes through
// the phases up to Kernel, which fold, decompose and fuse as for a plan, so that the bits are a
// plan's; then its launches run in order. Nothing of it is in the graph: what asked gets elements.

#include "Evaluator.h"
#include "HostRun.h"

#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Evaluator.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Target/CPU/CPUTarget.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

/// Ops that are looked at to see whether constants decide a value.
static constexpr size_t kMaxSeen = 20000;
/// Those that are compiled for one value, and bytes of all that they give.
static constexpr size_t kMaxOps = 1000;
static constexpr uint64_t kMaxBytes = uint64_t(1) << 30;

//===----------------------------------------------------------------------===//
// What is to be computed
//===----------------------------------------------------------------------===//

namespace {
/// The ops behind a value, makers first, and the known values that they begin with.
struct Slice {
  llvm::SetVector<Operation *> ops;
  llvm::SetVector<Value> known;
  uint64_t bytes = 0;
  bool isOfConstants = true; ///< else data decide
  std::string why;           ///< it is not computed all the same

  bool isComputed() const { return isOfConstants && why.empty(); }
};
} // namespace

static ElementsAttr knownElements(Value value) {
  ElementsAttr constant = getConstantElements(value);
  return constant ? constant : getComputedElements(value);
}

/// What the op reads, values from around its regions included.
static llvm::SetVector<Value> operandsOf(Operation *op) {
  llvm::SetVector<Value> operands(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), operands);
  return operands;
}

static std::string nameOf(Operation *op) {
  auto node = op->getAttrOfType<StringAttr>(kNameAttr);
  auto source = op->getAttrOfType<StringAttr>(kSourceOpAttr);
  std::string kind = (source ? source.getValue() : op->getName().stripDialect()).str();
  return node ? "'" + node.str() + "' (" + kind + ")" : kind;
}

/// Why the op is not evaluated; empty when it is.
static std::string findObstacle(Operation *op, Slice &slice) {
  auto tooLarge = [&](const Twine &what) {
    return (what + ", and at most 64 MiB of an op are evaluated when compiling").str();
  };
  std::string why;
  op->walk([&](Operation *inner) {
    for (Type type : inner->getResultTypes()) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape()) {
        why = nameOf(op) + " has a result without a fixed shape";
        continue;
      }
      const uint64_t bytes = getByteSize(tensor);
      slice.bytes += bytes;
      if (bytes > uint64_t(kMaxEvaluatedBytes))
        why = tooLarge(nameOf(op) + " has a result of " + Twine(bytes) + " bytes");
    }
  });
  // Those that are not known are results of other ops.
  for (Value operand : op->getOperands())
    if (const uint64_t bytes = getByteSize(cast<RankedTensorType>(operand.getType()));
        bytes > uint64_t(kMaxEvaluatedBytes) && knownElements(operand))
      why = tooLarge(nameOf(op) + " has an operand of " + Twine(bytes) + " bytes");
  if (why.empty() && slice.bytes > kMaxBytes)
    why = "values of more than 1 GiB are behind it";
  return why;
}

/// Adds the maker of `value` and all behind it, depth first without recursion.
static Slice sliceBehind(Value value) {
  Slice slice;
  SmallVector<std::pair<Operation *, bool>> pending; // and whether its operands are done
  auto want = [&](Value wanted) {
    if (knownElements(wanted))
      slice.known.insert(wanted);
    else if (Operation *maker = wanted.getDefiningOp())
      pending.emplace_back(maker, false);
    else
      slice.isOfConstants = false;
  };
  want(value);
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty() && slice.isOfConstants) {
    auto [op, isReady] = pending.pop_back_val();
    if (isReady) {
      slice.ops.insert(op);
      continue;
    }
    if (!seen.insert(op).second)
      continue;
    if (!isa<GantryDialect>(op->getDialect()) || seen.size() > kMaxSeen ||
        !(isMemoryEffectFree(op) || isa<CopyOp>(op)))
      slice.isOfConstants = false;
    if (slice.why.empty() && seen.size() > kMaxOps)
      slice.why = "more than " + std::to_string(kMaxOps) + " ops are behind it";
    if (slice.why.empty())
      slice.why = findObstacle(op, slice);
    pending.emplace_back(op, true);
    for (Value operand : operandsOf(op))
      want(operand);
  }
  return slice;
}

/// The ops as the function `main` of a module, which takes the known values.
static OwningOpRef<ModuleOp> makeModule(const Slice &slice, Value value) {
  OpBuilder b(value.getContext());
  Location loc = value.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(b, loc);
  setTopology(*module, Topology::hostOnly());
  b.setInsertionPointToEnd(module->getBody());
  auto types = llvm::map_to_vector(slice.known, [](Value known) { return known.getType(); });
  auto main = func::FuncOp::create(b, loc, "main", b.getFunctionType(types, value.getType()));
  b.setInsertionPointToEnd(main.addEntryBlock());
  IRMapping mapping;
  for (auto [known, argument] : llvm::zip(slice.known, main.getArguments()))
    mapping.map(known, argument);
  for (Operation *op : slice.ops) {
    if (auto copy = dyn_cast<CopyOp>(op)) {
      mapping.map(copy.getResult(), mapping.lookup(copy.getInput()));
      continue;
    }
    b.clone(*op, mapping)->walk([](Operation *inner) {
      inner->removeAttr(kDeviceAttr);
      inner->removeAttr(kKnownAttr);
    });
  }
  func::ReturnOp::create(b, loc, mapping.lookup(value));
  return module;
}

//===----------------------------------------------------------------------===//
// Computing it
//===----------------------------------------------------------------------===//

static LogicalResult runPasses(ModuleOp module, function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext(), module->getName().getStringRef());
  build(pm);
  return pm.run(module);
}

/// Takes the function to launches, and makes their code.
static FailureOr<HostCode> compile(ModuleOp module) {
  FailureOr<std::string> machine = HostKernels::machine(module.getLoc());
  if (failed(machine))
    return failure();
  CompileOptions options;
  options.code.targets = {kCPUTarget.str()};
  Builder b(module.getContext());
  module->setAttr(kTargetsAttr,
                  TargetsAttr::get(b.getContext(), {},
                                   b.getDictionaryAttr(b.getNamedAttr(
                                       kCPUTarget, b.getStrArrayAttr(StringRef(*machine)))),
                                   Math::f32, {}, std::nullopt));
  options.copy.once = false;
  if (failed(
          runPasses(module, [&](OpPassManager &pm) { buildPipeline(pm, options, Phase::kernel); })))
    return failure();
  HostCode code;
  for (auto [kernels, target] : kernelModules(module)) {
    std::vector<std::string> names;
    for (auto func : kernels.getOps<func::FuncOp>())
      if (WorkAttr work = WorkAttr::of(func); work.isLowered() && !func.isExternal()) {
        names.push_back(func.getSymName().str());
        code.works[names.back()] = work;
      }
    if (failed(runPasses(kernels, buildLLVMPipeline)))
      return failure();
    FailureOr<std::unique_ptr<HostKernels>> loaded = HostKernels::load(kernels, names, *machine);
    if (failed(loaded))
      return failure();
    code.kernels = std::move(*loaded);
  }
  if (!code.kernels)
    return failure();
  return code;
}

namespace {
struct Evaluator : EvaluatorInterface {
  using EvaluatorInterface::EvaluatorInterface;

  Evaluation evaluate(Value value) const override {
    Slice slice = sliceBehind(value);
    if (!slice.isComputed())
      return {{}, slice.isOfConstants ? slice.why : ""};
    // Whoever asks hears that the value is not known, and not of which pass could not go on.
    std::string why;
    ScopedDiagnosticHandler drop(value.getContext(), [&](Diagnostic &diagnostic) {
      if (why.empty())
        why = diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = makeModule(slice, value);
    FailureOr<HostCode> code = compile(*module);
    if (failed(code))
      return {{}, "its ops cannot be compiled: " + why};
    auto arguments = llvm::map_to_vector(
        slice.known, [](Value known) { return bufferOf(knownElements(known)); });
    why = "its ops cannot be run";
    HostBuffer result =
        llvm::is_contained(arguments, nullptr) ? nullptr : runMain(*module, *code, arguments, why);
    if (!result)
      return {{}, why};
    return {makeElements(cast<RankedTensorType>(value.getType()), result->bytes())};
  }
};
} // namespace

void gantry::registerEvaluator(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *, GantryDialect *dialect) { dialect->addInterfaces<Evaluator>(); });
}
