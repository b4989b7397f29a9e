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

/// Whether the names of inputs or outputs can be told apart by those who call the function.
static LogicalResult checkNames(func::FuncOp func, unsigned count, StringRef kind,
                                llvm::function_ref<std::string(unsigned)> nameOf) {
  llvm::StringSet<> names;
  for (unsigned i = 0; i < count; ++i) {
    std::string name = nameOf(i);
    if (StringRef(name).contains('\0'))
      return func.emitError() << "the name '" << name << "' of " << kind << " " << i << " of '"
                              << func.getSymName()
                              << "' has a NUL in it, where names end in C; give it another name";
    if (!names.insert(name).second)
      return func.emitError() << "two " << kind << "s of '" << func.getSymName() << "' are called '"
                              << name << "'; every " << kind << " needs a name of its own";
  }
  return success();
}

LogicalResult gantry::checkPortNames(ModuleOp module) {
  for (auto func : module.getOps<func::FuncOp>())
    if (func.isPublic() && (failed(checkNames(func, func.getNumArguments(), "input",
                                              [&](unsigned i) { return inputName(func, i); })) ||
                            failed(checkNames(func, func.getNumResults(), "output",
                                              [&](unsigned i) { return outputName(func, i); }))))
      return failure();
  return success();
}
