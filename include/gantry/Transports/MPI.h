// Jobs by MPI, whose library is opened at run time: Open MPI, MPICH and what has the ABI of one of
// them, or the ABI of MPI 5.
#pragma once

#include "gantry/Runtime/Transport.h"

namespace gantry::runtime {

struct MPIOptions {
  /// Whether the program may call MPI itself, from other threads (C, Python).
  bool isShared = false;
  /// Bytes that one call may count or lie apart; a test makes it small.
  uint64_t mostBytes = (uint64_t(1) << 31) - 1;
};

/// Finds the library (`GANTRY_MPI_LIB`, else what the process has, else the launcher's, else what
/// the loader finds), starts MPI on a thread of its own, which makes all calls, and says who is
/// there. UNAVAILABLE where there is no library, or not the one that the launcher speaks to, with
/// what to do; FAILED_PRECONDITION where the program has started MPI for fewer threads than needed.
/// To destroy the transport is collective: it finalises MPI, unless the program had started it.
Expected<std::unique_ptr<Transport>> startMPI(const MPIOptions &options = {});

/// How many processes a launcher says that it has started for this job, by its variables; 0 where
/// no launcher is known.
uint32_t ranksOfLauncher();

} // namespace gantry::runtime
