// What this machine's CPU can run: instruction sets by the names of Support/CPUFeatures*.def.
#pragma once

#include "gantry/Runtime/Device.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::runtime {

/// "x86-64" or "aarch64": what a plan's code names as its target.
std::string_view machineTarget();

/// What CPUID leaves behind.
struct CPUIDRegisters {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

/// A processor to ask. Exposed for tests, which have others than this machine's.
struct CPUID {
  /// Zeros for a leaf that the processor does not have.
  std::function<CPUIDRegisters(uint32_t leaf, uint32_t subleaf)> registers;
  uint64_t xcr0 = 0; ///< the state that the system saves; 0 when it has no XSAVE
};

/// The features of an x86-64 processor, sorted, and the levels ("x86-64-v3") that they make up. A
/// feature whose registers the system does not save is not there.
std::vector<std::string> featuresOf(const CPUID &cpuid);

/// What Linux says of an AArch64 processor: getauxval(AT_HWCAP) and getauxval(AT_HWCAP2).
struct Capabilities {
  uint64_t hwcap = 0, hwcap2 = 0;
};

/// The features of an AArch64 processor, sorted.
std::vector<std::string> featuresOf(const Capabilities &capabilities);

/// This machine's features, and those that a library in this process carries out in software: it
/// says which by a function `const char *gantry_emulated_cpu_features()`, separated by commas.
std::vector<std::string> machineFeatures();

/// Asks Linux once whether this process may use the registers of matrices (AMX).
Unmet unmetByPermission();

/// The features of a level, in the table's order; of any other name, that alone.
std::vector<std::string_view> membersOf(std::string_view name);

/// Names what is missing, unless `available` (sorted) has all of `required`.
Unmet unmetByCPU(std::span<const std::string_view> required,
                 const std::vector<std::string> &available);

/// What this machine's CPU lacks for a variant; its features are read once.
Unmet unmetByHost(const VariantNeeds &needs);

} // namespace gantry::runtime
