// What the libraries of GPUs have in common: how they are found and opened, how old they are, and
// what their failures mean for the context that they work in.
#pragma once

#include "CUDA/Context.h"
#include "gantry/Support/Status.h"

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace gantry::runtime::cuda {

struct OpenedLibrary {
  void *handle = nullptr; ///< for dlsym; never closed, as what it has started bears no end
  std::string path;
};

/// Opens the file that the environment's `variable` names, else the first of the usual ones; only
/// the named one where GANTRY_CUDA_LIB names another libcuda, since the usual ones would not work
/// with that. UNAVAILABLE says what is missing of `name`.
Expected<OpenedLibrary> openLibrary(const char *name, const char *variable,
                                    std::initializer_list<const char *> usual);

/// Whether a version is at least "12.4"; what is not said is 0.
bool isAtLeast(std::array<size_t, 3> version, std::string_view oldest);
/// "13.1.0"
std::string versionText(std::array<size_t, 3> version);

/// The failure of a library's `call`, which hides what CUDA told it, so that CUDA is asked whether
/// the context is lost.
Status libraryFailure(Context &context, StatusCode code, const char *call, const std::string &what);

/// `status` of a call on a stream that may be captured: UNSUPPORTED when the call broke the
/// capture, since what a library cannot do for a graph it may still do on a stream.
Status afterCapture(Context &context, StreamHandle stream, Status status);

} // namespace gantry::runtime::cuda
