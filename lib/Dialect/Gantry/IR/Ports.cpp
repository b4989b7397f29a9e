#include "gantry/Dialect/Gantry/IR/Ports.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gantry;

static std::string nameOr(StringAttr name, StringRef otherwise, unsigned index) {
  return name ? name.str() : (otherwise + Twine(index)).str();
}

std::string gantry::inputName(func::FuncOp func, unsigned index) {
  return nameOr(func.getArgAttrOfType<StringAttr>(index, kNameAttr), "input", index);
}

std::string gantry::outputName(func::FuncOp func, unsigned index) {
  return nameOr(func.getResultAttrOfType<StringAttr>(index, kNameAttr), "output", index);
}

std::string gantry::dimName(func::FuncOp func, unsigned index, unsigned axis) {
  return dimNames(func, index, axis).front();
}

SmallVector<std::string, 3> gantry::dimNames(func::FuncOp func, unsigned index, unsigned axis) {
  SmallVector<std::string, 3> names;
  if (auto given = func.getArgAttrOfType<ArrayAttr>(index, kDimsAttr))
    if (axis < given.size())
      if (auto name = dyn_cast<StringAttr>(given[axis]); name && !name.empty())
        names.push_back(name.str());
  names.push_back(inputName(func, index) + ":" + std::to_string(axis));
  names.push_back(("arg" + Twine(index) + ":" + Twine(axis)).str());
  return names;
}

/// "batch=N", in quotes where a shell would not leave the name whole.
static std::string dimArgument(StringRef name) {
  bool isWord =
      llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || StringRef("_.:-").contains(c); });
  return (isWord ? name + "=N" : "'" + name + "=N'").str();
}

std::string gantry::dimFlags(ArrayRef<std::string> names) {
  std::string flags;
  for (const std::string &name : names)
    flags += (flags.empty() ? "--dim " : " --dim ") + dimArgument(name);
  return flags;
}

LogicalResult gantry::checkPortNames(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>()) {
    if (!func.isPublic())
      continue;
    llvm::StringSet<> inputs, outputs;
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (std::string name = inputName(func, i); !inputs.insert(name).second)
        return func.emitError() << "two inputs of '" << func.getSymName() << "' are called '"
                                << name << "'; every input needs a name of its own";
    for (unsigned i = 0; i < func.getNumResults(); ++i)
      if (std::string name = outputName(func, i); !outputs.insert(name).second)
        return func.emitError() << "two outputs of '" << func.getSymName() << "' are called '"
                                << name << "'; every output needs a name of its own";
  }
  return success();
}
