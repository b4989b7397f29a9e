// Locations and diagnostics in words, for users, the placement log and run-time errors.

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"

using namespace mlir;

static std::string nameOf(FileLineColLoc loc, const gantry::GivenFile &given) {
  return loc.getFilename() == given.baseName ? given.name : loc.getFilename().str();
}

FileLineColLoc gantry::fileLocOf(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return file;
  if (auto name = dyn_cast<NameLoc>(loc))
    return fileLocOf(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    FileLineColLoc callee = fileLocOf(call.getCallee());
    return callee ? callee : fileLocOf(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (FileLineColLoc file = fileLocOf(part))
        return file;
  return {};
}

static std::string describe(FileLineColLoc file, const gantry::GivenFile &given) {
  std::string name = nameOf(file, given);
  // Line 0: the file has no lines (a model), only a name.
  return file.getLine() == 0
             ? name
             : name + ":" + std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn());
}

static std::string describe(Location loc, const gantry::GivenFile &given) {
  StringRef node = gantry::nodeNameOf(loc);
  if (node == gantry::kReplicateFlag)
    return node.str();
  FileLineColLoc place = gantry::fileLocOf(loc);
  std::string at = place ? describe(place, given) : "";
  if (node.empty())
    return at;
  return "node '" + node.str() + "'" + (at.empty() ? "" : " of " + at);
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
