// A kernel keeps what its target made of it: a function, and the declarations and tables that this
// refers to. Names of the latter may be taken where it comes back; then they get others.

#include "gantry/Transforms/LoweredKernels.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

/// Without its name and where it is from.
static std::string textOf(KernelOp kernel) {
  StringAttr name = kernel.getSymNameAttr();
  kernel.setSymName("");
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().useLocalScope());
  kernel.setSymNameAttr(name);
  return text;
}

SmallVector<LoweredKernels::Taken> LoweredKernels::take(ModuleOp kernels) {
  const void *target = kernels->getAttr(kTargetAttr).getAsOpaquePointer();
  SmallVector<Taken> taken;
  for (KernelOp kernel : llvm::make_early_inc_range(kernels.getOps<KernelOp>())) {
    auto [entry, isNew] = known.try_emplace({textOf(kernel), target});
    taken.push_back({kernel.getSymNameAttr(), &entry->second});
    if (!isNew)
      kernel.erase();
  }
  return taken;
}

/// `function` and what of `table` it refers to, function first.
static OwningOpRef<ModuleOp> copyWithSymbols(Operation *function, const SymbolTable &table) {
  llvm::SetVector<Operation *> ops;
  ops.insert(function);
  for (size_t i = 0; i < ops.size(); ++i) {
    std::optional<SymbolTable::UseRange> uses = SymbolTable::getSymbolUses(ops[i]);
    for (const SymbolTable::SymbolUse &use : *uses)
      if (Operation *used = table.lookup(use.getSymbolRef().getRootReference()))
        ops.insert(used);
  }
  OpBuilder builder(function->getContext());
  OwningOpRef<ModuleOp> copy = ModuleOp::create(builder, function->getLoc());
  for (Operation *op : ops)
    copy->push_back(op->clone());
  return copy;
}

/// Puts a copy of `lowered` into the module of `table`; the function gets the name.
static void insert(ModuleOp lowered, StringAttr name, SymbolTable &table) {
  OwningOpRef<ModuleOp> copy = lowered.clone();
  SymbolTable own(*copy);
  Operation *function = &copy->getBody()->front();
  for (Operation &op : llvm::make_early_inc_range(llvm::drop_begin(*copy->getBody()))) {
    StringAttr symbol = SymbolTable::getSymbolName(&op);
    if (Operation *same = table.lookup(symbol)) {
      if (OperationEquivalence::isEquivalentTo(same, &op, OperationEquivalence::IgnoreLocations)) {
        own.erase(&op);
        continue;
      }
      (void)own.renameToUnique(&op, {&table});
    }
    op.remove();
    table.insert(&op);
  }
  SymbolTable::setSymbolName(function, name);
  function->remove();
  table.insert(function);
}

void LoweredKernels::putBack(ModuleOp kernels, ArrayRef<Taken> taken) {
  SymbolTable table(kernels);
  for (const Taken &kernel : taken)
    if (!*kernel.lowered)
      *kernel.lowered = copyWithSymbols(table.lookup(kernel.name), table);
    else if (!table.lookup(kernel.name))
      insert(**kernel.lowered, kernel.name, table);
  for (const Taken &kernel : llvm::reverse(taken))
    table.lookup(kernel.name)->moveBefore(kernels.getBody(), kernels.getBody()->begin());
}
