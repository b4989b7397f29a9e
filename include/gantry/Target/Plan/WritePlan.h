// From the plan dialect to a plan file.
#pragma once

#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Cancel.h"
#include "gantry/Support/Status.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <map>
#include <span>

namespace gantry {

/// Of one run of a function, by the cost model.
struct PredictedSteps {
  double seconds = 0;           ///< 0: not predicted
  double lowerBoundSeconds = 0; ///< no placement can be predicted to take less
};

/// What goes into the file beside the commands.
struct PlanInfo {
  std::string source;                   ///< base name of the graph file
  uint64_t sourceHash = 0;              ///< XXH3-64 of its bytes
  std::string math = "f32";             ///< precision of the arithmetic
  std::vector<std::string> remarks;     ///< what was remarked on the way
  std::vector<std::string> constraints; ///< what the user or a search asked for, in words
  std::string placement;                ///< policy: default, follow, auto
  std::map<std::string, PredictedSteps> predictions; ///< by function
  const Cancel *cancel = nullptr;                    ///< ends the writing; may be null
  bool isOutline = false;                            ///< Plan/Outline.h
};

/// Writes `module` (plan dialect after Memory, with code) to `path`, whole or not at all; weights
/// are streamed. Diagnostics go to the module's context.
llvm::LogicalResult writePlanFile(mlir::ModuleOp module, const PlanInfo &info,
                                  const std::string &path);

/// Receives the bytes of a plan in their order; a failure ends the writing.
using PlanSink = std::function<Status(std::span<const uint8_t>)>;

/// The same file to wherever the caller wants it.
llvm::LogicalResult writePlanTo(mlir::ModuleOp module, const PlanInfo &info, const PlanSink &sink);

/// The same file in memory.
llvm::FailureOr<AlignedBuffer> writePlanBytes(mlir::ModuleOp module, const PlanInfo &info);

/// The metadata of its outline: for reading what a plan would come to. The module may be one
/// without code.
llvm::FailureOr<AlignedBuffer> planMetadata(mlir::ModuleOp module, const PlanInfo &info);

} // namespace gantry
