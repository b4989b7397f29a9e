#include "Donated.h"

#include "gantry/Dialect/Gantry/IR/Ports.h"

using namespace mlir;
using namespace gantry;

static void forEachInput(ModuleOp module, function_ref<void(func::FuncOp, unsigned)> visit) {
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        visit(func, i);
}

static LogicalResult complain(ModuleOp module, StringRef name) {
  SmallVector<std::string> known;
  forEachInput(module, [&](func::FuncOp func, unsigned i) { known.push_back(inputName(func, i)); });
  return module.emitError() << "--donate " << name << " names no input; "
                            << (known.empty()
                                    ? "there is none"
                                    : "the inputs are '" + llvm::join(known, "', '") + "'");
}

LogicalResult gantry::markDonated(ModuleOp module, ArrayRef<std::string> names) {
  for (const std::string &name : names) {
    bool found = false;
    forEachInput(module, [&](func::FuncOp func, unsigned i) {
      if (inputName(func, i) != name)
        return;
      func.setArgAttr(i, kDonateAttr, UnitAttr::get(module.getContext()));
      found = true;
    });
    if (!found)
      return complain(module, name);
  }
  return success();
}
