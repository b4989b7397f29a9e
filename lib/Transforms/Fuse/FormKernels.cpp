// Outlines each group of ops (Analysis/KernelGroups.h) into a kernel and puts a launch in its
// place.
//
// Kernels belong to targets: that of the device that they run on, and those of the other drivers
// that the plan is to run with. Each target has a module for its kernels; what is computed in the
// same way has one kernel there, and one name in all modules. What differs in numbers alone is
// computed in the same way, too, if there is much of it (ScalarParameters.h).

#include "Groups.h"
#include "ScalarParameters.h"

#include "gantry/Analysis/PanelLayout.h"
#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/FreshSymbols.h"
#include "gantry/Dialect/Gantry/IR/OpForm.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Target/TargetMap.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Whether what lies side by side along the axis lies one behind the other in memory.
static bool isOutermost(ArrayRef<int64_t> shape, int64_t axis) {
  return llvm::all_of(shape.take_front(axis), [](int64_t size) { return size == 1; });
}

/// The operands that the result is, one behind the other; empty where it is something else.
static SmallVector<int64_t> joinedBy(Operation *op, LaunchOp launch) {
  SmallVector<int64_t> joined;
  auto concat = dyn_cast<ConcatOp>(op);
  if (!concat || !isOutermost(shapeOf(concat.getResult()), concat.getAxis()))
    return joined;
  for (Value input : concat.getInputs()) {
    auto operands = launch->getOperands();
    auto at = llvm::find(operands, input);
    if (at == operands.end())
      return {}; // a constant in the kernel
    joined.push_back(at - operands.begin());
  }
  return joined;
}

/// The bytes of the operand at which the results begin; empty where they are not a row of its
/// bytes.
static SmallVector<int64_t> cutBy(Operation *op) {
  SmallVector<int64_t> cuts;
  if (auto split = dyn_cast<SplitOp>(op)) {
    int64_t begin = 0;
    if (isOutermost(shapeOf(split.getInput()), split.getAxis()))
      for (Value result : split.getResults()) {
        cuts.push_back(begin);
        begin += getByteSize(cast<RankedTensorType>(result.getType()));
      }
  } else if (auto slice = dyn_cast<SliceOp>(op)) {
    ArrayRef<int64_t> whole = shapeOf(slice.getInput()), sizes = slice.getSizes();
    int64_t axis = whole.size(); // the last one that is cut
    while (axis > 0 && whole[axis - 1] == sizes[axis - 1])
      --axis;
    if (!llvm::all_of(slice.getSteps(), [](int64_t step) { return step == 1; }) ||
        !isOutermost(sizes, std::max<int64_t>(axis - 1, 0)))
      return cuts;
    int64_t begin = 0, elements = 1;
    for (auto [size, start] : llvm::zip(whole, slice.getStarts()))
      begin = begin * size + start, elements *= size;
    if (elements > 0)
      cuts.push_back(begin *
                     (getByteSize(cast<RankedTensorType>(slice.getInput().getType())) / elements));
  }
  return cuts;
}

/// For Memory, which may place a result so that there is nothing to move.
static void noteMove(Operation *op, LaunchOp launch) {
  Builder b(op->getContext());
  if (SmallVector<int64_t> joined = joinedBy(op, launch); !joined.empty())
    launch->setAttr(kJoinsAttr, b.getDenseI64ArrayAttr(joined));
  if (SmallVector<int64_t> cuts = cutBy(op); !cuts.empty() && launch->getNumOperands() == 1)
    launch->setAttr(kCutsAttr, b.getDenseI64ArrayAttr(cuts));
}

namespace {
struct FormKernels : gantry::impl::FormKernelsPassBase<FormKernels> {
  using FormKernelsPassBase::FormKernelsPassBase;

  /// The targets that a device's kernels are for, its own first.
  using Targets = ArrayRef<const Target *>;

  /// A body that is computed somewhere.
  struct Known {
    std::string name;
    llvm::SmallPtrSet<const Target *, 1> in; ///< those whose module has it
  };

  llvm::MapVector<const Target *, ModuleOp> modules;
  llvm::StringMap<Known> known; ///< by printed body
  llvm::StringMap<unsigned> nameCounts;
  /// The layout that some kernel wants of a constant that several read, by its value and device.
  DenseMap<std::pair<Attribute, Attribute>, Attribute> wanted;
  ScalarParameters scalarParameters;
  std::optional<TargetMap> targets;

