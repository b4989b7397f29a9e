// Makes a step of training of a graph that computes a loss, or an output that labels are compared
// with.
//
// What files call weights are constants that have a name. Those that the loss depends on by floats
// become variables; everything else that training takes is there: gantry.gradient, and
// gantry.optimizer_step. The function is cloned, so that @evaluate stays what the graph was.

#include "NamedLosses.h"
#include "TrainedConstants.h"

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Dialect/Gantry/IR/Optimizers.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MAKETRAININGSTEPPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static constexpr llvm::StringLiteral kStep = "step", kEvaluate = "evaluate", kPredict = "predict",
                                     kLabels = "labels", kLoss = "loss";
//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

static std::vector<std::string> outputsOf(func::FuncOp func) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    names.push_back(outputName(func, i));
  return names;
}

/// Whether it is a scalar of floats, or has one element.
static LogicalResult checkLoss(func::FuncOp func, unsigned output) {
  auto type = dyn_cast<RankedTensorType>(func.getResultTypes()[output]);
  if (type && isa<FloatType>(type.getElementType()) && type.hasStaticShape() &&
      type.getNumElements() == 1)
    return success();
  return func.emitError() << "--train: output '" << outputName(func, output) << "' is "
                          << func.getResultTypes()[output]
                          << "; a loss is a scalar of floats, as the mean of it would be";
}

/// The one output, for a loss that compares it with labels.
static FailureOr<Value> outputToCompare(func::FuncOp func, StringRef loss) {
  if (func.getNumResults() == 1)
    return func.front().getTerminator()->getOperand(0);
  return func.emitError() << "--train: " << loss
                          << " compares the only output with labels; the outputs are "
                          << listed(outputsOf(func))
                          << ", and --outputs ends the graph at one of them";
}

/// Adds labels to the inputs, and the loss, which compares them with the output, to the outputs.
static LogicalResult addNamedLoss(func::FuncOp func, StringRef loss) {
  FailureOr<Value> output = outputToCompare(func, loss);
  if (failed(output))
    return failure();
  std::string why;
  RankedTensorType labels = labelsFor(loss, typeOf(*output), why);
  if (!labels)
    return func.emitError() << "--train=" << loss << ": " << why << "; output '"
                            << outputName(func, 0) << "' is " << output->getType();
  MLIRContext *context = func.getContext();
  auto named = [&](StringRef name) {
    return DictionaryAttr::get(context, NamedAttribute(StringAttr::get(context, kNameAttr),
                                                       StringAttr::get(context, name)));
  };
  const unsigned input = func.getNumArguments();
  if (failed(func.insertArgument(input, labels, named(kLabels), func.getLoc())))
    return failure();
  Operation *end = func.front().getTerminator();
  OpBuilder builder(end);
  Value made = makeLoss(builder, func.getLoc(), loss, *output, func.getArgument(input));
  if (failed(func.insertResult(func.getNumResults(), made.getType(), named(kLoss))))
    return failure();
  end->insertOperands(end->getNumOperands(), made);
  return checkPortNames(func->getParentOfType<ModuleOp>());
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

namespace {
/// What is trained, and what evaluates where that is another function; else null.
struct Functions {
  func::FuncOp trained, evaluate;
};
} // namespace

static FailureOr<Functions> findFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> found;
  func::FuncOp evaluate;
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal() && func.getBody().hasOneBlock())
      func.getSymName() == kEvaluate && !evaluate ? void(evaluate = func) : found.push_back(func);
  if (found.empty() && evaluate)
    return Functions{evaluate, {}};
  if (found.size() == 1 &&
      (!evaluate || evaluate.getFunctionType() == found.front().getFunctionType()))
    return Functions{found.front(), evaluate};
  if (evaluate)
    found.push_back(evaluate);
  auto error = module.emitError() << "--train is about one function; ";
  if (found.empty())
    return error << "there is none";
  error << "choose it with --entry: ";
  llvm::interleaveComma(found, error, [&](func::FuncOp func) { error << func.getSymName(); });
  return error;
}

namespace {
class StepMaker {
public:
  StepMaker(ModuleOp module, func::FuncOp func, OptimizerChoice optimizer)
      : module(module), func(func), optimizer(std::move(optimizer)), builder(module.getContext()) {}

  /// `output`: number of the loss. `chosen` are constants at the function's start. Where nothing
  /// else evaluates the function as it is does.
  LogicalResult run(unsigned output, ArrayRef<ConstantOp> chosen, func::FuncOp evaluate) {
    if (failed(declareVariables(chosen)))
      return failure();
    func::FuncOp step = func;
    if (!evaluate) {
      step = func.clone();
      module.insert(std::next(func->getIterator()), step);
      func.setName(kEvaluate);
    } else {
      readVariables(evaluate);
    }
    step.setName(kStep);
    differentiate(step, output);
    return success();
  }

