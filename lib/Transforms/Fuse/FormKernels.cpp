// Outlines each group of ops (Analysis/KernelGroups.cpp) into a kernel and puts a launch in its
// place.

#include "gantry/Analysis/KernelGroups.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_FORMKERNELSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

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
    auto mayJoin = [&](Operation *op, Operation *root) {
      return fuse && op->getAttr(kDeviceAttr) == root->getAttr(kDeviceAttr);
    };
    for (const KernelGroup &group : groupIntoKernels(block, mayJoin))
      outline(group);
  }

  void outline(const KernelGroup &ops) {
    Operation *root = ops.back();
    OpBuilder builder(root);
    llvm::SetVector<Value> operands;
    llvm::SmallPtrSet<Operation *, 8> inside(ops.begin(), ops.end());
    for (Operation *op : ops)
      for (Value operand : op->getOperands())
        if (!inside.contains(operand.getDefiningOp()) && !belongsInKernel(operand))
          operands.insert(operand);

    KernelOp kernel = getKernel(ops, operands.getArrayRef());
    auto launch = LaunchOp::create(builder, root->getLoc(), root->getResultTypes(),
                                   kernel.getSymName(), operands.getArrayRef(), describe(ops));
    launch->setAttr(kDeviceAttr, root->getAttr(kDeviceAttr));
    if (Attribute name = root->getAttr(kNameAttr))
      launch->setAttr(kNameAttr, name);
    root->replaceAllUsesWith(launch);
    for (Operation *op : llvm::reverse(ops))
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
        if (belongsInKernel(operand) && !mapping.contains(operand))
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
