// Makes ops of the formulas of Optimizers.def.
//
// A formula is read anew for each step, and each of its parts becomes a number that is known, a
// scalar of f64, or a tensor. Numbers are computed here; a scalar is rounded where it meets a
// tensor, once.
//
// What follows from the rate and the number of the step alone is the same for all variables of an
// optimizer, and has the optimizer's name, not theirs: gantry-merge-ops makes one of it.

#include "gantry/Dialect/Gantry/IR/Optimizers.h"
#include "gantry/Dialect/Gantry/IR/Requests.h"
#include "gantry/Dialect/Gantry/IR/StepParts.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDOPTIMIZERSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

//===----------------------------------------------------------------------===//
// Parts of a formula
//===----------------------------------------------------------------------===//

namespace {
struct Part {
  double number = 0;     ///< where there is no value
  Value value = {};      ///< tensor<f64>, or of the variable's shape
  bool isTensor = false; ///< it is of the variable's shape
  bool isOwn = false;    ///< it depends on the variable, its gradient or its slots

  bool is(double x) const { return !value && number == x; }
};

/// Whose request counts for the ops of a step: the step's own, else the variable's, since all that
/// they read and write is there. In a replica each device has its own.
Operation *requesterOf(OptimizerStepOp op, VariableOp variable) {
  return hasRequest(op) || op->getParentOfType<ReplicateOp>() ? op.getOperation()
                                                              : variable.getOperation();
}

/// Elements of a variable whose sum is made by itself (python-bindings/gantry/optim.py has it,
/// too).
static constexpr int64_t kBlock = 4096;

/// Makes the ops of one step. Elements are `element`, f32 where the variable's are narrower.
class PartBuilder {
public:
  PartBuilder(OptimizerStepOp op, VariableOp variable, FloatType element)
      : builder(op), location(ofStepPart(op.getLoc(), StepPart::update)),
        requester(requesterOf(op, variable)), element(element),
        sharedName(builder.getStringAttr(op.getSlots().value_or(op.getRule()))),
        ownName(builder.getStringAttr(op.getVariable() + "/" + sharedName.getValue())) {}

  Part add(Part a, Part b) {
    if (!a.value && !b.value)
      return {a.number + b.number};
    return a.is(0) ? b : b.is(0) ? a : make<AddOp>(a, b);
  }
  Part subtract(Part a, Part b) {
    if (!a.value && !b.value)
      return {a.number - b.number};
    return b.is(0) ? a : make<SubOp>(a, b);
  }
  Part multiply(Part a, Part b) {
    if (!a.value && !b.value)
      return {a.number * b.number};
    if (a.is(0) || b.is(0))
      return {};
    return a.is(1) ? b : b.is(1) ? a : make<MulOp>(a, b);
  }
  Part divide(Part a, Part b) {
    if (!a.value && !b.value)
      return {a.number / b.number};
    return a.is(0) || b.is(1) ? a : make<DivOp>(a, b);
  }
  Part power(Part a, Part b) {
    return a.value || b.value ? make<PowOp>(a, b) : Part{std::pow(a.number, b.number)};
  }
  Part maximum(Part a, Part b) {
    return a.value || b.value ? make<MaximumOp>(a, b) : Part{std::fmax(a.number, b.number)};
  }
  template <typename Op>
  Part unary(Part a) {
    return {0, named(Op::create(builder, location, a.value.getType(), a.value), a.isOwn),
            a.isTensor, a.isOwn};
  }

  /// The root of the sum of all squares, a scalar.
  Part norm(Part a) {
    Value x = valueOf(a, /*asElement=*/true);
    Value squares = sumByBlocks(own(MulOp::create(builder, location, x, x)));
    return unary<SqrtOp>({0, cast(squares, builder.getF64Type()), false, /*isOwn=*/true});
  }

