// The compiler, opened when a graph must be compiled and never before: running a plan needs no
// MLIR.
#pragma once

#include "Console.h"

#include "gantry-c/compiler.h"
#include "gantry/Formats/Array.h"
#include "gantry/Support/Status.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gantry::tool {

/// What the compiler made; its bytes live as long as it does.
class Artifact {
public:
  std::span<const uint8_t> bytes() const { return content; }
  std::string_view text() const {
    return {reinterpret_cast<const char *>(content.data()), content.size()};
  }
  /// Names of the candidates that are compiled in.
  const std::vector<std::string> &shapeValues() const { return values; }
  /// Files that were read besides the graph.
  const std::vector<std::string> &filesRead() const { return files; }

private:
  friend class Compiler;
  std::shared_ptr<gantry_artifact_t> handle;
  std::span<const uint8_t> content;
  std::vector<std::string> values, files;
};

/// A result of the compiler. The status has no message when a printed diagnostic has said the same.
struct Outcome {
  Status status;
  std::optional<Artifact> artifact;
  std::vector<CompilerLine> lines; ///< what was printed meanwhile
};

/// What `check` says of a graph; a report comes with the failure that something is not supported.
struct CheckOutcome {
  Status status;
  std::optional<std::string> text, json;
};

/// An array for an input that may decide shapes; borrowed.
struct ShapeInput {
  std::string name;
  arrays::ArrayView value;
};

/// A graph and how to compile it.
struct CompileRequest {
  std::string file;
  std::optional<std::span<const uint8_t>> bytes; ///< of standard input, in the place of a file
  std::vector<std::string> flags;                ///< "dim=batch=8"
  std::vector<ShapeInput> candidates;
  std::string output;        ///< file for the plan; empty: into the artifact
  uint64_t scratchAbove = 0; ///< bytes of weights from which on the artifact is a mapped file
  bool isOutline = false;    ///< of a plan that is told of and not run
};

/// libgantry-compiler by its C API; its lines go to standard error.
class Compiler {
public:
  /// Opens the library that GANTRY_COMPILER names, else the one beside this program (../lib), else
  /// what the loader finds. Errors: UNAVAILABLE, which says where it looked.
  static Expected<Compiler> open();

  /// The library that open takes.
  static std::string libraryPath();

  Outcome compile(const CompileRequest &request) const;
  Outcome whyNot(const CompileRequest &request, const std::string &op,
                 const std::string &device) const;
  CheckOutcome check(const CompileRequest &request) const;
  Outcome planToText(std::span<const uint8_t> plan) const;

private:
  Outcome outcome(gantry_status_t status, gantry_artifact_t *artifact) const;
  Status statusOf(gantry_status_t status) const;
  /// Notes that a failure is the command line's, when it is.
  void blame(const gantry_compile_request_t &request, const Status &failure) const;

  decltype(&gantry_compile) compileFn = nullptr;
  decltype(&gantry_check_flags) checkFlagsFn = nullptr;
  decltype(&gantry_why_not) whyNotFn = nullptr;
  decltype(&gantry_check) checkFn = nullptr;
  decltype(&gantry_plan_to_text) planToTextFn = nullptr;
  decltype(&gantry_artifact_data) artifactData = nullptr;
  decltype(&gantry_artifact_num_shape_values) artifactNumShapeValues = nullptr;
  decltype(&gantry_artifact_shape_value) artifactShapeValue = nullptr;
  decltype(&gantry_artifact_num_files) artifactNumFiles = nullptr;
  decltype(&gantry_artifact_file) artifactFile = nullptr;
  decltype(&gantry_artifact_destroy) artifactDestroy = nullptr;
  decltype(&gantry_graph_info_text) infoText = nullptr;
  decltype(&gantry_graph_info_json) infoJson = nullptr;
  decltype(&gantry_graph_info_destroy) infoDestroy = nullptr;
  decltype(&gantry_compiler_last_error) lastError = nullptr;
  decltype(&gantry_compiler_version) version = nullptr;
};

} // namespace gantry::tool
