// What Gantry's own kernels must not contain: opcodes that the interpreter does not know,
// approximate functions and flushed subnormals that nobody asked for, local memory (spilled
// registers and indexed arrays).
#pragma once

#include "gantry/PTX/Module.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gantry::ptx {

struct Finding {
  std::string_view rule; ///< "opcode", "approx", "ftz", "local"
  std::string function;
  Place place;
  std::string source;
  std::string opcode;

  /// "kernel.ptx:12:3: error: …"
  std::string text(std::string_view file) const;
};

/// Findings in the order of the text. `allowed` has rules ("ftz") and opcodes, in full
/// ("ex2.approx.ftz.f32") or as far as a dot ("ex2.approx").
std::vector<Finding> lint(const Module &module, std::span<const std::string> allowed);

/// Names of the opcodes that are known, sorted: "abs", "activemask", …
std::vector<std::string_view> knownOpcodes();

} // namespace gantry::ptx
