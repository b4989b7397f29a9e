// The compiler, opened when a graph must be compiled and never before: running a plan needs no
// MLIR.
#pragma once

#include "gantry-c/compiler.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::tool {

/// What the compiler made; its bytes live as long as it does. Move only.
class Artifact {
public:
  std::span<const uint8_t> bytes() const { return content; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(content.data()), content.size()};
  }

private:
  friend class Compiler;
  std::shared_ptr<gantry_artifact_t> handle;
  std::span<const uint8_t> content;
};

/// A result that may come with an artifact although it is a failure (a report of `check`). The
/// status has no message when a printed diagnostic has said the same.
struct Outcome {
  Status status;
  std::optional<Artifact> artifact;
};

/// Whether the compiler's lines go to standard error.
enum class Diagnostics { print, discard };

/// libgantry-compiler by its C API.
class Compiler {
public:
  /// Opens the library that GANTRY_COMPILER names, else the one beside this program (../lib), else
  /// what the loader finds. Errors: UNAVAILABLE, which says where it looked.
  static Expected<Compiler> open();

  Outcome compile(const std::string &file, const std::vector<std::string> &flags) const;
  Outcome check(const std::string &file, const std::vector<std::string> &flags,
                Diagnostics diagnostics = Diagnostics::print) const;
  Outcome planToText(std::span<const uint8_t> plan) const;

private:
  using CompileFn = decltype(&gantry_compile);
  Outcome call(CompileFn function, const std::string &file, const std::vector<std::string> &flags,
               Diagnostics diagnostics) const;
  Outcome outcome(gantry_status_t status, gantry_artifact_t *artifact) const;

  CompileFn compileFn = nullptr;
  decltype(&gantry_check) checkFn = nullptr;
  decltype(&gantry_plan_to_text) planToTextFn = nullptr;
  decltype(&gantry_artifact_data) artifactData = nullptr;
  decltype(&gantry_artifact_destroy) artifactDestroy = nullptr;
  decltype(&gantry_compiler_last_error) lastError = nullptr;
  decltype(&gantry_compiler_version) version = nullptr;
};

} // namespace gantry::tool