  void runOnOperation() override {
    modules.clear();
    known.clear();
    nameCounts.clear();
    wanted.clear();
    scalarParameters = ScalarParameters();
    targets.emplace(getOperation());
    // That of the host is there even when it has nothing to do.
    moduleOf(findTarget(driverName(Driver::host)));
    std::vector<std::vector<KernelGroup>> blocks;
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk([&](Block *block) { blocks.push_back(kernelGroupsOf(*block, *targets, fuse)); });
    for (const std::vector<KernelGroup> &groups : blocks)
      for (const KernelGroup &group : groups)
        noteNumbers(group);
    for (const std::vector<KernelGroup> &groups : blocks)
      form(groups);
  }

  /// The module for a target's kernels, at the end of the whole.
  ModuleOp moduleOf(const Target *target) {
    ModuleOp &module = modules[target];
    if (module)
      return module;
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    StringAttr name = FreshSymbols(getOperation()).take("kernels_" + target->getName());
    module = ModuleOp::create(builder, getOperation().getLoc(), name.getValue());
    module->setAttr(kTargetAttr, targets->configOf(target->getName()));
    return module;
  }

  void noteNumbers(const KernelGroup &group) {
    llvm::SetVector<Value> numbers = ScalarParameters::find(group.ops);
    if (numbers.empty())
      return;
    llvm::SetVector<Value> operands = operandsOf(group);
    operands.insert_range(numbers);
    scalarParameters.add(group.ops.back(), numbers.getArrayRef(),
                         textOf(*makeBody(group, operands.getArrayRef())));
  }

  void form(const std::vector<KernelGroup> &groups) {
    // Those that can read a constant as others want it may come before them.
    for (const KernelGroup &group : groups)
      noteWishes(group);
    for (const KernelGroup &group : groups)
      outline(group);
  }

  /// What a kernel of these ops has as arguments.
  llvm::SetVector<Value> operandsOf(const KernelGroup &group) const {
    llvm::SetVector<Value> operands;
    llvm::SmallPtrSet<Operation *, 8> inside(group.ops.begin(), group.ops.end());
    for (Operation *op : group.ops)
      for (Value operand : op->getOperands())
        if (!inside.contains(operand.getDefiningOp()) &&
            (!belongsInKernel(operand) || scalarParameters.has(group.ops.back(), operand)))
          operands.insert(operand);
    return operands;
  }

  static ConstantOp findConstant(Value operand) {
    return skipViews(operand).getDefiningOp<ConstantOp>();
  }

  std::pair<Attribute, Attribute> keyOf(ConstantOp constant, Operation *user) {
    return {constant.getValueAttr(), user->getAttr(kDeviceAttr)};
  }

  void noteWishes(const KernelGroup &group) {
    llvm::SetVector<Value> operands = operandsOf(group);
    auto isShared = [](Value operand) {
      ConstantOp constant = findConstant(operand);
      return constant && !constant->hasOneUse();
    };
    if (llvm::none_of(operands, isShared))
      return;
    OwningOpRef<KernelOp> body = makeBody(group, operands.getArrayRef());
    for (auto [i, operand] : llvm::enumerate(operands))
      if (isShared(operand))
        if (Attribute layout = agreedLayout(*body, i, targets->targetsOf(group.place)))
          wanted.try_emplace(keyOf(findConstant(operand), group.place), layout);
  }

  /// A kernel has the name of the last op whose results it has.
  void outline(const KernelGroup &group) {
    Operation *root = group.roots.back();
    OpBuilder builder(group.place);
    llvm::SetVector<Value> operands = operandsOf(group);
    SmallVector<Attribute> kernels =
        getKernels(group, operands.getArrayRef(), targets->targetsOf(root));
    SmallVector<Value> results = resultsOf(group);
    auto launch =
        LaunchOp::create(builder, root->getLoc(), TypeRange(ValueRange(results)),
                         cast<SymbolRefAttr>(kernels.front()), operands.getArrayRef(),
                         builder.getArrayAttr(ArrayRef(kernels).drop_front()), describe(group.ops));
    launch->setAttr(kDeviceAttr, root->getAttr(kDeviceAttr));
    SmallVector<Attribute> forms(llvm::map_range(group.ops, formOf));
    launch->setAttr(kFormsAttr, builder.getArrayAttr(forms));
    if (Attribute name = root->getAttr(kNameAttr))
      launch->setAttr(kNameAttr, name);
    if (group.ops.size() == 1)
      noteMove(root, launch);
    for (auto [from, to] : llvm::zip(results, launch->getResults()))
      from.replaceAllUsesWith(to);
    for (Operation *op : llvm::reverse(group.ops))
      op->erase();
  }

