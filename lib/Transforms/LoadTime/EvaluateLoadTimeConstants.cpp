// Load-time constant evaluation: moves what depends on constants alone out of the functions, into
// one that runs when a plan is loaded (spec P1).
//
// Its results are arguments of the functions from here on, marked with the number of the result:
// to every later phase they are values like others, and Schedule makes constants of them. They stay
// in memory as long as the plan does, so only what is worth that goes: what a product reads, what
// computes more than element by element, and what is no larger than the constants that it is made
// of. A function that is nothing but constants is left alone: to run it is what was asked for.

#include "gantry/Analysis/Homes.h"
#include "gantry/Dialect/Gantry/IR/FreshSymbols.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EVALUATELOADTIMECONSTANTSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Which result of the function that runs at load an argument is; -1 for other arguments.
static int64_t onceOf(func::FuncOp func, unsigned argument) {
  auto number = func.getArgAttrOfType<IntegerAttr>(argument, kOnceAttr);
  return number ? number.getInt() : -1;
}

namespace {
/// The function that runs at load, in the making.
class LoadFunction {
public:
  explicit LoadFunction(ModuleOp module) : module(module) {
    for (auto func : module.getOps<func::FuncOp>())
      if (func->hasAttr(kAtLoadAttr))
        load = func;
  }

  func::FuncOp get() const { return load; }
  Operation *terminator() { return load.getBody().front().getTerminator(); }

  /// Number of the result that is `value`, a value of the function that may be one already.
  unsigned resultOf(Value value, DeviceAttr home) {
    for (auto [i, known] : llvm::enumerate(terminator()->getOperands()))
      if (known == value)
        return i;
    unsigned number = terminator()->getNumOperands();
    terminator()->insertOperands(number, value);
    load.setFunctionType(FunctionType::get(load.getContext(), {}, terminator()->getOperandTypes()));
    SmallVector<DictionaryAttr> attrs;
    load.getAllResultAttrs(attrs);
    attrs.resize(number, DictionaryAttr::get(load.getContext()));
    OpBuilder b(load.getContext());
    attrs.push_back(b.getDictionaryAttr(b.getNamedAttr(kDeviceAttr, home)));
    load.setAllResultAttrs(attrs);
    return number;
  }

  /// The same op there, with its operands mapped; one that is there already will do.
  Operation *add(Operation *op, IRMapping &mapping) {
    if (!load)
      create();
    OpBuilder b(terminator());
    Operation *copy = b.clone(*op, mapping);
    for (Operation *other : twins(copy))
      if (other != copy && OperationEquivalence::isEquivalentTo(
                               copy, other, OperationEquivalence::IgnoreLocations)) {
        for (auto [result, known] : llvm::zip(op->getResults(), other->getResults()))
          mapping.map(result, known);
        copy->erase();
        return other;
      }
    return copy;
  }

private:
  /// Ops that may be the same.
  SmallVector<Operation *> twins(Operation *op) {
    if (op->getNumOperands() != 0)
      return llvm::to_vector(op->getOperand(0).getUsers());
    SmallVector<Operation *> found;
    for (Operation &other : load.getBody().front())
      if (other.getNumOperands() == 0)
        found.push_back(&other);
    return found;
  }

  void create() {
    StringAttr name = FreshSymbols(module).take("at_load");
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    load = func::FuncOp::create(b, module.getLoc(), name, b.getFunctionType({}, {}));
    load->setAttr(kAtLoadAttr, b.getUnitAttr());
    b.setInsertionPointToStart(load.addEntryBlock());
    func::ReturnOp::create(b, module.getLoc());
  }

  ModuleOp module;
  func::FuncOp load;
};

/// One function.
class Splitter {
public:
  Splitter(func::FuncOp func, LoadFunction &load, const Homes &homes)
      : func(func), block(func.getBody().front()), load(load), homes(homes) {
    for (BlockArgument argument : func.getArguments())
      if (int64_t number = onceOf(func, argument.getArgNumber()); number >= 0) {
        known.insert(argument);
        mapping.map(argument, load.terminator()->getOperand(number));
      }
    for (Operation &op : block)
      if (isOnce(op))
        known.insert(op.result_begin(), op.result_end());
  }

  /// Whether anything moved.
  bool run() {
    if (isAllOnce())
      return false;
    bool moved = false;
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      if (!isa<ConstantOp>(op) && op.getNumResults() == 1 && known.contains(op.getResult(0)))
        ops.push_back(&op);
    // Users come before what they use, so that each knows whether somebody here wants it.
    for (Operation *op : llvm::reverse(ops)) {
      if (op->use_empty())
        op->erase();
      else if (!isView(op) && isWorth(op->getResult(0)))
        moved |= move(op);
    }
    return moved;
  }

private:
  /// Made of constants alone. What must make a new buffer in each run does.
  bool isOnce(Operation &op) {
    if (isa<ConstantOp>(op))
      return true;
    auto copy = dyn_cast<CopyOp>(op);
    bool isComputed = isa<KernelOpInterface>(op) || (copy && !copy.getForce());
    return isComputed && op.getNumRegions() == 0 && op.getNumResults() == 1 &&
           isMemoryEffectFree(&op) &&
           llvm::all_of(op.getOperands(), [&](Value operand) { return known.contains(operand); });
  }

  bool isAllOnce() {
    return !func.walk([&](KernelOpInterface op) {
                  bool isMine = op->getBlock() == &block && op->getNumResults() == 1;
                  return isView(op) || (isMine && known.contains(op->getResult(0)))
                             ? WalkResult::advance()
                             : WalkResult::interrupt();
                })
                .wasInterrupted();
  }

