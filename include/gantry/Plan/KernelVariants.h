// In which ways a kernel of a plan can run, whichever version of the format told it.
#pragma once

#include "gantry/Plan/Plan_generated.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::plan {

/// A variant with every default filled in. Views live as long as the plan.
struct KernelVariant {
  std::string_view driver;
  fb::KernelSource source = fb::KernelSource::code;
  uint32_t code = 0;                      ///< of source code: index into Plan.code
  std::string_view library;               ///< of source library
  std::string_view libraryVersion;        ///< the oldest that will do; empty: any
  std::string_view symbol;                ///< in the code or library, or the registered name
  std::vector<std::string_view> features; ///< besides those of the code
  uint32_t archMin = 0, archMax = 0;      ///< 0: no bound
  uint64_t items = 0, grain = 0;          ///< 0: what the command says
  const fb::Extent *grid = nullptr, *block = nullptr;
  uint32_t sharedMemory = 0;
  uint64_t scratch = 0;

  /// "avx512 code for host", "cublas 12.0 on cuda": for logs.
  std::string describe(const fb::Plan &plan) const;
};

/// In the order in which they are tried. A kernel of a plan from before variants has one for each
/// driver that could run it. The kernel's indices have been checked.
std::vector<KernelVariant> variantsOf(const fb::Plan &plan, const fb::Kernel &kernel);

/// Whether the variant's symbol is a MatrixProduct.
bool isMatrixProduct(const fb::Variant &variant);

/// Whether it is a library's part of a collective (AllReducePart.h).
bool isCollective(const fb::Variant &variant);

/// The drivers that a device may have, in order of preference. Plans from before a driver was named
/// mean the usual one of its type.
std::vector<std::string_view> driversOf(const fb::Device &device);

/// Whether code of that kind runs on devices of that driver.
bool runsOn(fb::CodeKind kind, std::string_view driver);

} // namespace gantry::plan