  static SmallVector<Value> resultsOf(const KernelGroup &group) {
    SmallVector<Value> results;
    for (Operation *root : group.roots)
      llvm::append_range(results, root->getResults());
    return results;
  }

  /// For IR that was placed by hand.
  static DecisionAttr noDecision(MLIRContext *context) {
    return DecisionAttr::get(context, "assigned", "", {}, false);
  }

  /// Its name in the log, with what it multiplies where its result is wider: "MatMul(bf16)".
  static std::string logNameOf(Operation *op) {
    std::string name = cast<KernelOpInterface>(op).getLogName().str();
    if (!givesAccumulators(op))
      return name;
    llvm::raw_string_ostream(name) << "(" << getElementTypeOrSelf(op->getOperand(0)) << ")";
    return name;
  }

  /// What the placement log and `explain` say about the ops of a kernel.
  ArrayAttr describe(ArrayRef<Operation *> ops) {
    Builder b(&getContext());
    SmallVector<Attribute> entries;
    for (Operation *op : ops) {
      auto kernel = cast<KernelOpInterface>(op);
      auto name = op->getAttrOfType<StringAttr>(kNameAttr);
      auto cost = dyn_cast<CostOpInterface>(op);
      auto decision = op->getAttrOfType<DecisionAttr>(kPlacementAttr);
      auto source = op->getAttrOfType<StringAttr>(kSourceOpAttr);
      entries.push_back(LaunchedOpAttr::get(
          &getContext(), logNameOf(op), name ? name.getValue() : "", describeLocation(op->getLoc()),
          cost ? cost.getFlops() : 0, cost ? cost.getBytes() : 0,
          decision ? decision : noDecision(&getContext()), nodeNameOf(op->getLoc()),
          source                  ? source.getValue()
          : givesAccumulators(op) ? kernel.getLogName()
                                  : "",
          fusionKindName(kernel.getFusionKind())));
    }
    return b.getArrayAttr(entries);
  }

  static std::string textOf(KernelOp kernel) {
    std::string text;
    llvm::raw_string_ostream os(text);
    kernel->print(os, OpPrintingFlags().useLocalScope());
    return text;
  }

  /// What computes a group from `operands`, for each target: kernels made before or new ones.
  SmallVector<Attribute> getKernels(const KernelGroup &group, ArrayRef<Value> operands,
                                    Targets targets) {
    OwningOpRef<KernelOp> body = makeBody(group, operands);
    chooseLayouts(*body, operands, group.place);
    Known &entry = known[textOf(*body)];
    if (entry.name.empty())
      entry.name = makeName(group.ops);
    SmallVector<Attribute> symbols;
    for (const Target *target : targets) {
      ModuleOp module = moduleOf(target);
      if (entry.in.insert(target).second)
        addKernel(module, target, *body, entry.name);
      symbols.push_back(SymbolRefAttr::get(module.getSymNameAttr(),
                                           FlatSymbolRefAttr::get(&getContext(), entry.name)));
    }
    return symbols;
  }

  /// The layout that all targets want of a constant, or null.
  static Attribute agreedLayout(KernelOp kernel, unsigned argument, Targets targets) {
    Attribute layout = targets.front()->getLayoutOfConstant(kernel, argument);
    bool agree = llvm::all_of(targets, [&](const Target *target) {
      return target->getLayoutOfConstant(kernel, argument) == layout;
    });
    return agree ? layout : Attribute();
  }

  /// The layout in which another kernel wants the constant, if this one can read it so.
  Attribute layoutOfOthers(KernelOp kernel, unsigned argument, ConstantOp constant,
                           Operation *root) {
    Attribute layout = wanted.lookup(keyOf(constant, root));
    bool canRead = layout && llvm::all_of(targets->targetsOf(root), [&](const Target *target) {
                     return target->canReadLayout(kernel, argument, layout);
                   });
    return canRead ? layout : Attribute();
  }

