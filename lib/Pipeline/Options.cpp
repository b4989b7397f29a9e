// Compile flags: from the strings of the tool and the C API to CompileOptions.

#include "gantry/Pipeline/Pipeline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace gantry;

static constexpr llvm::StringLiteral phaseNames[] = {"import", "simplify", "place",  "copy", "fuse",
                                                     "kernel", "schedule", "memory", "llvm"};

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

std::optional<CompileOptions> gantry::parseCompileFlags(llvm::ArrayRef<llvm::StringRef> flags,
                                                        std::string &error) {
  CompileOptions options;
  for (llvm::StringRef flag : flags) {
    auto [name, value] = flag.split('=');
    bool known = true;
    if (name == "dim")
      options.dims.push_back(value.str());
    else if (name == "value")
      options.values.push_back(value.str());
    else if (name == "entry")
      options.entry = value.str();
    else if (name == "target-cpu")
      options.targetCPU = value.str();
    else if (name == "write-to")
      options.output = value.str();
    else if (name == "write-above") {
      if (value.getAsInteger(10, options.outputAbove)) {
        error = "write-above=" + value.str() + " is not a number of bytes";
        return std::nullopt;
      }
    } else if (name == "no-fuse")
      options.fuse = false;
    else if (name == "verify-each")
      options.verifyEach = true;
    else if (name == "print-ir-after-all")
      options.printIR = true;
    else if (name == "stop-after") {
      options.stopAfter = parsePhase(value);
      if (!options.stopAfter) {
        error = "unknown phase '" + value.str() + "' in --stop-after; known are " +
                llvm::join(llvm::ArrayRef(phaseNames), ", ");
        return std::nullopt;
      }
    } else
      known = false;
    if (!known) {
      error = "unknown compile flag '" + name.str() + "'; known are " + knownFlags();
      return std::nullopt;
    }
  }
  return options;
}
