// Groups ops into kernels and replaces each group by a launch.
//
// Ops are visited from the last to the first. An op joins the group of its users when they are all
// in one group and its index space fits; else it starts a group of its own, whose only results are
// its own. So groups have one root, never form cycles, and nothing is computed twice.

#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Longest group: beyond it code gets slower to compile, not faster to run.
static constexpr size_t kMaxOps = 32;

namespace {
struct Group {
  SmallVector<Operation *> ops; ///< root first, then in reverse order of the block
  bool onlyElementwise = true;  ///< holds neither contraction nor reduction yet
};
} // namespace

static FusionKind kindOf(Operation *op) { return cast<KernelOpInterface>(op).getFusionKind(); }

static bool isComputed(Operation &op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  return kernel && kernel.getFusionKind() != FusionKind::View;
}

static ArrayRef<int64_t> resultShape(Operation *op) {
  return cast<RankedTensorType>(op->getResult(0).getType()).getShape();
}

/// Whether `op` can be computed inside `group`, all its users being there.
static bool fits(Operation *op, const Group &group) {
  if (op->getNumResults() != 1 || group.ops.size() >= kMaxOps ||
      op->getAttr(kDeviceAttr) != group.ops.front()->getAttr(kDeviceAttr))
    return false;
  bool elementwiseUsers = llvm::all_of(
      op->getUsers(), [](Operation *user) { return kindOf(user) == FusionKind::Elementwise; });
  switch (kindOf(op)) {
  case FusionKind::Elementwise:
    // Before an elementwise op of the same index space. (In front of a reduction it would be
    // computed per tile; that is right only along whole rows, so it stays apart.)
    return elementwiseUsers && resultShape(op) == resultShape(group.ops.front());
  case FusionKind::Contraction:
  case FusionKind::Reduction:
    return elementwiseUsers && group.onlyElementwise &&
           resultShape(op) == resultShape(group.ops.front());
  default:
    return false;
  }
}

/// A constant that is cheaper inside the kernel than as an argument.
static bool belongsInside(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  auto dense = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return dense && dense.isSplat() && dense.getNumElements() == 1;
}

namespace {
struct FormKernels : gantry::impl::FormKernelsPassBase<FormKernels> {
  using FormKernelsPassBase::FormKernelsPassBase;

  ModuleOp kernels;                ///< the nested module that holds the kernels
  llvm::StringMap<KernelOp> known; ///< printed body → kernel
  llvm::StringMap<unsigned> nameCounts;

  void runOnOperation() override {
    known.clear();
    nameCounts.clear();
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(getOperation().getBody());
    kernels = ModuleOp::create(builder, getOperation().getLoc(), "kernels");
    for (auto func : getOperation().getOps<func::FuncOp>())
      func.walk([&](Block *block) { formIn(*block); });
  }

  void formIn(Block &block) {
    SmallVector<std::unique_ptr<Group>> groups;
    DenseMap<Operation *, Group *> groupOf;
    for (Operation &op : llvm::reverse(block)) {
      if (!isComputed(op))
        continue;
      Group *group = fuse ? commonGroupOfUsers(op, groupOf) : nullptr;
      if (!group || !fits(&op, *group)) {
        groups.push_back(std::make_unique<Group>());
        group = groups.back().get();
      }
      group->ops.push_back(&op);
      group->onlyElementwise &= kindOf(&op) == FusionKind::Elementwise;
      groupOf[&op] = group;
    }
    // Groups were found from the end of the block on.
    for (auto &group : llvm::reverse(groups))
      outline(*group);
  }

  /// The group that holds every user of `op`, or null.
  static Group *commonGroupOfUsers(Operation &op, const DenseMap<Operation *, Group *> &groupOf) {
    Group *common = nullptr;
    for (Operation *user : op.getUsers()) {
      Group *group = groupOf.lookup(user);
      if (!group || (common && group != common))
        return nullptr;
      common = group;
    }
    return common;
  }

  void outline(Group &group) {
    Operation *root = group.ops.front();
    OpBuilder builder(root);
    SmallVector<Operation *> ops(llvm::reverse(group.ops));
    llvm::SetVector<Value> operands;
    llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (!inside.contains(operand.getDefiningOp()) && !belongsInside(operand))
          operands.insert(operand);

    KernelOp kernel = getKernel(ops, operands.getArrayRef());
    auto launch = LaunchOp::create(builder, root->getLoc(), root->getResultTypes(),
                                   kernel.getSymName(), operands.getArrayRef(), describe(ops));
    launch->setAttr(kDeviceAttr, root->getAttr(kDeviceAttr));
    if (Attribute name = root->getAttr(kNameAttr))
      launch->setAttr(kNameAttr, name);
    root->replaceAllUsesWith(launch);
    for (Operation *op : group.ops)
      op->erase();
  }

  /// For IR that was placed by hand.
  static DecisionAttr noDecision(MLIRContext *context) {
    return DecisionAttr::get(context, "assigned", "", {}, false);
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
      entries.push_back(b.getDictionaryAttr({
          b.getNamedAttr("log_name", b.getStringAttr(kernel.getLogName())),
          b.getNamedAttr("name", name ? name : b.getStringAttr("")),
          b.getNamedAttr("location", b.getStringAttr(describeLocation(op->getLoc()))),
          b.getNamedAttr("flops", b.getI64IntegerAttr(cost ? cost.getFlops() : 0)),
          b.getNamedAttr("bytes", b.getI64IntegerAttr(cost ? cost.getBytes() : 0)),
          b.getNamedAttr("decision", decision ? decision : noDecision(&getContext())),
      }));
    }
    return b.getArrayAttr(entries);
  }

  /// The kernel that computes `ops` from `operands`: an equal one made before, or a new one.
  KernelOp getKernel(ArrayRef<Operation *> ops, ArrayRef<Value> operands) {
    OpBuilder builder(&getContext());
    Location unknown = builder.getUnknownLoc();
    auto kernel = KernelOp::create(builder, ops.back()->getLoc(), "");
    Block *body = builder.createBlock(&kernel.getBody());
    IRMapping mapping;
    for (Value operand : operands)
      mapping.map(operand, body->addArgument(operand.getType(), unknown));
    builder.setInsertionPointToEnd(body);
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (belongsInside(operand) && !mapping.contains(operand))
          mapping.map(operand, builder.clone(*operand.getDefiningOp())->getResult(0));
      Operation *copy = builder.clone(*op, mapping);
      for (StringRef attr : kPlacementAttrs)
        copy->removeAttr(attr);
    }
    SmallVector<Value> results;
    for (Value result : ops.back()->getResults())
      results.push_back(mapping.lookup(result));
    YieldOp::create(builder, unknown, results);

    std::string text;
    llvm::raw_string_ostream os(text);
    kernel->print(os, OpPrintingFlags().useLocalScope());
    KernelOp &entry = known[text];
    if (entry) {
      kernel.erase();
      return entry;
    }
    kernel.setSymName(makeName(ops));
    kernels.getBody()->push_back(kernel);
    return entry = kernel;
  }

  /// The ops' names, and a number when that is taken.
  std::string makeName(ArrayRef<Operation *> ops) {
    std::string name;
    for (Operation *op : ops.take_front(4))
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
