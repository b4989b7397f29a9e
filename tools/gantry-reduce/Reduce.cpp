// Delta debugging: half of the ops are simplified in a copy, then quarters, down to each op alone,
// until no single one can be. A copy that does not verify, or is not interesting, is thrown away.

#include "Reduce.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace gantry;

/// A device scope becomes its body.
static bool dissolve(OnOp scope) {
  Block &body = scope.getBody().front();
  Operation *yield = body.getTerminator();
  scope->replaceAllUsesWith(yield->getOperands());
  yield->erase();
  scope->getBlock()->getOperations().splice(scope->getIterator(), body.getOperations());
  scope->erase();
  return true;
}

static bool replaceByOperand(Operation *op) {
  if (op->getNumResults() != 1)
    return false;
  for (Value operand : op->getOperands())
    if (operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      op->erase();
      return true;
    }
  return false;
}

static ElementsAttr zerosOf(RankedTensorType type) {
  if (auto element = dyn_cast<FloatType>(type.getElementType()))
    return DenseElementsAttr::get(type, APFloat::getZero(element.getFloatSemantics()));
  return DenseElementsAttr::get(type, APInt(type.getElementTypeBitWidth(), 0));
}

static bool replaceByZeros(Operation *op) {
  if (isa<ConstantOp>(op) || op->getName().getDialectNamespace() != "gantry")
    return false;
  for (Type type : op->getResultTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        !tensor || !tensor.hasStaticShape() || !tensor.getElementType().isIntOrFloat())
      return false;
  OpBuilder builder(op);
  for (Value result : op->getResults())
    result.replaceAllUsesWith(ConstantOp::create(
        builder, op->getLoc(), zerosOf(cast<RankedTensorType>(result.getType()))));
  op->erase();
  return true;
}

/// Whether anything could be made of the op.
static bool simplify(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>() || isa<SymbolOpInterface>(op))
    return false;
  if (auto scope = dyn_cast<OnOp>(op))
    return dissolve(scope);
  if (op->use_empty()) {
    op->erase();
    return true;
  }
  return replaceByOperand(op) || replaceByZeros(op);
}

/// Functions and variables that nothing refers to; only by themselves, since they take much along.
static bool eraseSymbol(Operation *op, ModuleOp module) {
  SymbolTableCollection tables;
  if (!isa<SymbolOpInterface>(op) || !SymbolUserMap(tables, module).useEmpty(op))
    return false;
  op->erase();
  return true;
}

/// Those of a region come behind the op that it belongs to.
static SmallVector<Operation *> opsOf(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module)
      ops.push_back(op);
  });
  return ops;
}

/// A copy with the ops from `begin` on simplified, the last first, so that users go before what
/// they use. Null when nothing could be, or the copy is not valid.
static OwningOpRef<ModuleOp> simplifyRange(ModuleOp module, size_t begin, size_t end) {
  OwningOpRef<ModuleOp> copy = module.clone();
  SmallVector<Operation *> ops = opsOf(*copy);
  bool isChanged = false;
  for (size_t i = std::min(end, ops.size()); i-- > begin;)
    isChanged |= simplify(ops[i]) || (end - begin == 1 && eraseSymbol(ops[i], *copy));
  // What is wrong with it is nobody's business.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  return isChanged && succeeded(verify(*copy)) ? std::move(copy) : OwningOpRef<ModuleOp>();
}

static std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  return text;
}

LogicalResult gantry::reduceModule(OwningOpRef<ModuleOp> &module,
                                   const Interesting &isInteresting) {
  if (!isInteresting(textOf(*module)))
    return failure();
  size_t size = opsOf(*module).size();
  while (size > 0) {
    bool isSmaller = false;
    for (size_t begin = 0; begin < opsOf(*module).size();) {
      OwningOpRef<ModuleOp> tried = simplifyRange(*module, begin, begin + size);
      if (tried && isInteresting(textOf(*tried))) {
        module = std::move(tried);
        isSmaller = true;
      } else {
        begin += size;
      }
    }
    if (!isSmaller || size > 1)
      size /= 2;
  }
  return success();
}
