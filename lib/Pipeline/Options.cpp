// Compile flags: from the strings of the tool and the C API to CompileOptions.

#include "gantry/Pipeline/Pipeline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gantry;
using llvm::LogicalResult;
using llvm::StringRef;

static constexpr llvm::StringLiteral phaseNames[] = {"import", "simplify", "replicate", "place",
                                                     "copy",   "fuse",     "kernel",    "schedule",
                                                     "memory", "llvm"};

llvm::StringRef gantry::phaseName(Phase phase) { return phaseNames[size_t(phase)]; }

std::optional<Phase> gantry::parsePhase(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(phaseNames))
    if (name == known)
      return Phase(i);
  return std::nullopt;
}

static std::string knownFlags() {
  std::string text;
#define GANTRY_COMPILE_FLAG(name, metavar, repeatable, help)                                       \
  text += std::string(text.empty() ? "" : ", ") + name;
#include "gantry/Support/CompileFlags.def"
  return text;
}

namespace {
/// Reads one flag after the other; the first that is wrong ends it.
struct FlagReader {
  CompileOptions options;
  std::string error;

  LogicalResult fail(const llvm::Twine &message) {
    error = message.str();
    return llvm::failure();
  }

  template <typename Number>
  LogicalResult readNumber(StringRef name, StringRef value, StringRef what, Number &number) {
    if (value.getAsInteger(10, number))
      return fail("--" + name + "=" + value + " is not " + what);
    return llvm::success();
  }

  LogicalResult readPhase(StringRef value) {
    options.stopAfter = parsePhase(value);
    return options.stopAfter ? llvm::success()
                             : fail("unknown phase '" + value + "' in --stop-after; known are " +
                                    llvm::join(llvm::ArrayRef(phaseNames), ", "));
  }

  LogicalResult readPlacement(StringRef value) {
    options.placement = llvm::StringSwitch<PlacementPolicy>(value)
                            .Case("default", PlacementPolicy::first)
                            .Case("follow", PlacementPolicy::follow)
                            .Case("auto", PlacementPolicy::automatic)
                            .Default(PlacementPolicy::unset);
    return options.placement != PlacementPolicy::unset
               ? llvm::success()
               : fail("unknown policy '" + value +
                      "' in --placement; known are default, follow, auto");
  }

  LogicalResult readCopies(StringRef value) {
    if (value != "auto" && value != "explicit")
      return fail("unknown mode '" + value + "' in --copies; known are auto, explicit");
    options.explicitCopies = value == "explicit";
    return llvm::success();
  }

  LogicalResult readCPUs(StringRef value) {
    for (StringRef cpu : llvm::split(value, ',')) {
      if (cpu.empty())
        return fail("--target-cpu=" + value + " lacks a name; it is CPU or a list, best first");
      if (!llvm::is_contained(options.targetCPUs, cpu))
        options.targetCPUs.push_back(cpu.str());
    }
    return llvm::success();
  }

  /// Where flags that are one text each go; null for others.
  std::string *findText(StringRef name) {
    return llvm::StringSwitch<std::string *>(name)
        .Case("entry", &options.entry)
        .Case("write-to", &options.output)
        .Case("devices", &options.devices)
        .Case("topology", &options.topology)
        .Case("visible", &options.visible)
        .Case("placement-lock", &options.placementLock)
        .Case("write-placement-lock", &options.writePlacementLock)
        .Case("why-not", &options.whyNot)
        .Case("max-copy", &options.maxCopy)
        .Case("replicate", &options.replicate)
        .Default(nullptr);
  }

  /// The same for flags that may be given several times.
  std::vector<std::string> *findList(StringRef name) {
    return llvm::StringSwitch<std::vector<std::string> *>(name)
        .Case("dim", &options.dims)
        .Case("value", &options.values)
        .Case("split", &options.splits)
        .Case("place", &options.rules)
        .Case("also", &options.also)
        .Default(nullptr);
  }

  /// And for switches.
  bool *findSwitch(StringRef name) {
    return llvm::StringSwitch<bool *>(name)
        .Case("simulate", &options.simulate)
        .Case("soft-placement", &options.softPlacement)
        .Case("first-replica", &options.firstReplica)
        .Case("verify-each", &options.verifyEach)
        .Case("print-ir-after-all", &options.printIR)
        .Default(nullptr);
  }

  LogicalResult read(StringRef name, StringRef value) {
    if (std::string *text = findText(name))
      *text = value.str();
    else if (std::vector<std::string> *list = findList(name))
      list->push_back(value.str());
    else if (bool *on = findSwitch(name))
      *on = true;
    else if (name == "target-cpu")
      return readCPUs(value);
    else if (name == "no-fuse")
      options.fuse = false;
    else if (name == "write-above")
      return readNumber(name, value, "a number of bytes", options.outputAbove);
    else if (name == "search-steps")
      return readNumber(name, value, "a number of steps", options.searchSteps);
    else if (name == "stop-after")
      return readPhase(value);
    else if (name == "placement")
      return readPlacement(value);
    else if (name == "copies")
      return readCopies(value);
    else
      return fail("unknown compile flag '" + name + "'; known are " + knownFlags());
    return llvm::success();
  }
};
} // namespace

std::optional<CompileOptions> gantry::parseCompileFlags(llvm::ArrayRef<StringRef> flags,
                                                        std::string &error) {
  FlagReader reader;
  for (StringRef flag : flags) {
    auto [name, value] = flag.split('=');
    if (failed(reader.read(name, value))) {
      error = reader.error;
      return std::nullopt;
    }
  }
  return reader.options;
}
