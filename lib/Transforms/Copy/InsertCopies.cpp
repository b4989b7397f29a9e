// Makes every edge between devices a gantry.copy.
//
// One copy per (value, target device) however many uses it has, right behind the definition of the
// value: there it starts as early as it can, outside of the loops and branches that use it. Views
// have the bytes of their source, so what is copied is the source, and the view is made again on
// the other side. Constants need none: a plan has them on each device that reads them.

#include "Words.h"
#include "gantry/Analysis/Homes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_INSERTCOPIESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Most ops that are refused one by one; the rest is counted.
static constexpr unsigned kReported = 10;

namespace {
/// One function.
struct Inserter {
  explicit Inserter(const Homes &homes) : homes(homes) {}

  const Homes &homes;
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
    DeviceAttr device = asked.getDevice();
    // A constant is put at load where it is used.
    Value there = bring(asked.getInput(), device, asked->getOpOperand(0));
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
    // However long a chain of views is, its last one is a view of the source itself.
    Value source = skipViews(value);
    Value result;
    if (source == value) {
      result = makeCopy(value, device, cause);
    } else {
      Operation *view = value.getDefiningOp();
      OpBuilder builder(view);
      builder.setInsertionPointAfter(view);
      IRMapping mapping;
      mapping.map(view->getOperand(0), bring(source, device, cause));
      result = builder.clone(*view, mapping)->getResult(0);
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
    auto made = CopyOp::create(builder, cause.getOwner()->getLoc(), value, device,
                               /*force=*/false, builder.getStringAttr(copy::describeUse(cause)));
    before = made;
    return made;
  }
};

struct InsertCopies : gantry::impl::InsertCopiesPassBase<InsertCopies> {
  using InsertCopiesPassBase::InsertCopiesPassBase;

  void runOnOperation() override {
    Homes homes(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      if (explicitOnly && failed(refuseMixed(func, homes)))
        return signalPassFailure();
      Inserter(homes).run(func);
    }
  }

  /// Operands that an op needs on another device, ends of functions apart that name none (spec P14,
  /// P16). A constant counts when the graph says where it is.
  static LogicalResult refuseMixed(func::FuncOp func, const Homes &homes) {
    unsigned refused = 0;
    func.walk([&](Operation *op) {
      if (isa<AssertIndicesOp>(op))
        return; // that is no op of the graph
      SmallVector<OpOperand *> elsewhere;
      for (OpOperand &use : op->getOpOperands()) {
        DeviceAttr needed = homes.neededBy(use), home = homes.askedHomeOf(use.get());
        if (needed && home && needed != home && !isEnd(use))
          elsewhere.push_back(&use);
      }
      if (!elsewhere.empty() && ++refused <= kReported)
        report(op, elsewhere, homes);
    });
    if (refused > kReported)
      func.emitError() << "and " << refused - kReported << " more ops of '@" << func.getSymName()
                       << "' have operands on other devices";
    return failure(refused != 0);
  }

  /// Whether one side of the edge is an argument or result of the function that is on the host
  /// because it names no device. Variables are where they live.
  static bool isEnd(OpOperand &use) {
    if (isa<func::ReturnOp>(use.getOwner())) {
      auto func = cast<func::FuncOp>(use.getOwner()->getParentOp());
      if (!func.getResultAttr(use.getOperandNumber(), kDeviceAttr))
        return true;
    }
    auto argument = dyn_cast<BlockArgument>(skipViews(use.get()));
    auto func =
        argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
    return func && !func.getArgAttr(argument.getArgNumber(), kVariableAttr) &&
           !func.getArgAttr(argument.getArgNumber(), kDeviceAttr);
  }

  static void report(Operation *op, ArrayRef<OpOperand *> elsewhere, const Homes &homes) {
    auto kernel = dyn_cast<KernelOpInterface>(op);
    auto device = op->getAttrOfType<DeviceAttr>(kDeviceAttr);
    // What a terminator gives is an operand of the branch or loop.
    const bool isReturn = isa<func::ReturnOp>(op);
    Operation *named = op->hasTrait<OpTrait::IsTerminator>() && !isReturn ? op->getParentOp() : op;
    auto error = named->emitError();
    if (kernel && device)
      error << "'" << kernel.getLogName() << "' runs on '" << device.getSpelling() << "'";
    else if (isReturn)
      error << "'@" << cast<func::FuncOp>(op->getParentOp()).getSymName()
            << "' gives values on other devices than they are made on";
    else
      error << "'" << named->getName() << "' takes values from other devices";
    error << ", and copies are explicit: ";
    llvm::interleaveComma(elsewhere, error, [&](OpOperand *use) {
      error << "operand " << use->getOperandNumber() << " (" << copy::describeValue(use->get())
            << ") is on '" << homes.askedHomeOf(use->get()).getSpelling() << "'";
      if (DeviceAttr needed = homes.neededBy(*use); needed != device)
        error << " and needed on '" << needed.getSpelling() << "'";
    });
    error << "; bring it there with gantry.copy, place both on one device, or compile with "
             "--copies=auto";
    for (OpOperand *use : elsewhere)
      error.attachNote(skipViews(use->get()).getLoc())
          << copy::describeValue(use->get()) << " is made here";
  }
};
} // namespace