  /// Whether the constant is wanted as it is, by what is no product or a kernel without layouts.
  static bool isReadPlain(Value constant) {
    return llvm::any_of(constant.getUses(), [](OpOperand &use) {
      if (isView(use.getOwner()))
        return isReadPlain(use.getOwner()->getResult(0));
      auto launch = dyn_cast<LaunchOp>(use.getOwner());
      auto op = dyn_cast<KernelOpInterface>(use.getOwner());
      if (!launch)
        return !op || op.getFusionKind() != FusionKind::Contraction;
      auto kernel = SymbolTable::lookupNearestSymbolFrom<KernelOp>(launch, launch.getKernelAttr());
      auto layouts = kernel ? kernel->getAttrOfType<ArrayAttr>(kLayoutsAttr) : ArrayAttr();
      return !layouts || isa<UnitAttr>(layouts[use.getOperandNumber()]);
    });
  }

  /// Constants in the layout that the targets want; when they differ, as they are.
  void chooseLayouts(KernelOp kernel, ArrayRef<Value> operands, Operation *root) {
    Builder b(&getContext());
    SmallVector<Attribute> layouts(operands.size(), b.getUnitAttr());
    bool any = false;
    for (auto [i, operand] : llvm::enumerate(operands)) {
      ConstantOp constant = findConstant(operand);
      if (!constant || (keepOnce && isReadPlain(constant)))
        continue;
      Attribute layout = agreedLayout(kernel, i, targets->targetsOf(root));
      if (!layout && operand == constant.getResult())
        layout = layoutOfOthers(kernel, i, constant, root);
      if (!layout)
        continue;
      layouts[i] = layout;
      any = true;
    }
    if (any)
      kernel->setAttr(kLayoutsAttr, b.getArrayAttr(layouts));
  }

  void addKernel(ModuleOp module, const Target *target, KernelOp body, StringRef name) {
    auto kernel = cast<KernelOp>(body->clone());
    kernel.setSymName(name);
    module.getBody()->push_back(kernel);
    if (SmallVector<InPlace> inPlace = target->getArgumentsToOverwrite(kernel); !inPlace.empty())
      kernel->setAttr(kWorkAttr, withInPlaces(WorkAttr::of(kernel), inPlace));
  }

  OwningOpRef<KernelOp> makeBody(const KernelGroup &group, ArrayRef<Value> operands) {
    OpBuilder builder(&getContext());
    Location unknown = builder.getUnknownLoc();
    auto kernel = KernelOp::create(builder, group.roots.back()->getLoc(), "");
    Block *body = builder.createBlock(&kernel.getBody());
    IRMapping mapping;
    for (Value operand : operands)
      mapping.map(operand, body->addArgument(operand.getType(), unknown));
    builder.setInsertionPointToEnd(body);
    for (Operation *op : group.ops) {
      for (Value operand : op->getOperands())
        if (belongsInKernel(operand) && !mapping.contains(operand)) {
          Operation *number = builder.clone(*operand.getDefiningOp());
          number->setDiscardableAttrs(builder.getDictionaryAttr({})); // its name
          mapping.map(operand, number->getResult(0));
        }
      builder.clone(*op, mapping)->setDiscardableAttrs(builder.getDictionaryAttr({}));
    }
    SmallVector<Value> results;
    for (Value result : resultsOf(group))
      results.push_back(mapping.lookup(result));
    YieldOp::create(builder, unknown, results);
    return kernel;
  }

  /// The ops' names, and a number when that is taken. Transposes and slices that others read
  /// through say least.
  std::string makeName(ArrayRef<Operation *> all) {
    SmallVector<Operation *> ops;
    llvm::copy_if(all, std::back_inserter(ops),
                  [](Operation *op) { return !isa<TransposeOp, SliceOp>(op); });
    if (ops.empty() || all.size() <= 4)
      ops.assign(all.begin(), all.end());
    std::string name;
    for (Operation *op : ArrayRef(ops).take_front(4))
      name += (name.empty() ? "" : "_") + op->getName().stripDialect().str();
    if (ops.size() > 4)
      name += "_and_" + std::to_string(ops.size() - 4);
    // Kernels and functions share the names of a plan.
    std::string numbered;
    do
      numbered = name + "_" + std::to_string(nameCounts[name]++);
    while (getOperation().lookupSymbol(numbered));
    return numbered;
  }
};
} // namespace
