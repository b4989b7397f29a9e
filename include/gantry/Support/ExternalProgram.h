// Other programs: where they are, and what they answer.
#pragma once

#include "gantry/Support/Status.h"

#include <span>
#include <string>
#include <vector>

namespace gantry {

/// How a program ended, and what it wrote to standard output and standard error, mixed.
struct Finished {
  int exitCode = 0;
  int signal = 0; ///< that ended it; 0: none did
  std::string output;

  bool isGood() const { return exitCode == 0 && signal == 0; }
  /// "exit status 1", "signal 9 (Killed)".
  std::string describe() const;
};

/// Runs `command`, whose first word is the program's path, and waits for its end. It inherits
/// `descriptors` and no others, and nothing to read. It is not ended when this process is; what it
/// writes to files without a name is then gone with it. Errors: UNAVAILABLE, it cannot be started.
Expected<Finished> runProgram(const std::vector<std::string> &command,
                              std::span<const int> descriptors = {});

/// The assembler of the CUDA Toolkit: what GANTRY_PTXAS names, else the first in the folders of
/// $PATH, $CUDA_HOME/bin and /usr/local/cuda/bin; empty when there is none.
/// Errors: NOT_FOUND, GANTRY_PTXAS names no program.
Expected<std::string> findPtxas();

} // namespace gantry
