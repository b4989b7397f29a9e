// Names of CPUs into LLVM's target machines, and the features that plans name.

#include "Machine.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

#include <mutex>

using namespace mlir;
using namespace gantry;

namespace {
struct Feature {
  llvm::StringLiteral name, llvmName;
  unsigned level;
};
} // namespace

static constexpr Feature kFeatures[] = {
#define GANTRY_CPU_FEATURE(name, llvmName, level, leaf, subleaf, reg, bit, state)                  \
  {name, llvmName, level},
#include "gantry/Support/CPUFeatures.def"
};

/// What every x86-64 has, what is no instruction, and what turning off would take others with it.
static bool isBaseline(StringRef llvmName) {
  static const llvm::StringSet<> baseline = {"64bit", "cmov", "cx8", "fxsr",       "mmx",    "sse",
                                             "sse2",  "x87",  "nf",  "vzeroupper", "evex512"};
  return baseline.contains(llvmName);
}

/// The scheduler after register allocation takes time quadratic in the length of a block, 40 % of
/// code generation for unrolled kernels, and gains nothing on processors that reorder. LLVM has no
/// other switch for it than its command line.
static void disablePostRAScheduler() {
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto option = options.find("post-RA-scheduler"); option != options.end())
    option->second->addOccurrence(1, "post-RA-scheduler", "0");
}

static void initializeOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    disablePostRAScheduler();
  });
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
static std::vector<std::string> featuresOf(const llvm::MCSubtargetInfo &subtarget) {
  auto isOn = [&](const Feature &f) { return subtarget.checkFeatures("+" + f.llvmName.str()); };
  unsigned level = 4;
  for (const Feature &feature : kFeatures)
    if (feature.level && !isOn(feature))
      level = std::min(level, feature.level - 1);
  std::vector<std::string> names;
  if (level >= 2)
    names.push_back("x86-64-v" + std::to_string(level));
  for (const Feature &feature : kFeatures)
    if (isOn(feature) && (feature.level == 0 || feature.level > level))
      names.push_back(feature.name.str());
  return names;
}

/// The name of a CPU that is spelled most alike, if one is.
static StringRef nearestCPU(const llvm::MCSubtargetInfo &subtarget, StringRef name) {
  StringRef nearest;
  unsigned least = unsigned(name.size()) / 3 + 1;
  for (const llvm::SubtargetSubTypeKV &cpu : subtarget.getAllProcessorDescriptions()) {
    unsigned distance = name.edit_distance(cpu.Key, true, least);
    if (distance >= least)
      continue;
    nearest = cpu.Key;
    least = distance;
  }
  return nearest;
}

static LogicalResult checkName(Location loc, const llvm::Triple &triple,
                               const llvm::MCSubtargetInfo &subtarget, StringRef name) {
  if (!subtarget.isCPUStringValid(name)) {
    StringRef nearest = nearestCPU(subtarget, name);
    return emitError(loc) << "unknown CPU '" << name << "' in --target-cpu"
                          << (nearest.empty() ? "" : "; did you mean '" + nearest.str() + "'?")
                          << (nearest.empty() ? "; known" : " Known")
                          << " are native, x86-64-v3, x86-64-v4 and LLVM's names";
  }
  if (triple.isX86_64() && name != "generic" &&
      llvm::X86::parseArchX86(name, /*Only64Bit=*/true) == llvm::X86::CK_None)
    return emitError(loc) << "the CPU '" << name
                          << "' in --target-cpu has no 64-bit mode, which Gantry's code needs";
  return success();
}

std::string Machine::architecture() const {
  const llvm::Triple &triple = target->getTargetTriple();
  return triple.isX86_64() ? "x86-64" : triple.getArchName().str();
}

static std::unique_ptr<llvm::TargetMachine>
makeTarget(const llvm::Target &target, const llvm::Triple &triple, const Machine &machine) {
  llvm::TargetOptions options;
  // Products and sums fuse where the ops allow it (contract), nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  return std::unique_ptr<llvm::TargetMachine>(target.createTargetMachine(
      triple, machine.cpu, machine.llvmFeatures, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

/// What a name stands for, without the target.
static FailureOr<Machine> describe(Location loc, const llvm::Target &target,
                                   const llvm::Triple &triple, const std::string &name) {
  const bool native = name == "native";
  Machine machine;
  machine.cpu = native ? llvm::sys::getHostCPUName().str() : name;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target.createMCSubtargetInfo(triple, "", ""));
  if (failed(checkName(loc, triple, *subtarget, machine.cpu)))
    return failure();
  if (triple.isX86_64()) {
    machine.llvmFeatures = switchesFor(machine.cpu, instructionSets(machine.cpu, native));
    machine.features = featuresOf(*makeTarget(target, triple, machine)->getMCSubtargetInfo());
  }
  return machine;
}

/// The same in a whole process; finding it out takes as long as code for a small kernel does.
static FailureOr<Machine> describeOnce(Location loc, const llvm::Target &target,
                                       const llvm::Triple &triple, const std::string &name) {
  static std::mutex mutex;
  static llvm::StringMap<Machine> known;
  std::lock_guard<std::mutex> lock(mutex);
  auto entry = known.find(name);
  if (entry == known.end()) {
    FailureOr<Machine> described = describe(loc, target, triple, name);
    if (failed(described))
      return failure();
    entry = known.try_emplace(name, std::move(*described)).first;
  }
  const Machine &found = entry->second;
  return Machine{found.cpu, found.llvmFeatures, found.features, nullptr};
}

FailureOr<Machine> gantry::makeMachine(Location loc, const std::string &name) {
  initializeOnce();
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError(loc) << "no code generator for " << triple.str() << ": " << error;
  FailureOr<Machine> machine = describeOnce(loc, *target, triple, name);
  if (succeeded(machine))
    machine->target = makeTarget(*target, triple, *machine);
  return machine;
}
