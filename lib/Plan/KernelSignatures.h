// Which signature holds for each kernel's launches, found once by the checks of tables.
#pragma once

#include "gantry/Plan/Plan_generated.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace gantry::plan {

/// Of a variant whose code says what it takes.
struct SignedVariant {
  std::string_view driver; ///< empty, of a kernel from before variants: all that run the code
  const fb::Signature *signature;
  uint64_t items; ///< of each launch; 0: what the command says
};

/// By kernel, in the order of its variants.
class KernelSignatures {
public:
  void addKernel() { begins.push_back(static_cast<uint32_t>(all.size())); }
  /// Of the kernel that was added last.
  void add(SignedVariant variant) { all.push_back(variant); }

  std::span<const SignedVariant> of(uint32_t kernel) const {
    const size_t end = kernel + 1 < begins.size() ? begins[kernel + 1] : all.size();
    return std::span(all).subspan(begins[kernel], end - begins[kernel]);
  }

private:
  std::vector<uint32_t> begins;
  std::vector<SignedVariant> all;
};

} // namespace gantry::plan