  /// What a value is made of.
  struct Cone {
    llvm::SetVector<Operation *> ops; ///< in an order in which they can run, constants too
    llvm::SmallSetVector<Value, 4> arguments;
  };

  void collect(Value value, Cone &cone) {
    Operation *op = value.getDefiningOp();
    if (!op) {
      cone.arguments.insert(value);
      return;
    }
    if (cone.ops.contains(op))
      return;
    for (Value operand : op->getOperands())
      collect(operand, cone);
    cone.ops.insert(op);
  }

  static uint64_t bytesOf(Value value) {
    return getByteSize(cast<RankedTensorType>(value.getType()));
  }

  /// Whether some op reads it as an array that is there: such values are made in each run, whatever
  /// fuses. Those are the weights of a graph that makes its weights. What is updated, as the zeros
  /// under a scatter are, is written in each run all the same.
  static bool isReadWhole(Value value) {
    return llvm::any_of(value.getUses(), [](OpOperand &use) {
      auto kernel = dyn_cast<KernelOpInterface>(use.getOwner());
      if (isView(use.getOwner()))
        return isReadWhole(use.getOwner()->getResult(0));
      return kernel && !kernel.updatesOperand(use.getOperandNumber()) &&
             (kernel.getFusionKind() == FusionKind::Contraction ||
              kernel.getFusionKind() == FusionKind::Opaque);
    });
  }

  /// Whether it is worth the room that it takes for as long as the plan is loaded.
  bool isWorth(Value value) {
    if (isReadWhole(value))
      return true;
    Cone cone;
    collect(value, cone);
    uint64_t bytes = 0;
    for (Value argument : cone.arguments)
      bytes += bytesOf(argument);
    for (Operation *op : cone.ops) {
      auto kernel = dyn_cast<KernelOpInterface>(op);
      FusionKind kind = kernel ? kernel.getFusionKind() : FusionKind::View;
      if (isa<ConstantOp>(op))
        bytes += storedBytes(cast<ConstantOp>(op));
      else if (kind == FusionKind::Reduction || kind == FusionKind::Contraction ||
               kind == FusionKind::Opaque || isRandom(op, kind))
        return true;
    }
    return bytesOf(value) <= bytes;
  }

  /// Of generators, the one kind that computes.
  static bool isRandom(Operation *op, FusionKind kind) {
    auto cost = dyn_cast<CostOpInterface>(op);
    return kind == FusionKind::Generator && cost && cost.getFlops() > 0;
  }

  /// One value everywhere is no array that is read.
  static uint64_t storedBytes(ConstantOp constant) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return dense && dense.isSplat() ? dense.getRawData().size() : bytesOf(constant);
  }

  bool move(Operation *op) {
    Value value = op->getResult(0);
    Cone cone;
    collect(value, cone);
    for (Operation *part : cone.ops)
      if (!mapping.contains(part->getResult(0)))
        load.add(part, mapping);
    DeviceAttr home = homes.homeOf(value);
    unsigned number = load.resultOf(mapping.lookup(value), home);
    OpBuilder b(func.getContext());
    NamedAttrList attrs;
    attrs.set(kOnceAttr, b.getI64IntegerAttr(number));
    attrs.set(kDeviceAttr, home);
    if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
      attrs.set(kNameAttr, name);
    unsigned last = func.getNumArguments();
    if (failed(func.insertArgument(last, value.getType(), attrs.getDictionary(func.getContext()),
                                   op->getLoc())))
      return false;
    value.replaceAllUsesWith(func.getArgument(last));
    mapping.map(func.getArgument(last), mapping.lookup(value));
    known.insert(func.getArgument(last));
    op->erase();
    return true;
  }

  func::FuncOp func;
  Block &block;
  LoadFunction &load;
  const Homes &homes;
  DenseSet<Value> known; ///< made of constants alone
  IRMapping mapping;     ///< to the values of the load function
};

struct EvaluateLoadTimeConstants
    : gantry::impl::EvaluateLoadTimeConstantsPassBase<EvaluateLoadTimeConstants> {
  void runOnOperation() override {
    Homes homes(getOperation());
    LoadFunction load(getOperation());
    bool moved = false;
    for (auto func : llvm::to_vector(getOperation().getOps<func::FuncOp>()))
      if (!func.isExternal() && func.isPublic() && !func->hasAttr(kAtLoadAttr))
        moved |= Splitter(func, load, homes).run();
    if (moved)
      dropUnused(load);
  }

  /// What the functions do not use any more, since a later value is made of it, needs no room.
  void dropUnused(LoadFunction &load) {
    DenseMap<int64_t, SmallVector<std::pair<func::FuncOp, unsigned>>> uses;
    for (auto func : getOperation().getOps<func::FuncOp>())
      // From the first on: what was found stays where it is when a later one goes.
      for (unsigned i = 0; i < func.getNumArguments();) {
        int64_t number = onceOf(func, i);
        if (number >= 0 && func.getArgument(i).use_empty()) {
          (void)func.eraseArgument(i);
          continue;
        }
        if (number >= 0)
          uses[number].push_back({func, i});
        ++i;
      }
    func::FuncOp func = load.get();
    unsigned next = 0;
    for (unsigned number = 0, end = func.getNumResults(); number < end; ++number) {
      if (!uses.contains(number)) {
        load.terminator()->eraseOperand(next);
        (void)func.eraseResult(next);
        continue;
      }
      for (auto [user, argument] : uses[number])
        user.setArgAttr(argument, kOnceAttr, Builder(&getContext()).getI64IntegerAttr(next));
      ++next;
    }
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(func.getBody().front())))
      if (op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
        op.erase();
  }
};
} // namespace
