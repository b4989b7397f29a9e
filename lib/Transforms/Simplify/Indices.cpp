#include "Indices.h"

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Ports.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Support/BadIndex.h"

using namespace mlir;
using namespace gantry;

/// Tables of indices have no more; larger ones are looked at when they run.
static constexpr int64_t kMostIndices = int64_t(1) << 24;

Value gantry::indicesOf(IndexingOpInterface op) { return op->getOperand(op.getIndexOperand()); }

StringRef gantry::sourceOpOf(Operation *op) {
  if (auto source = op->getAttrOfType<StringAttr>(kSourceOpAttr))
    return source;
  return cast<KernelOpInterface>(op).getLogName();
}

/// The op's own name, or that of its node.
static StringRef nameOfOp(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(kNameAttr);
  return name ? name.getValue() : nodeNameOf(op->getLoc());
}

std::string gantry::nameOfValue(Value value) {
  value = skipViews(value);
  if (Operation *op = value.getDefiningOp()) {
    StringRef name = nameOfOp(op);
    return name.empty() ? op->getName().stripDialect().str() : name.str();
  }
  auto argument = cast<BlockArgument>(value);
  auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return func ? inputName(func, argument.getArgNumber())
              : "argument " + std::to_string(argument.getArgNumber());
}

static std::optional<Elements> knownElements(Value value) {
  if (ElementsAttr constant = getConstantElements(skipViews(value)))
    return readElements(constant, kMostIndices);
  return evaluateValue(value);
}

IndexState gantry::judgeIndices(IndexingOpInterface op) {
  Value indices = indicesOf(op);
  ArrayRef<int64_t> shape = cast<RankedTensorType>(indices.getType()).getShape();
  SmallVector<int64_t> sizes = op.getIndexedSizes();
  if (llvm::is_contained(shape, 0) || sizes.empty())
    return IndexState::inRange;
  std::optional<Elements> known = knownElements(indices);
  if (!known)
    return IndexState::unknown;
  std::optional<BadIndex> bad = findBadIndex(known->ints, sizes);
  if (!bad)
    return IndexState::inRange;
  InFlightDiagnostic error = op->emitError();
  if (StringRef name = nameOfOp(op); name.empty())
    error << "'" << op->getName() << "' op ";
  else
    error << "'" << name << "' (" << sourceOpOf(op) << ") ";
  error << describeBadIndex(*bad, nameOfValue(indices), shape, sizes);
  return IndexState::refused;
}
