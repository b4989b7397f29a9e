// Names of CPUs into LLVM's target machines. With exceptions: locks are given back where there is
// no memory for what is known.

#include "Machine.h"

#include "gantry/Target/CPU/CPUTarget.h"

#include "Architectures/Architecture.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

using namespace mlir;
using namespace gantry;
using cpu::Architecture;

/// The scheduler after register allocation takes time quadratic in the length of a block, 40 % of
/// code generation for unrolled kernels, and gains nothing on processors that reorder. LLVM has no
/// other switch for it than its command line.
static void disablePostRAScheduler() {
  auto &options = llvm::cl::getRegisteredOptions();
  if (auto option = options.find("post-RA-scheduler"); option != options.end())
    option->second->addOccurrence(1, "post-RA-scheduler", "0");
}

namespace {
/// An architecture with what LLVM has for it.
struct Known {
  const Architecture *architecture;
  llvm::Triple triple;
  const llvm::Target *target;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget; ///< of its first version
};
} // namespace

static bool isHost(const Architecture &architecture) {
  static const llvm::Triple host(llvm::sys::getDefaultTargetTriple());
  return host.getArch() == llvm::Triple(architecture.triple).getArch();
}

/// Makes LLVM know an architecture, when it is asked for first.
static FailureOr<const Known *> know(Location loc, const Architecture &architecture) {
  static std::mutex mutex;
  static std::map<const Architecture *, Known> known;
  std::lock_guard<std::mutex> lock(mutex);
  if (auto entry = known.find(&architecture); entry != known.end())
    return &entry->second;
  if (known.empty())
    disablePostRAScheduler();
  architecture.initialize();
  llvm::Triple triple(isHost(architecture) ? llvm::sys::getDefaultTargetTriple()
                                           : architecture.triple.str());
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return emitError(loc) << "no code generator for " << triple.str() << ": " << error;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(target->createMCSubtargetInfo(triple, "", ""));
  return &known
              .try_emplace(&architecture,
                           Known{&architecture, triple, target, std::move(subtarget)})
              .first->second;
}

/// The name of a CPU that is spelled most alike, if one is.
static StringRef nearestCPU(ArrayRef<const Known *> all, StringRef name) {
  StringRef nearest;
  unsigned least = unsigned(name.size()) / 3 + 1;
  for (const Known *known : all)
    for (const llvm::SubtargetSubTypeKV &cpu : known->subtarget->getAllProcessorDescriptions()) {
      unsigned distance = name.edit_distance(cpu.Key, true, least);
      if (distance >= least)
        continue;
      nearest = cpu.Key;
      least = distance;
    }
  return nearest;
}

/// The architecture that has a CPU of that name; this machine's is asked first.
static FailureOr<const Known *> findArchitecture(Location loc, StringRef name) {
  name = name.split('+').first;
  SmallVector<const Architecture *> architectures{&cpu::kX86, &cpu::kAArch64};
  std::stable_partition(architectures.begin(), architectures.end(),
                        [](const Architecture *a) { return isHost(*a); });
  SmallVector<const Known *> asked;
  for (const Architecture *architecture : architectures) {
    FailureOr<const Known *> known = know(loc, *architecture);
    if (failed(known))
      return failure();
    if (name == "native" || name == architecture->baseline ||
        (*known)->subtarget->isCPUStringValid(name))
      return known;
    asked.push_back(*known);
  }
  StringRef nearest = nearestCPU(asked, name);
  return emitError(loc) << "unknown CPU '" << name << "' in --target-cpu"
                        << (nearest.empty() ? "" : "; did you mean '" + nearest.str() + "'?")
                        << (nearest.empty() ? "; known" : " Known")
                        << " are native, x86-64-v3, x86-64-v4, aarch64 and LLVM's names";
}

LogicalResult cpu::diagnoseUnknownFeature(Location loc, StringRef feature,
                                          const Architecture &architecture) {
  return emitError(loc) << "unknown feature '" << feature << "' of " << architecture.name
                        << " in --target-cpu";
}

