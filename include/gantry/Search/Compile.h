// From a graph file to a plan: what runs the phases, once or, where there is something to choose,
// many times.
#pragma once

#include "gantry/Frontend/Frontend.h"
#include "gantry/Pipeline/Pipeline.h"
#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Cancel.h"
#include "gantry/Support/File.h"

#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace gantry {

/// Where a plan is to go.
struct PlanOutput {
  std::string file; ///< written whole or not at all; empty: kept for the caller
  /// A plan that is kept and whose constants take at least so many bytes is kept in a nameless file
  /// in TMPDIR, mapped; 0: in memory, whatever its size.
  uint64_t scratchAbove = 0;
  /// Only an outline of the plan, to be told of: no code is made, and weights are not written.
  bool isOutline = false;
};

/// What a compilation made.
struct Compiled {
  std::variant<AlignedBuffer, MappedFile> plan; ///< the plan file's bytes, if they are kept
  std::string text;                             ///< the text of the phase that was asked for
  std::vector<std::string> shapeValues;         ///< names of the candidates that were compiled in
  std::vector<std::string> files;               ///< that were read besides the graph's
};

/// Who waits for a compilation.
struct Watch {
  std::function<void(llvm::StringRef)> progress; ///< is told each phase; may be empty
  const Cancel *cancel = nullptr;                ///< may be null
};

/// Compiles the graph. Diagnostics go to `context`. A compilation that is cancelled skips what is
/// left of its passes and code, and says so in an error of the code `cancelled`.
llvm::FailureOr<Compiled> compileGraph(const GraphFile &file, const CompileOptions &options,
                                       const PlanOutput &output, mlir::MLIRContext &context,
                                       const Watch &watch = {});

/// As the frontend's checkGraph; with --train, what has no gradient on the way from the loss to
/// weights is not supported, either. A loss of "*" is every output.
std::optional<GraphReport> checkGraph(const GraphFile &file, const CompileOptions &options,
                                      mlir::MLIRContext &context);

/// The least that would have to change for the ops to be on the device, in words, and what that
/// would bring: both ways are compiled up to their memory, without code. Diagnostics go to
/// `context`.
llvm::FailureOr<std::string> explainWhyNot(const GraphFile &file, const CompileOptions &options,
                                           const WhyNotQuestion &question,
                                           mlir::MLIRContext &context);

} // namespace gantry
