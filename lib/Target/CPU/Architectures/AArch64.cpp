// AArch64: what every CPU has, and the features of the table that one has beyond it. LLVM's names
// of CPUs stand for much more (SVE); code is for none of that, and is scheduled for the name.

#include "Architecture.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace gantry;

extern "C" void LLVMInitializeAArch64Target();
extern "C" void LLVMInitializeAArch64TargetInfo();
extern "C" void LLVMInitializeAArch64TargetMC();
extern "C" void LLVMInitializeAArch64AsmPrinter();

namespace {
struct Feature {
  llvm::StringLiteral name, llvmName;
};
} // namespace

static constexpr Feature kFeatures[] = {
#define GANTRY_AARCH64_FEATURE(name, llvmName, word, bit) {name, llvmName},
#include "gantry/Support/CPUFeaturesAArch64.def"
};

static void initialize() {
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64Target();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64AsmPrinter();
}

static LogicalResult describe(Location loc, const llvm::Target &target, const llvm::Triple &triple,
                              bool native, ArrayRef<StringRef> added, Machine &machine) {
  for (StringRef name : added)
    if (llvm::none_of(kFeatures, [&](const Feature &f) { return f.name == name; }))
      return cpu::diagnoseUnknownFeature(loc, name, cpu::kAArch64);
  llvm::StringMap<bool> found;
  if (native)
    found = llvm::sys::getHostCPUFeatures();
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target.createMCSubtargetInfo(triple, native ? "generic" : machine.cpu, ""));
  machine.tune = std::exchange(machine.cpu, "generic");
  machine.llvmFeatures = "+neon";
  machine.registers = {16, 32, true};
  for (const Feature &feature : kFeatures) {
    const bool own = native ? found.lookup(feature.llvmName)
                            : subtarget->checkFeatures("+" + feature.llvmName.str());
    if (!own && !llvm::is_contained(added, feature.name))
      continue;
    machine.llvmFeatures += ",+" + feature.llvmName.str();
    machine.features.push_back(feature.name.str());
  }
  return success();
}

const cpu::Architecture cpu::kAArch64 = {"aarch64", "aarch64-unknown-linux-gnu", "aarch64",
                                         initialize, describe};
