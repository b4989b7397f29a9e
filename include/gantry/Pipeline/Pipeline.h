// From a graph file to a plan: the phases in order, and the function that runs them.
#pragma once

#include "gantry/Frontend/Frontend.h"
#include "gantry/Support/AlignedBuffer.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gantry {

/// Where compilation can stop; the order is that of the pipeline.
enum class Phase { import, simplify, replicate, place, copy, fuse, kernel, schedule, memory, llvm };

/// "import", "simplify", ...
llvm::StringRef phaseName(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);

/// Where ops without a request go (spec P6, P11). Unset is `default`, or `follow` with explicit
/// copies.
enum class PlacementPolicy { unset, first, follow, automatic };

/// Everything that decides what a graph is compiled to; nothing else does.
struct CompileOptions {
  std::vector<std::string> dims;   ///< NAME=N for dimensions that the file leaves open
  std::vector<std::string> values; ///< NAME=FILE.npy for inputs that shapes depend on
  std::string entry;               ///< compile this function only

  // What for: Topology.cpp makes the module's topology of these.
  std::string devices;             ///< CPU:0,GPU:0@16GiB; empty: the host, or `topology`
  std::string topology;            ///< a JSON file
  std::string visible;             ///< 0,2
  std::vector<std::string> splits; ///< GPU:0=1GiB,1GiB
  bool simulate = false;           ///< GPUs are run by the simulator

  // Where ops go, and what may be copied.
  PlacementPolicy placement = PlacementPolicy::unset;
  std::vector<std::string> rules; ///< KIND:PATTERN=DEVICE or @FILE
  bool softPlacement = false;
  std::string placementLock;      ///< read this lock
  std::string writePlacementLock; ///< write one here
  std::string whyNot;             ///< OP=DEVICE: only say what would put the op there
  bool explicitCopies = false;    ///< an op whose operands are elsewhere is an error
  std::string maxCopy;            ///< d2h:0,h2d:1MiB
  std::string replicate;          ///< GPU:0,GPU:1 or GPU:0=2,GPU:1=1
  bool firstReplica = false;      ///< one device for each gantry.replicate, to compare with
  unsigned searchSteps = 2000;    ///< of local search in automatic placement

  std::vector<std::string> targetCPUs; ///< code for each, best first; none: for this machine
  std::vector<std::string> also;       ///< drivers that the plan is to run with as well
  std::optional<Phase> stopAfter;
  bool fuse = true;
  bool verifyEach = false;  ///< verify after every pass, not only between phases
  bool printIR = false;     ///< print the IR after every pass to standard error
  std::string output;       ///< write the plan straight to this file
  uint64_t outputAbove = 0; ///< only when its constants take at least so many bytes
};

/// Reads flags as the tool and the C API give them, "name=value" or "name". On failure `error` says
/// which flag is wrong and what is known.
std::optional<CompileOptions> parseCompileFlags(llvm::ArrayRef<llvm::StringRef> flags,
                                                std::string &error);

/// Dialects and interface implementations that the passes need.
void registerDialects(mlir::DialectRegistry &registry);

/// Adds the passes of all phases from `first` up to and including `last`.
void buildPipeline(mlir::OpPassManager &pm, const CompileOptions &options, Phase last,
                   Phase first = Phase::import);

/// Registers the whole pipeline as --gantry-pipeline for gantry-opt.
void registerPipelines();

/// The part of `options` that the frontend takes, with the arrays of --value read.
llvm::FailureOr<ImportOptions> readImportOptions(const CompileOptions &options,
                                                 mlir::MLIRContext &context);

/// What a compilation made.
struct Compiled {
  AlignedBuffer plan; ///< the plan file's bytes, unless it was written to a file
  std::string text;   ///< the text of the phase that was asked for
};

/// Compiles the graph in `path`. Diagnostics go to `context`; `progress` is told each phase.
llvm::FailureOr<Compiled> compileGraph(llvm::StringRef path, const CompileOptions &options,
                                       mlir::MLIRContext &context,
                                       llvm::function_ref<void(llvm::StringRef)> progress);

} // namespace gantry
