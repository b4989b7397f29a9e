// Locations and diagnostics in words, for users, the placement log and run-time errors.

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;

static std::string nameOf(FileLineColLoc loc, const gantry::GivenFile &given) {
  return loc.getFilename() == given.baseName ? given.name : loc.getFilename().str();
}

static std::string describe(Location loc, const gantry::GivenFile &given) {
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    std::string name = nameOf(file, given);
    // Line 0: the file has no lines (a model), only a name.
    return file.getLine() == 0 ? name
                               : name + ":" + std::to_string(file.getLine()) + ":" +
                                     std::to_string(file.getColumn());
  }
  if (auto name = dyn_cast<NameLoc>(loc)) {
    if (name.getName() == gantry::kReplicateFlag)
      return gantry::kReplicateFlag.str();
    auto file = dyn_cast<FileLineColLoc>(name.getChildLoc());
    return "node '" + name.getName().str() + "'" + (file ? " of " + nameOf(file, given) : "");
  }
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
    return describe(fused.getLocations().front(), given);
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return describe(call.getCallee(), given);
  return "";
}

std::string gantry::describeLocation(Location loc) { return describe(loc, {}); }

StringRef gantry::nodeNameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName() == "?" ? StringRef() : name.getName().getValue();
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
    return nodeNameOf(fused.getLocations().front());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return nodeNameOf(call.getCallee());
  return {};
}

std::string gantry::lineOf(Diagnostic &diagnostic, const GivenFile &given) {
  std::string place = describe(diagnostic.getLocation(), given);
  std::string text = diagnostic.str();
  // "node 'y' of m.onnx" before a message about node 'y': only the file is news.
  auto [node, file] = StringRef(place).rsplit(" of ");
  if (!file.empty() && StringRef(text).starts_with(node))
    place = file.str();
  return (place.empty() ? "" : place + ": ") + text;
}
