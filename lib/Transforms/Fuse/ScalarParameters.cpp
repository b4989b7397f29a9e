#include "ScalarParameters.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;
using namespace gantry;

/// Fewer kernels are not worth an argument.
static constexpr size_t kFewestKernels = 4;

static bool isNumber(Value value) {
  Type element = getElementTypeOrSelf(value.getType());
  return belongsInKernel(value) && (isa<FloatType>(element) || element.getIntOrFloatBitWidth() > 1);
}

llvm::SetVector<Value> ScalarParameters::find(ArrayRef<Operation *> ops) {
  llvm::SetVector<Value> numbers;
  DenseSet<Value> others;
  for (Operation *op : ops)
    for (OpOperand &operand : op->getOpOperands())
      if (isNumber(operand.get())) {
        numbers.insert(operand.get());
        if (cast<KernelOpInterface>(op).getFusionKind() != FusionKind::Elementwise)
          others.insert(operand.get());
      }
  numbers.remove_if([&](Value number) { return others.contains(number); });
  return numbers;
}

void ScalarParameters::add(Operation *root, ArrayRef<Value> numbers, StringRef text) {
  SmallVector<Attribute> values;
  for (Value number : numbers)
    values.push_back(number.getDefiningOp<ConstantOp>().getValueAttr());
  Alike &alike = alikes[text];
  alike.differ.resize(values.size());
  if (!alike.values.empty())
    for (auto [i, value] : llvm::enumerate(cast<ArrayAttr>(alike.values.front())))
      if (value != values[i])
        alike.differ.set(i);
  alike.values.insert(ArrayAttr::get(root->getContext(), values));
  groups[root] = {SmallVector<Value>(numbers), &alike};
}

bool ScalarParameters::has(Operation *root, Value number) const {
  auto found = groups.find(root);
  if (found == groups.end() || found->second.alike->values.size() < kFewestKernels)
    return false;
  const auto *at = llvm::find(found->second.numbers, number);
  return at != found->second.numbers.end() &&
         found->second.alike->differ.test(at - found->second.numbers.begin());
}
