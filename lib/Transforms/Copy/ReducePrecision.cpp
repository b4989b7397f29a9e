// Rounds what products of f32 multiply to a narrower type; their accumulators stay f32 (--math).
//
// It stands between Place and Copy: what is rounded may depend on who computes it, and operands
// travel between devices in half the bytes. A value is rounded by an op of its own behind what
// makes it, once for all that read it, so that it goes into the kernel that makes it where it can;
// on the device that makes it, unless something reads it as it is on the other one, too. What comes
// from outside is rounded where it is read: no kernel makes it. Constants are rounded here: a plan
// has them in the narrow type alone, unless something else reads them as they are.
//
// Products of matrices are rounded everywhere. Of attention, whose weights are sharper than what
// they are made of, and of convolutions a target says what it rounds (Target::mayRound).

#include "gantry/Analysis/AttentionProducts.h"
#include "gantry/Analysis/Homes.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/RoundElements.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/TargetMap.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_REDUCEPRECISIONPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Ops that only move elements of their first operand.
static bool isMove(Operation *op) { return isa<TransposeOp, SliceOp>(op) || isView(op); }

/// A border of one value; in front of a convolution it goes into its kernel.
static bool isBorder(Operation *op) {
  auto pad = dyn_cast<PadOp>(op);
  return pad && pad.getMode() == PadMode::Constant;
}

static bool isF32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }

static DeviceAttr deviceOf(Operation *op) { return op->getAttrOfType<DeviceAttr>(kDeviceAttr); }

namespace {
/// An operand that is to be narrow.
struct Rounding {
  OpOperand *use;     ///< whose value is rounded
  Operation *product; ///< for which
  StringRef suffix;   ///< of the name of what rounds it
};

/// One function.
class Reducer {
public:
  Reducer(FloatType element, const TargetMap &targets, const Homes &homes)
      : element(element), targets(targets), homes(homes), builder(element.getContext()) {}

  void run(func::FuncOp func) {
    func.walk([&](Operation *op) {
      if (const Target *target = targetOf(op))
        target->replaceByConvolution(op, typeOn(op), element);
    });
    collect(func);
    for (const Rounding &rounding : roundings)
      uses.insert(rounding.use);
    for (const Rounding &rounding : roundings)
      round(rounding);
    eraseUnused();
  }

private:
  /// The target whose op it is alone; null where there are several.
  const Target *targetOf(Operation *op) const {
    ArrayRef<const Target *> all = targets.targetsOf(op);
    return all.size() == 1 ? all.front() : nullptr;
  }

  static DeviceType typeOn(Operation *op) {
    DeviceAttr device = deviceOf(op);
    return device && device.getName().type ? *device.getName().type : DeviceType::CPU;
  }

  bool isRoundedByTarget(Operation *op) const {
    const Target *target = targetOf(op);
    return target && llvm::all_of(op->getOperands(), isF32) &&
           target->mayRound(op, typeOn(op), element, targets.configOf(target->getName()));
  }

  /// What is rounded, in the order of the products; these learn that they give accumulators.
  void collect(func::FuncOp func) {
    const llvm::SetVector<MatmulOp> attention = productsOfAttention(func);
    auto never = [](Operation *) { return false; };
    func.walk([&](Operation *op) {
      if (auto conv = dyn_cast<ConvOp>(op); conv && isRoundedByTarget(op)) {
        add(conv.getInputMutable(), op, "/image", isBorder);
        add(conv.getFilterMutable(), op, "/filter", never);
        giveAccumulators(conv);
      }
      auto product = dyn_cast<MatmulOp>(op);
      if (!product || !isF32(product.getResult()) || !isF32(product.getLhs()))
        return;
      const bool isAttention = attention.contains(product);
      if (isAttention && !isRoundedByTarget(op))
        return;
      add(product.getLhsMutable(), op, "/left", isAttention ? isMove : never);
      add(product.getRhsMutable(), op, "/right", isAttention ? isMove : never);
      giveAccumulators(product);
    });
  }

  /// The operand, or what it is made of by ops for this use alone, which are narrow then, too.
  void add(OpOperand &operand, Operation *product, StringRef suffix,
           function_ref<bool(Operation *)> passes) {
    OpOperand *use = &operand;
    for (Operation *op = use->get().getDefiningOp();
         op && op->hasOneUse() && passes(op) && (isView(op) || deviceOf(op) == deviceOf(product));
         op = use->get().getDefiningOp()) {
      between.insert(op);
      if (auto pad = dyn_cast<PadOp>(op))
        roundings.push_back({&pad.getValueMutable(), product, ""});
      use = &op->getOpOperand(0);
    }
    roundings.push_back({use, product, suffix});
  }