  /// Over blocks of elements, then over blocks in order: the same wherever the blocks are.
  Value sumByBlocks(Value x) {
    const int64_t size = typeOf(x).getNumElements(), blocks = size / kBlock;
    if (size <= kBlock) {
      auto all = llvm::to_vector(llvm::seq<int64_t>(0, typeOf(x).getRank()));
      return all.empty() ? x : sum(x, all);
    }
    Value flat = shaped(x, {size});
    Value sums = sum(shaped(range(flat, 0, blocks * kBlock), {blocks, kBlock}), {1});
    if (int64_t rest = size % kBlock) {
      Value last = shaped(sum(range(flat, size - rest, rest), {0}), {1});
      sums = own(ConcatOp::create(builder, location, typeOf(sums).clone({blocks + 1}),
                                  ValueRange{sums, last}, /*axis=*/0));
    }
    return sum(sums, {0});
  }
  Value sum(Value x, ArrayRef<int64_t> axes) {
    return own(ReduceSumOp::create(builder, location, x, axes, /*keep_dims=*/false));
  }
  Value shaped(Value x, ArrayRef<int64_t> shape) {
    return typeOf(x).getShape() == shape
               ? x
               : own(ReshapeOp::create(builder, location, typeOf(x).clone(shape), x));
  }
  /// Of a vector.
  Value range(Value x, int64_t begin, int64_t size) {
    if (typeOf(x).getNumElements() == size)
      return x;
    return own(SliceOp::create(builder, location, typeOf(x).clone({size}), x,
                               ArrayRef<int64_t>{begin}, ArrayRef<int64_t>{size},
                               ArrayRef<int64_t>{1}));
  }
  /// a / b of norms, 1 where one of them is 0.
  Part ratio(Part a, Part b) {
    Part one{1}, quotient = divide(a, b);
    for (Part part : {a, b}) {
      auto isAbove =
          CompareOp::create(builder, location, CompareDirection::GT,
                            valueOf(part, /*asElement=*/false), valueOf({0}, /*asElement=*/false));
      quotient = {0,
                  own(SelectOp::create(builder, location, own(isAbove),
                                       valueOf(quotient, /*asElement=*/false),
                                       valueOf(one, /*asElement=*/false))),
                  /*isTensor=*/false, /*isOwn=*/true};
    }
    return quotient;
  }

  /// As a tensor of elements of `type`.
  Value cast(Value value, Type type, bool isOwn = true) {
    RankedTensorType from = typeOf(value);
    if (from.getElementType() == type)
      return value;
    return named(CastOp::create(builder, location, from.clone(type), value), isOwn);
  }
  /// As a tensor of the given shape; a scalar is stretched.
  Value filling(Part part, RankedTensorType type) {
    Value value = cast(valueOf(part, /*asElement=*/true), type.getElementType());
    if (typeOf(value).getShape() == type.getShape())
      return value;
    return own(BroadcastOp::create(builder, location, type, value));
  }
  /// The wide copy, or the variable itself where the copy is not what the variable was rounded
  /// from: at the first step, and where something else has assigned it.
  Value newest(Value master, Value weight) {
    Value rounded = cast(master, typeOf(weight).getElementType());
    Value same = own(CompareOp::create(builder, location, CompareDirection::EQ, rounded, weight));
    return own(SelectOp::create(builder, location, same, master, cast(weight, element)));
  }
  /// As a scalar of f64.
  Value scalar(Part part) { return valueOf(part, /*asElement=*/false); }

private:
  template <typename Op>
  Part make(Part a, Part b) {
    const bool isTensor = a.isTensor || b.isTensor, isOwn = a.isOwn || b.isOwn;
    return {0,
            named(Op::create(builder, location, valueOf(a, isTensor), valueOf(b, isTensor)), isOwn),
            isTensor, isOwn};
  }

  /// With elements of the step, or as a scalar of f64.
  Value valueOf(Part part, bool asElement) {
    Type wanted = asElement ? element : builder.getF64Type();
    if (part.value)
      return cast(part.value, wanted, part.isOwn);
    auto type = RankedTensorType::get({}, wanted);
    auto number = builder.getFloatAttr(wanted, part.number);
    return ConstantOp::create(builder, location, DenseElementsAttr::get(type, Attribute(number)));
  }

  template <typename Op>
  Value own(Op made) {
    return named(made, /*isOwn=*/true);
  }
  template <typename Op>
  Value named(Op made, bool isOwn) {
    made->setAttr(kNameAttr, isOwn ? ownName : sharedName);
    inheritRequest(requester, made);
    return made->getResult(0);
  }

  OpBuilder builder;
  Location location;
  Operation *requester;
  FloatType element;
  StringAttr sharedName, ownName;
};

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// Computes statements "name = expression; ...", whose names are looked up by `read`.
class Formula {
public:
  Formula(StringRef text, PartBuilder &parts, function_ref<Part(StringRef)> read,
          function_ref<void(StringRef, Part)> write)
      : text(text), parts(parts), read(read), write(write) {}

