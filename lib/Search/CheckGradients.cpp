// gantry check --train: which ops stand between a loss and the weights without a gradient, all of
// them, where a compilation tells of the first.

#include "gantry/Dialect/Gantry/IR/GradientBuilder.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Gradient/Gradient.h"
#include "gantry/Search/Compile.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace gantry;

namespace {
/// The ways of one function.
struct Ways {
  func::FuncOp func;
  SmallVector<Value> losses = {};
  llvm::DenseSet<Value> varied = {}; ///< floats that depend on weights

  /// From named constants, as --train makes variables of; a graph without any is asked about its
  /// inputs.
  void spread() {
    SmallVector<Value> from;
    auto add = [&](Value value) {
      if (carriesGradients(value.getType()))
        from.push_back(value);
    };
    func.walk([&](ConstantOp constant) {
      if (constant->hasAttr(kNameAttr) && !constant->hasAttr(kSourceOpAttr))
        add(constant.getResult());
    });
    if (from.empty())
      llvm::for_each(func.getArguments(), add);
    varied = dependentOn(func.front(), from);
  }

  /// An op inside of another one, which counts as on a way where it computes floats of floats.
  static std::string whyNoneInside(Operation *op) {
    auto isFloat = [](Value value) { return carriesGradients(value.getType()); };
    if (op->hasTrait<OpTrait::IsTerminator>() || isa<ConstantOp>(op) ||
        llvm::none_of(op->getResults(), isFloat) || llvm::none_of(op->getOperands(), isFloat))
      return "";
    auto rule = dyn_cast<GradientOpInterface>(op);
    return rule && rule.stopsGradient() ? "" : whyNoGradient(op, isFloat);
  }

  void report(Operation *op, Operation *outer, const std::string &why, GraphReport &report) const {
    StringRef name = givenNameOf(op);
    auto source = op->getAttrOfType<StringAttr>(kSourceOpAttr);
    std::string text = "'" + op->getName().getStringRef().str() + "'";
    if (!name.empty())
      text = "node '" + name.str() + "' (" +
             (source ? source.str() : op->getName().stripDialect().str()) + ")";
    const std::string way = describeWay(outer, losses);
    text += " " + why + (way.empty() ? "" : "; the way from the loss to it: " + way);
    report.issues.push_back({name.str(), "", "", 0, text});
  }

  void check(GraphReport &found) {
    llvm::DenseSet<Value> needed(losses.begin(), losses.end());
    for (Operation &op : llvm::reverse(func.front())) {
      if (!leadsTo(&op, varied) ||
          llvm::none_of(op.getResults(), [&](Value result) { return needed.contains(result); }))
        continue;
      for (Value read : valuesReadBy(&op))
        needed.insert(read);
      if (std::string why = whyNoGradient(&op, [&](Value value) { return varied.contains(value); });
          !why.empty())
        report(&op, &op, why, found);
      op.walk([&](Operation *inner) {
        if (inner == &op)
          return;
        if (std::string why = whyNoneInside(inner); !why.empty())
          report(inner, &op, why, found);
      });
    }
  }
};
} // namespace

/// The outputs that are floats, or the one of that name where there is one.
static SmallVector<Value> lossesOf(func::FuncOp func, StringRef loss) {
  SmallVector<Value> all, named;
  for (auto [i, value] : llvm::enumerate(func.front().getTerminator()->getOperands()))
    if (carriesGradients(value.getType())) {
      all.push_back(value);
      if (outputName(func, i) == loss)
        named.push_back(value);
    }
  return named.empty() ? all : named;
}

static void checkGradients(ModuleOp module, const CompileOptions &options, GraphReport &report) {
  PassManager resolve(module.getContext());
  resolve.addPass(createResolveCallsPass());
  resolve.addPass(createResolveScopesPass());
  if (failed(resolve.run(module)))
    return;
  for (auto func : module.getOps<func::FuncOp>()) {
    if (func.isExternal() || !func.getBody().hasOneBlock() ||
        (!options.graph.entry.empty() && func.getSymName() != options.graph.entry))
      continue;
    Ways ways{func, lossesOf(func, options.graph.train.loss)};
    ways.spread();
    ways.check(report);
  }
}

std::optional<GraphReport> gantry::checkGraph(const GraphFile &file, const CompileOptions &options,
                                              MLIRContext &context) {
  GraphImporter importer(file, &context, options.graph.outputs);
  std::optional<GraphReport> report = importer.check(options.graph);
  if (!report || options.graph.train.loss.empty() || !report->isSupported() ||
      !report->openDims.empty() || !report->shapeInputs.empty())
    return report;
  // Rules are asked of ops as a step has them, with all shapes: what is made of weights is
  // computed.
  ImportOptions import = options.graph;
  import.use = ModelUse::step;
  if (OwningOpRef<ModuleOp> module = importer.import(import))
    checkGradients(*module, options, *report);
  return report;
}