  void round(const Rounding &rounding) {
    rounding.use->set(narrow(*rounding.use, rounding));
    // What stands between it and the product.
    for (Operation *op = rounding.use->getOwner(); between.contains(op);
         op = *op->getUsers().begin()) {
      Value result = op->getResult(0);
      result.setType(typeOf(result).clone(element));
    }
  }

  Value narrow(OpOperand &use, const Rounding &rounding) {
    Value value = use.get();
    if (Operation *op = value.getDefiningOp())
      unused.insert(op);
    if (Value constant = roundConstant(value))
      return constant;
    DeviceAttr there = deviceOf(rounding.product);
    Operation *maker = travelsNarrow(value, there) ? skipViews(value).getDefiningOp() : nullptr;
    Value &known = rounded[{value, maker ? deviceOf(maker) : there}];
    if (known)
      return known;
    // Behind what makes it; what comes into a block is rounded where it is first read.
    if (auto argument = dyn_cast<BlockArgument>(value))
      builder.setInsertionPoint(argument.getOwner()->findAncestorOpInBlock(*use.getOwner()));
    else
      builder.setInsertionPointAfterValue(value);
    auto cast =
        CastOp::create(builder, rounding.product->getLoc(), typeOf(value).clone(element), value);
    place(cast, maker, rounding);
    return known = cast;
  }

  /// The name is that of the product, whoever computes it.
  static void place(CastOp cast, Operation *maker, const Rounding &rounding) {
    placeLike(rounding.product, cast, rounding.suffix);
    if (!maker)
      return;
    Attribute name = cast->getAttr(kNameAttr);
    placeLike(maker, cast, "");
    if (name)
      cast->setAttr(kNameAttr, name);
  }

  /// Whether a value is rounded where a kernel makes it: on another device than the one that reads
  /// it, which needs nothing else of it.
  bool travelsNarrow(Value value, DeviceAttr there) const {
    Value source = skipViews(value);
    auto maker = source.getDefiningOp<KernelOpInterface>();
    if (!maker || isa<CopyOp>(maker) || !deviceOf(maker) || deviceOf(maker) == there)
      return false;
    SmallVector<Value> shown{source};
    for (size_t i = 0; i < shown.size(); ++i)
      for (OpOperand &use : shown[i].getUses()) {
        Operation *user = use.getOwner();
        if (isView(user))
          shown.push_back(user->getResult(0));
        auto copy = dyn_cast<CopyOp>(user);
        if (!uses.contains(&use) && (copy ? copy.getDevice() : homes.neededBy(use)) == there)
          return false;
      }
    return true;
  }

  /// A constant, and what only moves elements of one; null for others.
  Value roundConstant(Value value) {
    if (Value known = constants.lookup(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!op)
      return {};
    unused.insert(op);
    builder.setInsertionPoint(op);
    Operation *made = nullptr;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      if (ElementsAttr narrow = roundElements(constant.getValue(), element)) {
        made = ConstantOp::create(builder, constant.getLoc(), narrow);
        made->setDiscardableAttrs(constant->getDiscardableAttrDictionary());
      }
    } else if (isMove(op)) {
      if (Value source = roundConstant(op->getOperand(0))) {
        IRMapping mapping;
        mapping.map(op->getOperand(0), source);
        builder.setInsertionPoint(op);
        made = builder.clone(*op, mapping);
        made->getResult(0).setType(typeOf(value).clone(element));
      }
    }
    return made ? constants[value] = made->getResult(0) : Value();
  }

  /// Constants and moves that nobody reads in f32 any more.
  void eraseUnused() {
    while (!unused.empty()) {
      Operation *op = unused.pop_back_val();
      if (!op->use_empty() || !(isa<ConstantOp>(op) || isMove(op)))
        continue;
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          unused.insert(maker);
      op->erase();
    }
  }

  FloatType element;
  const TargetMap &targets;
  const Homes &homes;
  OpBuilder builder;

  SmallVector<Rounding> roundings;
  DenseSet<OpOperand *> uses;    ///< those of `roundings`
  DenseSet<Operation *> between; ///< moves and borders that become narrow
  DenseMap<Value, Value> constants;
  DenseMap<std::pair<Value, Attribute>, Value> rounded; ///< by value and device
  llvm::SetVector<Operation *> unused;                  ///< perhaps
};

struct ReducePrecision : gantry::impl::ReducePrecisionPassBase<ReducePrecision> {
  using ReducePrecisionPassBase::ReducePrecisionPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    FloatType element = targets.asked.getFactorType();
    if (!element)
      return;
    const Homes homes(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      Reducer(element, targets, homes).run(func);
  }
};
} // namespace
