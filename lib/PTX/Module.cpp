#include "gantry/PTX/Module.h"

#include "gantry/Support/Names.h"

using namespace gantry;
using namespace gantry::ptx;

const Function *Module::find(std::string_view name) const {
  for (const Function &function : functions)
    if (function.name == name)
      return &function;
  return nullptr;
}

std::string Module::describe(SourceLocation location) const {
  std::string caller;
  if (location.callerFile)
    caller = ", inlined at " + describe({location.callerFile, location.callerLine, 0, 0, 0});
  auto found = sourceFiles.find(location.file);
  if (found == sourceFiles.end())
    return {};
  // The base name says enough, and no folder of the machine that compiled it matters.
  std::string_view path = found->second;
  if (size_t slash = path.rfind('/'); slash != path.npos)
    path.remove_prefix(slash + 1);
  std::string text = printable(path);
  if (location.line)
    text += ":" + std::to_string(location.line);
  return text + caller;
}

std::string gantry::ptx::registerName(const Register &reg) {
  return std::string(reg.name) + (reg.number < 0 ? "" : std::to_string(reg.number));
}