/// What a name stands for, without the target.
static LogicalResult describe(Location loc, const Known &known, StringRef name, Machine &machine) {
  SmallVector<StringRef> added;
  name.split(added, '+');
  name = added.front();
  added.erase(added.begin());
  const bool native = name == "native";
  const Architecture &architecture = *known.architecture;
  machine.architecture = architecture.name.str();
  machine.cpu = native ? llvm::sys::getHostCPUName().str() : name.str();
  if (!known.subtarget->isCPUStringValid(machine.cpu))
    machine.cpu = "generic"; // the baseline, or a machine that LLVM has no name for
  return architecture.describe(loc, *known.target, known.triple, native, added, machine);
}

/// A copy of what is known of a name; finding it out takes as long as code for a small kernel does.
static FailureOr<Machine> describeOnce(Location loc, const Known &known, const std::string &name) {
  static std::mutex mutex;
  static llvm::StringMap<Machine> described;
  std::lock_guard<std::mutex> lock(mutex);
  auto [entry, isNew] = described.try_emplace(name);
  Machine &found = entry->second;
  if (isNew && failed(describe(loc, known, name, found))) {
    described.erase(entry);
    return failure();
  }
  return Machine{found.architecture, found.cpu,         found.tune,      found.llvmFeatures,
                 found.features,     found.amxFeatures, found.registers, nullptr};
}

FailureOr<Machine> gantry::describeMachine(Location loc, const std::string &name) {
  FailureOr<const Known *> known = findArchitecture(loc, name);
  if (failed(known))
    return failure();
  return describeOnce(loc, **known, name);
}

LogicalResult gantry::checkCPUName(Location loc, StringRef name) {
  return describeMachine(loc, name.str());
}

static std::unique_ptr<llvm::TargetMachine> makeTarget(const Known &known, const Machine &machine) {
  llvm::TargetOptions options;
  // Products and sums fuse where the ops allow it (contract), nowhere else.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.NoTrappingFPMath = true;
  return std::unique_ptr<llvm::TargetMachine>(known.target->createTargetMachine(
      known.triple, machine.cpu, machine.llvmFeatures, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

namespace {
/// LLVM's targets that nobody uses, by name: to make one takes as long as code for a small kernel.
class IdleTargets {
public:
  static IdleTargets &ofProcess() {
    static auto *targets = new IdleTargets; // threads may use it as long as there is a process
    return *targets;
  }

  std::unique_ptr<llvm::TargetMachine> take(StringRef name) {
    std::lock_guard<std::mutex> lock(mutex);
    auto entry = targets.find(name);
    if (entry == targets.end() || entry->second.empty())
      return nullptr;
    return entry->second.pop_back_val();
  }

  /// It is gone where there is no memory to keep it.
  void giveBack(StringRef name, std::unique_ptr<llvm::TargetMachine> target) {
    try {
      std::lock_guard<std::mutex> lock(mutex);
      targets[name].push_back(std::move(target));
    } catch (const std::bad_alloc &) {
    }
  }

private:
  std::mutex mutex;
  llvm::StringMap<SmallVector<std::unique_ptr<llvm::TargetMachine>, 2>> targets;
};
} // namespace

FailureOr<Machine> gantry::makeMachine(Location loc, const std::string &name) {
  FailureOr<const Known *> known = findArchitecture(loc, name);
  if (failed(known))
    return failure();
  FailureOr<Machine> machine = describeOnce(loc, **known, name);
  if (failed(machine))
    return failure();
  std::unique_ptr<llvm::TargetMachine> target = IdleTargets::ofProcess().take(name);
  if (!target)
    target = makeTarget(**known, *machine);
  machine->target = {target.release(), [name](llvm::TargetMachine *target) {
                       IdleTargets::ofProcess().giveBack(
                           name, std::unique_ptr<llvm::TargetMachine>(target));
                     }};
  return machine;
}

std::vector<std::string> gantry::machinesOf(TargetAttr target) {
  std::vector<std::string> machines;
  if (target.getMachines())
    for (auto name : target.getMachines().getAsRange<StringAttr>())
      machines.push_back(name.str());
  if (machines.empty())
    machines.push_back("native");
  return machines;
}

FailureOr<Registers> gantry::registersFor(Location loc, TargetAttr target) {
  if (!target)
    return Registers();
  FailureOr<Machine> machine = describeMachine(loc, machinesOf(target).front());
  if (failed(machine))
    return failure();
  return machine->registers;
}
