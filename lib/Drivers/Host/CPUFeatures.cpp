// CPUID and XCR0, or what the kernel hands over at the start of a program; not /proc/cpuinfo: under
// an emulator (valgrind, qemu) the file still tells of the machine, these tell of what is there.
#include "gantry/Drivers/CPUFeatures.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <map>
#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace gantry::runtime {

std::string_view machineTarget() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
#error "add this architecture's name"
#endif
}

namespace {

enum class Saved : uint64_t { none = 0, ymm = 0x6, zmm = 0xe6, amx = 0x60000 }; // masks of XCR0

struct Feature {
  std::string_view name;
  unsigned level;
  uint32_t leaf, subleaf;
  uint32_t CPUIDRegisters::*reg;
  unsigned bit;
  Saved state;
};

constexpr Feature features[] = {
#define GANTRY_CPU_FEATURE(name, llvmName, level, leaf, subleaf, reg, bit, state)                  \
  {name, level, leaf, subleaf, &CPUIDRegisters::reg, bit, Saved::state},
#include "gantry/Support/CPUFeatures.def"
};

constexpr unsigned highestLevel = 4;

std::string nameOf(unsigned level) { return "x86-64-v" + std::to_string(level); }

/// What CPUID says, asked once for each leaf: in a virtual machine every question goes to the host,
/// which takes microseconds.
class Answers {
public:
  explicit Answers(const CPUID &cpuid) : cpuid(cpuid) {}

  bool has(const Feature &feature) {
    const auto saved = static_cast<uint64_t>(feature.state);
    return (registers(feature.leaf, feature.subleaf).*feature.reg >> feature.bit & 1) != 0 &&
           (cpuid.xcr0 & saved) == saved;
  }

private:
  CPUIDRegisters registers(uint32_t leaf, uint32_t subleaf) {
    const auto [known, isNew] = heard.try_emplace({leaf, subleaf});
    if (isNew)
      known->second = cpuid.registers(leaf, subleaf);
    return known->second;
  }

  const CPUID &cpuid;
  std::map<std::pair<uint32_t, uint32_t>, CPUIDRegisters> heard;
};

#if defined(__x86_64__)

CPUIDRegisters askCPUID(uint32_t leaf, uint32_t subleaf) {
  CPUIDRegisters r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx))
    return {};
  // Leaf 7 says itself how many subleaves it has; others repeat what they say.
  if (leaf == 7 && subleaf != 0 && askCPUID(7, 0).eax < subleaf)
    return {};
  return r;
}

uint64_t readXCR0() {
  constexpr uint32_t osxsave = 1U << 27;
  if (!(askCPUID(1, 0).ecx & osxsave))
    return 0;
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

#endif

} // namespace

std::vector<std::string> featuresOf(const CPUID &cpuid) {
  std::vector<std::string> names;
  unsigned complete = highestLevel;
  Answers answers(cpuid);
  for (const Feature &feature : features) {
    if (answers.has(feature))
      names.emplace_back(feature.name);
    else if (feature.level != 0)
      complete = std::min(complete, feature.level - 1);
  }
  for (unsigned level = 2; level <= complete; ++level)
    names.push_back(nameOf(level));
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> featuresOf(const Capabilities &capabilities) {
  struct Feature {
    std::string_view name;
    uint64_t Capabilities::*word;
    unsigned bit;
  };
  constexpr Feature features[] = {
#define GANTRY_AARCH64_FEATURE(name, llvmName, word, bit) {name, &Capabilities::word, bit},
#include "gantry/Support/CPUFeaturesAArch64.def"
  };
  std::vector<std::string> names;
  for (const Feature &feature : features)
    if (capabilities.*feature.word >> feature.bit & 1)
      names.emplace_back(feature.name);
  std::sort(names.begin(), names.end());
  return names;
}

static std::vector<std::string> emulatedFeatures() {
  using Function = const char *();
  auto *ask = reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, "gantry_emulated_cpu_features"));
  std::vector<std::string> names;
  for (std::string_view rest = ask ? ask() : ""; !rest.empty();) {
    const size_t end = std::min(rest.find(','), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

std::vector<std::string> machineFeatures() {
#if defined(__x86_64__)
  std::vector<std::string> names = featuresOf(CPUID{askCPUID, readXCR0()});
#elif defined(__aarch64__)
  std::vector<std::string> names =
      featuresOf(Capabilities{getauxval(AT_HWCAP), getauxval(AT_HWCAP2)});
#endif
  for (std::string &name : emulatedFeatures())
    names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

/// 0, or the error of the system's.
static int requestMatrices() {
#if defined(__x86_64__)
  // <asm/prctl.h> of older systems has neither: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA.
  constexpr int requestPermission = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, requestPermission, tileData) == 0 ? 0 : errno;
#else
  return ENOSYS;
#endif
}

Unmet unmetByPermission() {
  static const int error = requestMatrices();
  if (error == 0)
    return {};
  return {std::string("Linux does not let this process use the registers of AMX: ") +
              std::strerror(error),
          "compile the graph for a CPU without AMX with --target-cpu, which takes a list"};
}

/// Whether a plan's code has to be permitted by the system, too.
static bool needsPermission(std::span<const std::string_view> required) {
  static const std::vector<std::string> emulated = emulatedFeatures();
  return std::any_of(required.begin(), required.end(), [](std::string_view name) {
    const auto *feature = std::find_if(std::begin(features), std::end(features),
                                       [&](const Feature &f) { return f.name == name; });
    return feature != std::end(features) && feature->state == Saved::amx &&
           std::find(emulated.begin(), emulated.end(), name) == emulated.end();
  });
}

std::vector<std::string_view> membersOf(std::string_view name) {
  std::vector<std::string_view> members;
  for (unsigned level = 2; level <= highestLevel; ++level)
    if (name == nameOf(level))
      for (const Feature &feature : features)
        if (feature.level != 0 && feature.level <= level)
          members.push_back(feature.name);
  if (members.empty())
    members.push_back(name);
  return members;
}

Unmet unmetByCPU(std::span<const std::string_view> required,
                 const std::vector<std::string> &available) {
  std::string missing;
  for (std::string_view name : required)
    for (std::string_view feature : membersOf(name))
      if (!std::binary_search(available.begin(), available.end(), feature))
        missing += (missing.empty() ? "" : ", ") + std::string(feature);
  if (missing.empty())
    return {};
  return {"this machine's CPU lacks " + missing,
          "compile the graph here, or for an older CPU with --target-cpu"};
}

Unmet unmetByHost(const VariantNeeds &needs) {
  if (needs.source == VariantNeeds::Source::library)
    return {"the library '" + std::string(needs.library) + "' is not used on CPUs", ""};
  if (!needs.target.empty() && needs.target != machineTarget())
    return {"the plan's code is for " + std::string(needs.target) + ", this machine is " +
                std::string(machineTarget()),
            "compile the graph for it with --target-cpu, which takes a list"};
  if (needs.archMin != 0 || needs.archMax != 0)
    return {"CPUs have features, not the architecture numbers of GPUs", ""};
  if (needs.features.empty())
    return {};
  static const std::vector<std::string> available = machineFeatures();
  if (Unmet lack = unmetByCPU(needs.features, available))
    return lack;
  return needsPermission(needs.features) ? unmetByPermission() : Unmet();
}

} // namespace gantry::runtime
