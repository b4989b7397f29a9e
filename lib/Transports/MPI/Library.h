// The MPI library of this process, and the ABI that it has.
#pragma once

#include "gantry/Support/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace gantry::runtime::mpi {

/// A communicator, type, request or error handler, as a call takes it.
using Handle = uintptr_t;

/// What a program has from mpi.h otherwise. `undefined` is the same in all.
struct Abi {
  const char *name = "";
  size_t handleBytes = sizeof(void *); ///< of a handle in memory
  Handle world = 0, byte = 0, nullRequest = 0, errorsReturn = 0;
  void *ignoreStatuses = nullptr;
};

constexpr int undefined = -32766;
/// Levels of threads, equal in all ABIs.
constexpr int funneled = 1, multiple = 3;

struct Library {
#define GANTRY_MPI_FUNCTION(name, symbol, ...) int (*name)(__VA_ARGS__) = nullptr;
#include "Functions.def"

  std::string path;    ///< as the loader was asked for it
  std::string version; ///< "Open MPI 4.1.4"
  Abi abi;

  /// Opens the library of this process; see startMPI. Nothing of MPI is started.
  static Expected<std::unique_ptr<Library>> open();

  /// "Open MPI 4.1.4 (libmpi.so.40)".
  std::string description() const { return version + " (" + path + ")"; }
  /// Success, or INTERNAL with the function's name and the library's words.
  Status check(int result, const char *function) const;
};

} // namespace gantry::runtime::mpi