  /// The same variables for another function with these constants, and those that the step updates
  /// besides.
  void readVariables(func::FuncOp of) {
    SmallVector<ConstantOp> constants;
    of.walk([&](ConstantOp op) { constants.push_back(op); });
    for (ConstantOp constant : constants)
      if (auto name = constant->getAttrOfType<StringAttr>(kNameAttr))
        if (auto variable = module.lookupSymbol<VariableOp>(name);
            variable && variable.getTensorType() == constant.getType())
          readInstead(constant, name);
  }

private:
  LogicalResult declareVariables(ArrayRef<ConstantOp> chosen) {
    builder.setInsertionPoint(func);
    for (ConstantOp constant : chosen) {
      auto name = constant->getAttrOfType<StringAttr>(kNameAttr);
      if (failed(declare(name, constant.getValueAttr(), constant.getLoc(), constant)))
        return failure();
      variables.insert(name);
      readInstead(constant, name);
    }
    auto zero = DenseElementsAttr::get(RankedTensorType::get({}, builder.getI64Type()), int64_t(0));
    counter = builder.getStringAttr(optimizer.name + "/step");
    return declare(counter, zero, func.getLoc(), nullptr);
  }

  /// What `like` asks for counts for the variable.
  LogicalResult declare(StringAttr name, ElementsAttr value, Location location, Operation *like) {
    if (Operation *taken = module.lookupSymbol(name);
        taken || name == kStep || name == kEvaluate || name == kPredict)
      return emitError(location) << "--train: the variable " << name
                                 << " would have the name of something else in the graph";
    OperationState state(location, VariableOp::getOperationName());
    state.addAttribute("sym_name", name);
    state.addAttribute("value", value);
    for (StringRef request : {StringRef(kDeviceAttr), StringRef(kSoftAttr), StringRef(kOriginAttr)})
      if (Attribute asked = like ? like->getAttr(request) : Attribute())
        state.addAttribute(request, asked);
    builder.create(state);
    return success();
  }

  void readInstead(ConstantOp constant, StringAttr name) {
    OpBuilder at(constant);
    auto read =
        ReadOp::create(at, constant.getLoc(), constant.getType(), FlatSymbolRefAttr::get(name));
    constant.replaceAllUsesWith(read.getResult());
    constant.erase();
  }

  /// Puts the body into a gantry.gradient, and steps of the optimizer behind it.
  void differentiate(func::FuncOp step, unsigned output) {
    Block &block = step.front();
    Operation *end = block.getTerminator();
    SmallVector<Value> weights;
    Region region;
    auto *body = new Block;
    region.push_back(body);
    for (auto read : llvm::to_vector(block.getOps<ReadOp>()))
      if (variables.contains(read.getVariableAttr().getAttr())) {
        Value inside = body->addArgument(read.getType(), read.getLoc());
        read.getResult().replaceAllUsesWith(inside);
        weights.push_back(read.getResult());
      }
    Operation *last = weights.back().getDefiningOp();
    body->getOperations().splice(body->end(), block.getOperations(),
                                 std::next(Block::iterator(last)), Block::iterator(end));
    builder.setInsertionPointToEnd(body);
    Value loss = end->getOperand(output);
    if (auto type = typeOf(loss); type.getRank() > 0)
      loss = ReshapeOp::create(builder, step.getLoc(), type.clone(ArrayRef<int64_t>()), loss);
    YieldOp::create(builder, step.getLoc(), loss);
    builder.setInsertionPoint(end);
    Value number = countStep(step);
    drawAnew(*body, number);
    OperationState state(step.getLoc(), GradientOp::getOperationName());
    state.addOperands(weights);
    state.addTypes(loss.getType());
    state.addTypes(ValueRange(weights).getTypes());
    state.addRegion()->takeBody(region);
    auto gradient = cast<GradientOp>(builder.create(state));
    update(step, gradient, weights, number);
    giveLoss(step, gradient.getResult(0), output);
  }

  /// The number of the step, from 1 on.
  Value countStep(func::FuncOp step) {
    auto scalar = RankedTensorType::get({}, builder.getI64Type());
    Value one =
        ConstantOp::create(builder, step.getLoc(), DenseElementsAttr::get(scalar, int64_t(1)));
    AssignAddOp::create(builder, step.getLoc(), FlatSymbolRefAttr::get(counter), one);
    return ReadOp::create(builder, step.getLoc(), scalar, FlatSymbolRefAttr::get(counter));
  }

  /// Draws of the step have its number as their key, and a stream of their own each.
  void drawAnew(Block &body, Value number) {
    int64_t stream = 0;
    auto rekey = [&](auto draw) {
      if (draw.getKey())
        return;
      const int64_t seed = draw.getSeed().value_or(0);
      auto scalar = cast<RankedTensorType>(number.getType());
      Value own = ConstantOp::create(builder, draw.getLoc(), DenseElementsAttr::get(scalar, seed));
      draw.getKeyMutable().assign(AddOp::create(builder, draw.getLoc(), number, own).getResult());
      draw.removeSeedAttr();
      draw.setStream(stream++);
    };
    body.walk([&](Operation *op) {
      if (auto uniform = dyn_cast<RandomUniformOp>(op))
        rekey(uniform);
      else if (auto normal = dyn_cast<RandomNormalOp>(op))
        rekey(normal);
    });
  }

