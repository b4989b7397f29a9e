// Locations and diagnostics in words, for users, the placement log and run-time errors.

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;

static std::string fileOf(Location loc) {
  auto file = dyn_cast<FileLineColLoc>(loc);
  return file ? file.getFilename().str() : "";
}

std::string gantry::describeLocation(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    std::string name = file.getFilename().str();
    // Line 0: the file has no lines (a model), only a name.
    return file.getLine() == 0 ? name
                               : name + ":" + std::to_string(file.getLine()) + ":" +
                                     std::to_string(file.getColumn());
  }
  if (auto name = dyn_cast<NameLoc>(loc)) {
    std::string file = fileOf(name.getChildLoc());
    return "node '" + name.getName().str() + "'" + (file.empty() ? "" : " of " + file);
  }
  if (auto fused = dyn_cast<FusedLoc>(loc); fused && !fused.getLocations().empty())
    return describeLocation(fused.getLocations().front());
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return describeLocation(call.getCallee());
  return "";
}

std::string gantry::lineOf(Diagnostic &diagnostic) {
  std::string place = describeLocation(diagnostic.getLocation());
  std::string text = diagnostic.str();
  // "node 'y' of m.onnx" before a message about node 'y': only the file is news.
  auto [node, file] = StringRef(place).rsplit(" of ");
  if (!file.empty() && StringRef(text).starts_with(node))
    place = file.str();
  return (place.empty() ? "" : place + ": ") + text;
}
