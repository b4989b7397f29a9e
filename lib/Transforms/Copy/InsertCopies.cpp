// Makes every edge between devices a gantry.copy.
//
// One copy per (value, target device) however many uses it has, right behind the definition of the
// value: there it starts as early as it can, outside of the loops and branches that use it. Views
// have the bytes of their source, so what is copied is the source, and the view is made again on
// the other side. Constants need none: a plan has them on each device that reads them.

#include "Homes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_INSERTCOPIESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

namespace {
/// One function.
struct Inserter {
  explicit Inserter(const copy::Homes &homes) : homes(homes) {}

  const copy::Homes &homes;
  DenseMap<std::pair<Value, Attribute>, Value> copies; ///< of (value, device)
  DenseMap<void *, Operation *> last; ///< last copy behind an op or at the top of a block

  void run(func::FuncOp func) {
    // Copies that are made on the way are not visited: they stand before what needed them.
    SmallVector<Operation *> ops;
    func.walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      visit(op);
  }

  void visit(Operation *op) {
    if (auto asked = dyn_cast<CopyOp>(op); asked && !asked.getForce())
      return dissolve(asked);
    for (OpOperand &use : op->getOpOperands())
      if (DeviceAttr needed = homes.neededBy(use))
        use.set(bring(use.get(), needed, use));
  }

  /// A copy that the graph asks for shares the one that others need.
  void dissolve(CopyOp asked) {
    auto device = DeviceAttr::get(asked.getContext(), asked.getDevice());
    Value there = asked.getInput();
    if (DeviceAttr home = homes.homeOf(there); home && home != device)
      there = bring(there, device, asked->getOpOperand(0));
    else if (!home)
      return; // a constant: where it is used decides
    asked.replaceAllUsesWith(there);
    asked.erase();
  }

  /// `value` on `device`.
  Value bring(Value value, DeviceAttr device, OpOperand &cause) {
    DeviceAttr home = homes.homeOf(value);
    if (!home || home == device)
      return value;
    auto known = copies.find({value, device});
    if (known != copies.end())
      return known->second;
    Value result;
    if (copy::isView(value.getDefiningOp())) {
      Operation *view = value.getDefiningOp();
      Value source = bring(view->getOperand(0), device, cause);
      OpBuilder builder(view);
      builder.setInsertionPointAfter(view);
      IRMapping mapping;
      mapping.map(view->getOperand(0), source);
      result = builder.clone(*view, mapping)->getResult(0);
    } else {
      result = makeCopy(value, device, cause);
    }
    return copies[{value, device}] = result;
  }

  Value makeCopy(Value value, DeviceAttr device, OpOperand &cause) {
    OpBuilder builder(value.getContext());
    // In the order in which they were asked for.
    Operation *op = value.getDefiningOp();
    Operation *&before = last[op ? static_cast<void *>(op) : value.getParentBlock()];
    if (before)
      builder.setInsertionPointAfter(before);
    else
      builder.setInsertionPointAfterValue(value);
    auto made = CopyOp::create(builder, cause.getOwner()->getLoc(), value, device.getSpelling(),
                               /*force=*/false, builder.getStringAttr(copy::describeUse(cause)));
    before = made;
    return made;
  }
};

struct InsertCopies : gantry::impl::InsertCopiesPassBase<InsertCopies> {
  using InsertCopiesPassBase::InsertCopiesPassBase;

  void runOnOperation() override {
    copy::Homes homes(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      if (explicitOnly && failed(refuseMixed(func, homes)))
        return signalPassFailure();
      Inserter(homes).run(func);
    }
  }

  /// Operands that an op needs on another device, ends of functions apart (spec P14, P16).
  static LogicalResult refuseMixed(func::FuncOp func, const copy::Homes &homes) {
    bool mixed = false;
    func.walk([&](KernelOpInterface op) {
      SmallVector<OpOperand *> elsewhere;
      for (OpOperand &use : op->getOpOperands()) {
        DeviceAttr needed = homes.neededBy(use), home = homes.homeOf(use.get());
        if (needed && home && needed != home && !isEnd(copy::skipViews(use.get())))
          elsewhere.push_back(&use);
      }
      if (elsewhere.empty())
        return;
      mixed = true;
      report(op, elsewhere, homes);
    });
    return failure(mixed);
  }

  static bool isEnd(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp());
  }

  static void report(KernelOpInterface op, ArrayRef<OpOperand *> elsewhere,
                     const copy::Homes &homes) {
    auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    auto error = op.emitError() << "'" << op.getLogName() << "' runs on '" << device.getSpelling()
                                << "', and copies are explicit: ";
    llvm::interleaveComma(elsewhere, error, [&](OpOperand *use) {
      error << "operand " << use->getOperandNumber() << " (" << copy::describeValue(use->get())
            << ") is on '" << homes.homeOf(use->get()).getSpelling() << "'";
    });
    error << "; bring it there with gantry.copy, place both on one device, or compile with "
             "--copies=auto";
    for (OpOperand *use : elsewhere)
      error.attachNote(use->get().getLoc()) << copy::describeValue(use->get()) << " is made here";
  }
};
} // namespace
