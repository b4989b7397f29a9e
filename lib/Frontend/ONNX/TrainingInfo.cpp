// Models that say how they are trained (training_info): the initializers that are bound become
// variables, and beside the graph there are functions, `initialize` and `step`, which give them
// other values. A step is the graph and the algorithm behind it, as one graph.

#include "ImportModel.h"

#include "gantry/Dialect/Gantry/IR/Ports.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::onnx;

using Bindings = std::vector<StringPair>;

static StringRef nameIn(std::string_view text) { return {text.data(), text.size()}; }

namespace {
/// A model and its training on their way into one module.
struct Training {
  ImportRequest request;
  MLIRContext *context;
  Location file;
  llvm::StringSet<> variables = {};
  OwningOpRef<ModuleOp> module = {};

  OwningOpRef<ModuleOp> run() {
    if (failed(findVariables()))
      return {};
    request.variables = &variables;
    module = importGraphOf(request, context);
    if (!module)
      return {};
    for (auto [i, info] : llvm::enumerate(request.model->training)) {
      const std::string number = i ? "_" + std::to_string(i) : "";
      // The step first: it declares what the algorithm keeps.
      if (failed(addStep(info, "step" + number)) ||
          failed(addInitialization(info, "initialize" + number)))
        return {};
    }
    return std::move(module);
  }

private:
  InFlightDiagnostic refuse() const { return emitError(file) << "training_info: "; }

  bool isInitializer(const Graph &graph, StringRef name) const {
    return llvm::any_of(graph.initializers,
                        [&](const Tensor &tensor) { return nameIn(tensor.name) == name; });
  }

  LogicalResult findVariables() {
    llvm::StringSet<> updated;
    for (const TrainingInfo &info : request.model->training)
      for (const Bindings *bindings : {&info.initialBindings, &info.updateBindings})
        for (auto [key, value] : *bindings) {
          StringRef name = nameIn(key);
          if (!isInitializer(request.model->graph, name) && !isInitializer(info.algorithm, name))
            return refuse() << "'" << name << "' is bound to '" << nameIn(value)
                            << "' and is no initializer of the graph or the algorithm";
          if (bindings == &info.updateBindings && !updated.insert(name).second)
            return refuse() << "'" << name << "' is updated twice";
          variables.insert(name);
        }
    return success();
  }

  /// The sizes that the caller gives are about the graph.
  LogicalResult addInitialization(const TrainingInfo &info, const std::string &name) {
    if (info.initialBindings.empty())
      return success();
    ImportOptions options = *request.options;
    options.dims.clear();
    options.values.clear();
    return addFunction(info.initialization, name, info.initialBindings, {}, options);
  }

  LogicalResult addStep(const TrainingInfo &info, const std::string &name) {
    if (info.updateBindings.empty())
      return success();
    const Graph &graph = request.model->graph;
    Graph step = info.algorithm;
    step.nodes.insert(step.nodes.begin(), graph.nodes.begin(), graph.nodes.end());
    step.initializers.insert(step.initializers.begin(), graph.initializers.begin(),
                             graph.initializers.end());
    step.inputs.insert(step.inputs.begin(), graph.inputs.begin(), graph.inputs.end());
    std::vector<std::string_view> given;
    for (const ValueInfo &output : info.algorithm.outputs)
      if (llvm::none_of(info.updateBindings,
                        [&](const StringPair &bound) { return bound.second == output.name; }))
        given.push_back(output.name);
    return addFunction(std::move(step), name, info.updateBindings, given, *request.options);
  }

  /// A function of the graph that gives `given`, and variables what they are bound to.
  LogicalResult addFunction(Graph graph, std::string name, const Bindings &bindings,
                            ArrayRef<std::string_view> given, const ImportOptions &options) {
    while (module->lookupSymbol(name))
      name += "_"; // names of the model stay
    Model model = *request.model;
    model.training.clear();
    graph.name = name;
    for (auto [key, value] : bindings)
      if (llvm::none_of(graph.outputs, [&](const ValueInfo &out) { return out.name == value; }))
        graph.outputs.push_back({value, {}});
    model.graph = std::move(graph);
    ImportRequest part = request;
    part.model = &model;
    part.options = &options;
    OwningOpRef<ModuleOp> imported = importGraphOf(part, context);
    if (!imported)
      return failure();
    auto func = *imported->getOps<func::FuncOp>().begin();
    if (failed(assign(func, bindings)))
      return failure();
    keepResults(func, given);
    merge(*imported);
    return success();
  }

  LogicalResult assign(func::FuncOp func, const Bindings &bindings) {
    Operation *end = func.front().getTerminator();
    OpBuilder builder(end);
    for (auto [key, bound] : bindings)
      for (unsigned i = 0; i < func.getNumResults(); ++i) {
        if (outputName(func, i) != bound)
          continue;
        Value value = end->getOperand(i);
        mlir::Type type = typeOfVariable(func, nameIn(key));
        if (type && type != value.getType())
          return refuse() << "'" << nameIn(key) << "' is " << type << ", and '" << nameIn(bound)
                          << "', which it is bound to, is " << value.getType();
        if (!type)
          return refuse() << "'" << nameIn(key) << "' has no value before it gets one";
        AssignOp::create(builder, func.getLoc(), FlatSymbolRefAttr::get(context, nameIn(key)),
                         value);
      }
    return success();
  }

  /// As the function's module declares it, or the graph's.
  mlir::Type typeOfVariable(func::FuncOp func, StringRef name) {
    for (ModuleOp in : {func->getParentOfType<ModuleOp>(), *module})
      if (auto variable = in.lookupSymbol<VariableOp>(name))
        return variable.getTensorType();
    return {};
  }

  static void keepResults(func::FuncOp func, ArrayRef<std::string_view> given) {
    llvm::BitVector gone(func.getNumResults());
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      gone[i] = !llvm::is_contained(given, outputName(func, i));
    func.front().getTerminator()->eraseOperands(gone);
    (void)func.eraseResults(gone);
  }

  /// What the graph's module does not have goes there.
  void merge(ModuleOp part) {
    for (Operation &op : llvm::make_early_inc_range(*part.getBody())) {
      auto variable = dyn_cast<VariableOp>(op);
      if (variable && module->lookupSymbol(variable.getSymName()))
        continue;
      op.remove();
      variable ? module->getBody()->push_front(&op) : module->getBody()->push_back(&op);
    }
  }
};
} // namespace

OwningOpRef<ModuleOp> gantry::onnx::importModel(const ImportRequest &request,
                                                MLIRContext *context) {
  if (request.model->training.empty())
    return importGraphOf(request, context);
  return Training{request, context, FileLineColLoc::get(context, request.file, 0, 0)}.run();
}
