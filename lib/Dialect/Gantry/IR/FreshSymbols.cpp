#include "gantry/Dialect/Gantry/IR/FreshSymbols.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace gantry;

FreshSymbols::FreshSymbols(ModuleOp module) : context(module.getContext()) {
  for (Operation &op : module.getBody()->getOperations())
    if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      taken.insert(name.getValue());
}

StringAttr FreshSymbols::take(const Twine &name) {
  std::string free = name.str();
  for (unsigned number = 0; !taken.insert(free).second; ++number)
    free = (name + "_" + Twine(number)).str();
  return StringAttr::get(context, free);
}
