// The phases in order, and the options that decide what they do.
#pragma once

#include "gantry/Device/CopyBudget.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Formats/Array.h"
#include "gantry/Frontend/Frontend.h"
#include "gantry/Target/Assembler.h"
#include "gantry/Transforms/LoweredKernels.h"
#include "gantry/Transforms/Placement.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace gantry {

/// Where compilation can stop; the order is that of the pipeline.
enum class Phase {
  import,
  simplify,
  replicate,
  place,
  copy,
  fuse,
  kernel,
  schedule,
  memory,
  llvm,
  ptx
};

/// Of "import", "simplify", ...
std::optional<Phase> parsePhase(llvm::StringRef name);

/// Where ops without a request go (spec P6, P11). Unset is `default`, or `follow` with explicit
/// copies.
enum class PlacementPolicy { unset, first, follow, automatic };

/// What --replicate asks for.
struct ReplicaList {
  struct Entry {
    std::string text;   ///< as Topology::devicesNamed reads it: "GPU:0", "GPU:{0..3}", "GPU:*"
    int64_t weight = 1; ///< of the shard of each
  };
  std::vector<Entry> entries;
  bool hasWeights = false;
};

/// Which depthwise convolutions CPUs compute row by row with their neighbours (--chains).
enum class Chains : uint8_t {
  none,
  time,   ///< where that takes no longer
  memory, ///< where it takes memory off as well
};

/// What is to take bytes off one device (docs/MemoryPlanning.md).
struct DeviceRepair {
  int64_t streamed = 0;       ///< bytes of weights that each run copies
  int64_t pieces = 0;         ///< of the batch, where most is held
  int64_t rematerialized = 0; ///< bytes of values that are computed again rather than held
  int64_t offloaded = 0;      ///< bytes of values that wait on the host
  int64_t moved = 0;          ///< bytes of weights whose ops run elsewhere
  int64_t movedTo = 0;        ///< number of the logical device where

  bool operator==(const DeviceRepair &) const = default;
};

/// A row for each logical device; none: nothing is done.
using MemoryRepair = std::vector<DeviceRepair>;

/// Everything that decides what a graph is compiled to; nothing else does. Text and files have been
/// read when there are CompileOptions. A flag's line in Support/CompileFlags.def says which of
/// these it sets.
struct CompileOptions {
  std::vector<std::string> files; ///< that were read for what follows
  TopologyRequest devices;        ///< Topology.cpp makes the module's topology of it

  /// Sizes, values, the function wanted.
  struct Graph : ImportOptions {
    /// Values of inputs, for those of them that shapes depend on; the others stay inputs.
    std::vector<InputValue> candidates;
    std::vector<std::string> outputs; ///< where the graph is to end, as GraphImporter takes it
    std::vector<std::string> donated; ///< inputs whose arrays callers may give away, by name
    /// What a step of training is made of; no loss: none is made.
    struct Training {
      std::string loss, optimizer;
      std::vector<std::string> trainable; ///< patterns of names
    } train;
  } graph;

  struct Simplify {
    bool checkIndices = false; ///< an index out of range ends the run
  } simplify;

  struct Replicate {
    std::optional<ReplicaList> list;
    bool firstOnly = false; ///< one device for each gantry.replicate, to compare with
  } replicate;

  struct Place {
    PlacementPolicy policy = PlacementPolicy::unset;
    std::vector<placement::Rule> rules;
    placement::Changes changes; ///< to see what they would bring: an answer of --why-not
    bool soft = false;
    placement::Lock lock;
    std::string writeLock; ///< write a lock to this file
    unsigned effort = 8;   ///< of automatic placement: moves and plans that it may try
  } place;

  struct Copy {
    bool isExplicit = false; ///< an op whose operands are elsewhere is an error
    CopyBudget budget;
    bool once = true; ///< what depends on constants alone is computed when the plan is loaded
  } copy;

