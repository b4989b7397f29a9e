#include "Compiler.h"

#include "Console.h"

#include "gantry/Support/Version.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace gantry::tool {

namespace {

constexpr const char *libraryName = "libgantry-compiler.so";

/// Where to look, in order; the first that exists counts.
std::vector<std::string> candidates() {
  if (const char *exact = std::getenv("GANTRY_COMPILER"); exact && *exact)
    return {exact};
  std::vector<std::string> paths;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto beside = program.parent_path().parent_path() / "lib" / libraryName;
    if (std::filesystem::exists(beside, error))
      paths.push_back(beside.string());
  }
  paths.push_back(libraryName);
  return paths;
}

template <typename Fn>
bool find(void *library, const char *name, Fn &function) {
  function = reinterpret_cast<Fn>(::dlsym(library, name));
  return function != nullptr;
}

} // namespace

Expected<Compiler> Compiler::open() {
  void *library = nullptr;
  std::string why;
  for (const std::string &path : candidates()) {
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library)
      break;
    const char *reason = ::dlerror();
    why += (why.empty() ? "" : "; ") + std::string(reason ? reason : path);
  }
  if (!library)
    return Status{StatusCode::unavailable,
                  "compiling a graph needs the compiler library, which cannot be opened: " + why +
                      "; set GANTRY_COMPILER to the path of libgantry-compiler.so"};
  // The library stays open: LLVM registers things that must not be unloaded.
  Compiler compiler;
  if (!find(library, "gantry_compile", compiler.compileFn) ||
      !find(library, "gantry_check", compiler.checkFn) ||
      !find(library, "gantry_plan_to_text", compiler.planToTextFn) ||
      !find(library, "gantry_artifact_data", compiler.artifactData) ||
      !find(library, "gantry_artifact_destroy", compiler.artifactDestroy) ||
      !find(library, "gantry_compiler_last_error", compiler.lastError) ||
      !find(library, "gantry_compiler_version", compiler.version))
    return Status{StatusCode::unavailable,
                  std::string("the compiler library lacks a function: ") + ::dlerror()};
  if (compiler.version() != std::string_view(GANTRY_VERSION_STRING))
    return Status{StatusCode::unavailable, std::string("the compiler library is of version ") +
                                               compiler.version() + ", expected " +
                                               GANTRY_VERSION_STRING};
  return compiler;
}

Outcome Compiler::outcome(gantry_status_t status, gantry_artifact_t *artifact) const {
  Outcome result;
  if (status != GANTRY_OK)
    result.status = Status(static_cast<StatusCode>(status), lastError());
  if (artifact) {
    result.artifact.emplace();
    result.artifact->handle.reset(artifact, artifactDestroy);
    size_t size = 0;
    const void *data = artifactData(artifact, &size);
    result.artifact->content = {static_cast<const uint8_t *>(data), size};
  }
  return result;
}

Outcome Compiler::call(CompileFn function, const std::string &file,
                       const std::vector<std::string> &flags, Diagnostics diagnostics) const {
  std::vector<const char *> pointers;
  for (const std::string &flag : flags)
    pointers.push_back(flag.c_str());
  gantry_artifact_t *artifact = nullptr;
  CompilerLog log;
  const auto discard = [](void *, gantry_severity_t, const char *) {};
  const gantry_log_callback_t receive =
      diagnostics == Diagnostics::print ? &CompilerLog::receive : +discard;
  const gantry_status_t status =
      function(file.c_str(), pointers.data(), pointers.size(), receive, &log, &artifact);
  Outcome result = outcome(status, artifact);
  // The first diagnostic is the last error as well; once is enough.
  if (diagnostics == Diagnostics::print && log.hasTold(result.status.message()))
    result.status = Status(result.status.code(), "");
  return result;
}

Outcome Compiler::compile(const std::string &file, const std::vector<std::string> &flags) const {
  return call(compileFn, file, flags, Diagnostics::print);
}

Outcome Compiler::check(const std::string &file, const std::vector<std::string> &flags,
                        Diagnostics diagnostics) const {
  return call(checkFn, file, flags, diagnostics);
}

Outcome Compiler::planToText(std::span<const uint8_t> plan) const {
  gantry_artifact_t *artifact = nullptr;
  const gantry_status_t status = planToTextFn(plan.data(), plan.size(), &artifact);
  return outcome(status, artifact);
}

} // namespace gantry::tool
