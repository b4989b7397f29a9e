// x86-64: features of the table, on or off one by one, and the levels that they make up.

#include "Architecture.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;
using namespace gantry;

extern "C" void LLVMInitializeX86Target();
extern "C" void LLVMInitializeX86TargetInfo();
extern "C" void LLVMInitializeX86TargetMC();
extern "C" void LLVMInitializeX86AsmPrinter();

namespace {
struct Feature {
  llvm::StringLiteral name, llvmName;
  unsigned level;
  bool isAMX; ///< its registers are AMX's
};
enum class Saved : uint8_t { none, ymm, zmm, amx };
} // namespace

static constexpr Feature kFeatures[] = {
#define GANTRY_CPU_FEATURE(name, llvmName, level, leaf, subleaf, reg, bit, state)                  \
  {name, llvmName, level, Saved::state == Saved::amx},
#include "gantry/Support/CPUFeatures.def"
};

/// What every x86-64 has, what is no instruction, and what turning off would take others with it.
static bool isBaseline(StringRef llvmName) {
  static const llvm::StringSet<> baseline = {"64bit", "cmov", "cx8", "fxsr",       "mmx",    "sse",
                                             "sse2",  "x87",  "nf",  "vzeroupper", "evex512"};
  return baseline.contains(llvmName);
}

/// Instruction sets of a CPU of that name; of the machine at work those that it really has.
static llvm::StringSet<> instructionSets(StringRef name, bool native) {
  llvm::StringSet<> sets;
  if (native) {
    for (const auto &[feature, on] : llvm::sys::getHostCPUFeatures())
      if (on)
        sets.insert(feature);
    return sets;
  }
  llvm::SmallVector<StringRef> implied;
  // LLVM's list has no "generic", which is the first version of the architecture.
  llvm::X86::getFeaturesForCPU(name == "generic" ? "x86-64" : name, implied);
  for (StringRef feature : implied)
    sets.insert(feature);
  return sets;
}

/// As LLVM wants it said: what the table has and the CPU too, on; all else that the CPU's name may
/// stand for, off.
static std::string switchesFor(StringRef cpu, const llvm::StringSet<> &has) {
  llvm::StringSet<> known, mentioned = has;
  std::string text;
  auto add = [&](char sign, StringRef feature) {
    text += (text.empty() ? "" : ",") + (sign + feature.str());
  };
  // Off comes first: it takes along what builds on it, and a name on the left is overruled.
  for (const Feature &feature : kFeatures)
    known.insert(feature.llvmName);
  for (const auto &set : instructionSets(cpu, false))
    mentioned.insert(set.getKey());
  llvm::SmallVector<StringRef> off;
  for (const auto &set : mentioned)
    if (!isBaseline(set.getKey()) && !(known.contains(set.getKey()) && has.contains(set.getKey())))
      off.push_back(set.getKey());
  llvm::sort(off);
  for (StringRef feature : off)
    add('-', feature);
  for (const Feature &feature : kFeatures)
    if (has.contains(feature.llvmName))
      add('+', feature.llvmName);
  return text;
}

/// The highest level that is complete, then what is on beyond it.
static void nameFeatures(const llvm::MCSubtargetInfo &subtarget, Machine &machine) {
  auto isOn = [&](const Feature &f) { return subtarget.checkFeatures("+" + f.llvmName.str()); };
  unsigned level = 4;
  for (const Feature &feature : kFeatures)
    if (feature.level && !isOn(feature))
      level = std::min(level, feature.level - 1);
  if (level >= 2)
    machine.features.push_back("x86-64-v" + std::to_string(level));
  for (const Feature &feature : kFeatures)
    if (isOn(feature) && (feature.level == 0 || feature.level > level))
      (feature.isAMX ? machine.amxFeatures : machine.features).push_back(feature.name.str());
}

static Registers registersOf(const llvm::MCSubtargetInfo &subtarget) {
  auto has = [&](const char *features) { return subtarget.checkFeatures(features); };
  Registers registers{16, 16, has("+fma")};
  if (has("+avx512f"))
    registers = {64, 32, true, has("+avx512bf16"), has("+amx-bf16"), has("+amx-int8")};
  else if (has("+avx"))
    registers.bytes = 32;
  const bool hasShort = has("+avx512vl,+avx512vnni") || has("+avxvnni");
  registers.mostByteLanes = has("+avx512vnni") ? 16 : hasShort ? 8 : 0;
  registers.leastByteLanes = hasShort ? 4 : 16;
  registers.pairLanes = has("+avx512bw") ? 16 : has("+avx2") ? 8 : 4;
  return registers;
}

static void initialize() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}

static LogicalResult describe(Location loc, const llvm::Target &target, const llvm::Triple &triple,
                              bool native, ArrayRef<StringRef> added, Machine &machine) {
  if (machine.cpu != "generic" &&
      llvm::X86::parseArchX86(machine.cpu, /*Only64Bit=*/true) == llvm::X86::CK_None)
    return emitError(loc) << "the CPU '" << machine.cpu
                          << "' in --target-cpu has no 64-bit mode, which Gantry's code needs";
  llvm::StringSet<> sets = instructionSets(machine.cpu, native);
  for (StringRef name : added) {
    const auto *feature =
        llvm::find_if(kFeatures, [&](const Feature &f) { return f.name == name; });
    if (feature == std::end(kFeatures))
      return cpu::diagnoseUnknownFeature(loc, name, cpu::kX86);
    sets.insert(feature->llvmName);
  }
  machine.llvmFeatures = switchesFor(machine.cpu, sets);
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target.createMCSubtargetInfo(triple, machine.cpu, machine.llvmFeatures));
  nameFeatures(*subtarget, machine);
  machine.registers = registersOf(*subtarget);
  return success();
}

const cpu::Architecture cpu::kX86 = {"x86-64", "x86_64-unknown-linux-gnu", "x86-64", initialize,
                                     describe};