  struct Fuse {
    bool groups = true;
    Chains chains = Chains::time;
    bool ownProducts = false; ///< what --libraries=auto leaves to a library is not left to it
    bool keepOnce = false;    ///< weights that are read plain as well have no layout of their own
  } fuse;

  /// Of kernels, and what they are for.
  struct Code {
    std::vector<std::string> targets;  ///< that the devices of the topology have; none: not known
    std::vector<std::string> cpus;     ///< code for each, best first; none: for this machine
    std::vector<std::string> gpuArchs; ///< code for each; none: the topology's, else the oldest
    Assembler assembler;               ///< of machine code for GPUs
    Math math = Math::f32;             ///< what products of f32 round their factors to
    /// Parts of a product that copies bring to the shared memory of GPUs, 0 for none by copies; if
    /// not said, what is estimated to be best.
    std::optional<int64_t> gpuStages;
    /// That kernels of GPUs get variants of, as plans name them; if not said, those of the text.
    std::optional<std::vector<std::string>> libraries;
    /// Whether a library may do collectives of GPUs; if not said, what the text says.
    std::optional<bool> libraryCollectives;
    std::vector<std::string> also; ///< drivers that the plan is to run with as well
  } code;

  struct Memory {
    bool reuse = true;         ///< a byte may hold one value after the other
    bool gateCopies = true;    ///< where it is short, copies come when there is room for them
    bool fixOverLimit = false; ///< look for a plan that fits where the first one does not
    /// Seconds of a plan that is there: a repair that will hardly be faster ends.
    double secondsToBeat = std::numeric_limits<double>::infinity();
    bool isTrial = false;     ///< one of many plans: its layouts are searched for briefly
    MemoryRepair repair;      ///< lib/Search fills it in
    std::string largestBatch; ///< the open dimension to find the largest size of; empty: none
  } memory;

  struct Debug {
    std::optional<Phase> stopAfter;
    bool withWeights = false; ///< put constants into the text of stopAfter, however large
    bool verifyEach = false;  ///< verify after every pass, not only between phases
    bool printIR = false;     ///< print the IR after every pass to standard error
  } debug;
};

/// Reads flags as the tool and the C API give them, "name=value" or "name", and the files that they
/// name. Errors say which flag is wrong and what is known: INVALID_ARGUMENT.
Expected<CompileOptions> readCompileFlags(llvm::ArrayRef<llvm::StringRef> flags);

/// Whether flags can be meant, whatever the graph, without opening files that they name: what the
/// command line alone is to blame for. Errors as readCompileFlags.
Status checkCompileFlags(llvm::ArrayRef<llvm::StringRef> flags);

/// Why ops are not on a device.
struct WhyNotQuestion {
  placement::OpPattern ops;
  DeviceName device;
};

/// Reads the two arguments of --why-not. Errors: INVALID_ARGUMENT.
Expected<WhyNotQuestion> readWhyNot(llvm::StringRef op, llvm::StringRef device);

/// An array as the value of an input.
InputValue makeInputValue(std::string name, const arrays::ArrayView &array);

/// What the options ask of Place.
PlacementRequests placementRequests(const CompileOptions &options);

/// Dialects and interface implementations that the passes need.
void registerDialects(mlir::DialectRegistry &registry);

/// Adds the passes of all phases from `first` up to and including `last`. What is known of kernels
/// that were lowered before saves time and changes nothing.
void buildPipeline(mlir::OpPassManager &pm, const CompileOptions &options, Phase last,
                   Phase first = Phase::import, LoweredKernels *known = nullptr);

/// Registers the whole pipeline as --gantry-pipeline for gantry-opt, and its parts.
void registerPipelines();

/// What a printed graph has.
struct PrintOptions {
  bool withWeights = false; ///< bytes of large constants; a text without them cannot be compiled
  bool withLocations = false;
};

/// A graph as text.
std::string printGraph(mlir::ModuleOp module, PrintOptions options);

} // namespace gantry