  void update(func::FuncOp step, GradientOp gradient, ArrayRef<Value> weights, Value number) {
    auto scalar = RankedTensorType::get({}, builder.getF64Type());
    Value rate =
        ConstantOp::create(builder, step.getLoc(), DenseElementsAttr::get(scalar, optimizer.rate));
    SmallVector<NamedAttribute> numbers;
    for (auto [name, value] : optimizer.numbers)
      numbers.push_back(builder.getNamedAttr(name, builder.getF64FloatAttr(value)));
    for (auto [weight, slope] : llvm::zip(weights, gradient.getGradients()))
      OptimizerStepOp::create(
          builder, step.getLoc(), weight.getDefiningOp<ReadOp>().getVariableAttr(),
          builder.getStringAttr(optimizer.rule->name), slope, rate, number,
          numbers.empty() ? DictionaryAttr() : builder.getDictionaryAttr(numbers),
          builder.getStringAttr(optimizer.name));
  }

  /// The loss is all that a step gives.
  static void giveLoss(func::FuncOp step, Value loss, unsigned output) {
    DictionaryAttr attributes = step.getResultAttrDict(output);
    step.front().getTerminator()->setOperands(loss);
    step.setFunctionType(
        FunctionType::get(step.getContext(), step.getArgumentTypes(), loss.getType()));
    step.setAllResultAttrs(
        ArrayRef<DictionaryAttr>{attributes ? attributes : DictionaryAttr::get(step.getContext())});
  }

  ModuleOp module;
  func::FuncOp func;
  OptimizerChoice optimizer;
  OpBuilder builder;
  llvm::DenseSet<StringAttr> variables; ///< that are trained
  StringAttr counter;
};

struct MakeTrainingStep : gantry::impl::MakeTrainingStepPassBase<MakeTrainingStep> {
  using MakeTrainingStepPassBase::MakeTrainingStepPassBase;

  void runOnOperation() override {
    if (failed(make()))
      signalPassFailure();
  }

private:
  LogicalResult make() {
    FailureOr<Functions> functions = findFunctions(getOperation());
    if (failed(functions))
      return failure();
    func::FuncOp func = functions->trained, evaluate = functions->evaluate;
    if (optimizer.empty())
      return func.emitError() << "--train needs --optimizer, as in --optimizer=adamw,rate=1e-3";
    Expected<OptimizerChoice> chosen = readOptimizer(optimizer);
    if (!chosen)
      return func.emitError() << chosen.status().message();
    FailureOr<Weights> weights = hoistNamedConstants(func);
    if (failed(weights))
      return failure();
    func::FuncOp predict = {};
    FailureOr<unsigned> output = findLoss(func, evaluate, predict);
    if (failed(output))
      return failure();
    Value value = func.front().getTerminator()->getOperand(*output);
    auto trained = chooseTrained(func, *weights, value, trainable);
    if (failed(trained))
      return failure();
    emitRemark(func.getLoc()) << describe(*weights, *trained);
    StepMaker maker(getOperation(), func, chosen.take());
    if (failed(maker.run(*output, *trained, evaluate)))
      return failure();
    if (predict)
      maker.readVariables(predict);
    return success();
  }

  /// The number of the output that is the loss. Of a named loss it is made; `predict` is then what
  /// evaluates as it was.
  FailureOr<unsigned> findLoss(func::FuncOp func, func::FuncOp evaluate, func::FuncOp &predict) {
    std::vector<std::string> outputs = outputsOf(func);
    for (auto [i, name] : llvm::enumerate(outputs))
      if (name == loss)
        return failed(checkLoss(func, i)) ? FailureOr<unsigned>()
                                          : FailureOr<unsigned>(unsigned(i));
    if (!llvm::is_contained(namedLosses(), loss))
      return func.emitError() << "--train: the graph has no output '" << printable(loss) << "'"
                              << didYouMean(loss, outputs) << "; its outputs are "
                              << listed(outputs) << ", and losses that compare it with labels are "
                              << llvm::join(namedLosses(), ", ");
    predict = (evaluate ? evaluate : func).clone();
    getOperation().insert(std::next(func->getIterator()), predict);
    predict.setName(kPredict);
    if (failed(addNamedLoss(func, loss)) || (evaluate && failed(addNamedLoss(evaluate, loss))))
      return failure();
    return func.getNumResults() - 1;
  }

  static std::string describe(const Weights &all, ArrayRef<ConstantOp> trained) {
    std::vector<std::string> names;
    uint64_t bytes = 0;
    for (ConstantOp constant : trained) {
      names.push_back(constant->getAttrOfType<StringAttr>(kNameAttr).str());
      bytes += getByteSize(typeOf(constant.getResult()));
    }
    return "trains " + std::to_string(names.size()) + " of " + std::to_string(all.size()) +
           " named constants of floats, " + formatBytes(bytes) + ": " + listed(names);
  }
};
} // namespace
