// Machine code for NVIDIA GPUs by ptxas.
#pragma once

#include "gantry/Support/Status.h"
#include "gantry/Target/Assembler.h"

#include <string_view>
#include <vector>

namespace gantry {

/// ptxas of one compilation.
class Ptxas {
public:
  /// Errors: UNAVAILABLE, it is not there or does not run.
  static Expected<Ptxas> start(const Assembler &assembler);

  /// A cubin of `ptx` for `arch`, made now or kept from another time; the same bytes. May be called
  /// by several threads. `name` stands for the text in messages.
  /// Errors: INTERNAL, what ptxas said; UNAVAILABLE, it cannot be started, or was killed.
  Expected<std::vector<char>> assemble(std::string_view ptx, std::string_view arch,
                                       std::string_view name) const;

private:
  std::string program;
  std::string version; ///< all that it says about itself
  std::string cache;
};

} // namespace gantry