  void run() {
    while (!(text = text.ltrim("; ")).empty()) {
      StringRef name = takeName();
      [[maybe_unused]] bool isAssignment = take('=');
      assert(isAssignment && "a statement of a formula is an assignment");
      write(name, sum());
    }
  }

private:
  Part sum() {
    Part left = product();
    while (true) {
      if (take('+'))
        left = parts.add(left, product());
      else if (take('-'))
        left = parts.subtract(left, product());
      else
        return left;
    }
  }

  /// What is multiplied by 0 is read over.
  Part product() {
    Part left = power();
    while (true) {
      const char sign = next();
      if (sign != '*' && sign != '/')
        return left;
      take(sign);
      isSkipping += left.is(0);
      Part right = power();
      isSkipping -= left.is(0);
      if (!isSkipping && !left.is(0))
        left = sign == '*' ? parts.multiply(left, right) : parts.divide(left, right);
    }
  }

  Part power() {
    Part base = primary();
    if (!take('^'))
      return base;
    Part exponent = primary();
    return isSkipping ? Part() : parts.power(base, exponent);
  }

  Part primary() {
    if (take('('))
      return closed(sum());
    if (llvm::isDigit(next())) {
      StringRef digits = text.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
      text = text.drop_front(digits.size());
      double number = 0;
      digits.getAsDouble(number);
      return {number};
    }
    StringRef name = takeName();
    if (!take('('))
      return isSkipping ? Part() : read(name);
    Part first = sum();
    if (take(','))
      return closed(call(name, first, sum()));
    return closed(call(name, first, {}));
  }

  Part call(StringRef name, Part a, Part b) {
    if (isSkipping)
      return {};
    if (name == "max")
      return parts.maximum(a, b);
    if (name == "abs")
      return parts.unary<AbsOp>(a);
    if (name == "norm")
      return parts.norm(a);
    if (name == "ratio")
      return parts.ratio(a, b);
    if (name == "sign")
      return parts.unary<SignOp>(a);
    assert(name == "sqrt" && "a function that formulas do not know");
    return parts.unary<SqrtOp>(a);
  }

  Part closed(Part part) {
    [[maybe_unused]] bool isClosed = take(')');
    assert(isClosed && "a formula has an open parenthesis");
    return part;
  }

  char next() {
    text = text.ltrim();
    return text.empty() ? 0 : text.front();
  }
  bool take(char c) {
    if (next() != c)
      return false;
    text = text.drop_front();
    return true;
  }
  StringRef takeName() {
    next();
    StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    assert(!name.empty() && "a formula has no name where one should be");
    text = text.drop_front(name.size());
    return name;
  }

  StringRef text;
  PartBuilder &parts;
  function_ref<Part(StringRef)> read;
  function_ref<void(StringRef, Part)> write;
  unsigned isSkipping = 0;
};

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// What a variable of f16 or bf16 is updated in: in itself, updates smaller than half of its last
/// digit would be lost.
const OptimizerSlot kMaster = {"master", /*isScalar=*/false, "0"};

class Step {
public:
  Step(OptimizerStepOp op, VariableOp variable)
      : op(op), variable(variable), rule(*findOptimizer(op.getRule())),
        type(variable.getTensorType()), element(wide(type.getElementType())),
        parts(op, variable, element) {
    for (auto [name, value] : rule.numbers)
      known[name] = {value};
    if (DictionaryAttr given = op.getNumbersAttr())
      for (NamedAttribute number : given)
        known[number.getName().strref()] = {cast<FloatAttr>(number.getValue()).getValueAsDouble()};
  }

  LogicalResult expand() {
    OpBuilder builder(op);
    Value weight = ReadOp::create(builder, op.getLoc(), type, op.getVariableAttr());
    VariableOp master;
    if (type.getElementType() == element)
      known["w"] = {0, weight, true, true};
    else if (VariableOp made = master = declare(kMaster, type.clone(element)))
      known["w"] = {0, parts.newest(readOf(made), weight), true, true};
    if (failed(isSound))
      return failure();
    known["g"] = {0, parts.cast(op.getGradient(), element), true, true};
    known["rate"] = {0, op.getRate()};
    known["t"] = {0, parts.cast(op.getStep(), builder.getF64Type(), /*isOwn=*/false)};
    run("g = g + l2 * w; w = w - rate * decay * w");
    run(rule.formula);
    if (failed(isSound))
      return failure();
    assign(op.getVariableAttr(), parts.filling(known["w"], type));
    if (master)
      assign(symbolOf(master), parts.filling(known["w"], master.getTensorType()));
    for (const OptimizerSlot &slot : rule.slots)
      if (VariableOp made = slots.lookup(slot.name)) {
        Part &last = known[slot.name];
        assign(symbolOf(made),
               slot.isScalar ? parts.scalar(last) : parts.filling(last, made.getTensorType()));
      }
    op.erase();
    return success();
  }

private:
  static FloatType wide(Type element) {
    return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext())
                                               : cast<FloatType>(element);
  }

