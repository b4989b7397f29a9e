// A toolkit's assembler, for targets whose code a driver compiles at load unless it is machine
// code.
#pragma once

#include <string>

namespace gantry {

/// What is asked of it, and where it is.
struct Assembler {
  enum class Use {
    never,
    ifPossible, ///< a plan without machine code runs as well: a remark says why there is none
    required,
  };
  Use use = Use::never;
  std::string program; ///< its path; empty: this machine has none
  std::string cache;   ///< folder in which what it made is kept; empty: nowhere
};

} // namespace gantry
