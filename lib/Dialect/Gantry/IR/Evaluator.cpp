// Asks the context's evaluator and keeps what it says; see Evaluator.h.

#include "gantry/Dialect/Gantry/IR/Evaluator.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

ElementsAttr gantry::getComputedElements(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto known = result ? result.getOwner()->getAttrOfType<ArrayAttr>(kKnownAttr) : ArrayAttr();
  return known ? dyn_cast<ElementsAttr>(known[result.getResultNumber()]) : ElementsAttr();
}

/// Beside what is known of the op's other results; a unit stands for what is not.
static void keep(OpResult result, ElementsAttr elements) {
  Builder b(result.getContext());
  Operation *op = result.getOwner();
  auto known = op->getAttrOfType<ArrayAttr>(kKnownAttr);
  SmallVector<Attribute> all = known ? llvm::to_vector(known.getValue())
                                     : SmallVector<Attribute>(op->getNumResults(), b.getUnitAttr());
  all[result.getResultNumber()] = elements;
  op->setAttr(kKnownAttr, b.getArrayAttr(all));
}

Evaluation gantry::computeValue(Value value) {
  if (ElementsAttr constant = getConstantElements(value))
    return {constant};
  if (ElementsAttr computed = getComputedElements(value))
    return {computed};
  auto result = dyn_cast<OpResult>(value);
  auto *dialect = value.getContext()->getLoadedDialect<GantryDialect>();
  auto *evaluator = dialect ? dialect->getRegisteredInterface<EvaluatorInterface>() : nullptr;
  if (!result || !evaluator)
    return {};
  Evaluation evaluation = evaluator->evaluate(value);
  if (evaluation.elements)
    keep(result, evaluation.elements);
  return evaluation;
}