  void run(StringRef formula) {
    Formula(
        formula, parts, [&](StringRef name) { return read(name); },
        [&](StringRef name, Part part) { known[name] = part; })
        .run();
  }

  Part read(StringRef name) {
    auto found = known.find(name);
    if (found != known.end())
      return found->second;
    for (const OptimizerSlot &slot : rule.slots)
      if (slot.name == name)
        return known[name] = readSlot(slot);
    llvm_unreachable("a formula has a name that nothing has");
  }

  Part readSlot(const OptimizerSlot &slot) {
    RankedTensorType wanted = slot.isScalar
                                  ? RankedTensorType::get({}, Float64Type::get(op.getContext()))
                                  : type.clone(element);
    VariableOp declared = declare(slot, wanted);
    if (!declared)
      return {};
    slots[slot.name] = declared;
    return {0, readOf(declared), !slot.isScalar, /*isOwn=*/true};
  }

  Value readOf(VariableOp slot) {
    OpBuilder builder(op);
    return ReadOp::create(builder, op.getLoc(), slot.getTensorType(), symbolOf(slot));
  }

  static FlatSymbolRefAttr symbolOf(VariableOp slot) {
    return FlatSymbolRefAttr::get(slot.getSymNameAttr());
  }

  /// The slot's variable, which another step may have declared.
  VariableOp declare(const OptimizerSlot &slot, RankedTensorType wanted) {
    auto module = op->getParentOfType<ModuleOp>();
    std::string name =
        (op.getVariable() + "/" + op.getSlots().value_or(op.getRule()) + "/" + slot.name).str();
    if (Operation *there = module.lookupSymbol(name)) {
      auto known = dyn_cast<VariableOp>(there);
      if (known && known.getTensorType() == wanted)
        return known;
      isSound = op.emitOpError() << "keeps " << wanted << " in '@" << name
                                 << "', which is something else; give its slots another name";
      return {};
    }
    double initial = 0;
    if (slot.initial.getAsDouble(initial))
      initial = known.at(slot.initial).number;
    OpBuilder builder(op.getContext());
    builder.setInsertionPointAfter(variable);
    OperationState state(variable.getLoc(), VariableOp::getOperationName());
    state.addAttribute("sym_name", builder.getStringAttr(name));
    state.addAttribute(
        "value", DenseElementsAttr::get(
                     wanted, Attribute(builder.getFloatAttr(wanted.getElementType(), initial))));
    if (variable.getCentral())
      state.addAttribute("central", builder.getUnitAttr());
    if (variable.getLocal())
      state.addAttribute("local", builder.getUnitAttr());
    for (StringRef request : {StringRef(kDeviceAttr), StringRef(kSoftAttr)})
      if (Attribute asked = variable->getAttr(request))
        state.addAttribute(request, asked);
    return cast<VariableOp>(builder.create(state));
  }

  void assign(FlatSymbolRefAttr symbol, Value value) {
    OpBuilder builder(op);
    AssignOp::create(builder, ofStepPart(op.getLoc(), StepPart::update), symbol, value);
  }

  OptimizerStepOp op;
  VariableOp variable;
  const OptimizerRule &rule;
  RankedTensorType type; ///< of the variable
  FloatType element;     ///< of what is computed
  PartBuilder parts;
  llvm::StringMap<Part> known; ///< by name in the formula
  llvm::StringMap<VariableOp> slots;
  LogicalResult isSound = success();
};

struct ExpandOptimizers : gantry::impl::ExpandOptimizersPassBase<ExpandOptimizers> {
  void runOnOperation() override {
    SmallVector<OptimizerStepOp> steps;
    getOperation().walk([&](OptimizerStepOp op) { steps.push_back(op); });
    if (steps.empty())
      return markAllAnalysesPreserved();
    for (OptimizerStepOp op : steps) {
      auto variable = getOperation().lookupSymbol<VariableOp>(op.getVariable());
      if (failed(Step(op, variable).expand()))
        return signalPassFailure();
    }
  }
};
} // namespace
