// What is told of a plan when all of it is asked for (`gantry explain`), put together once for
// people and for programs.
#pragma once

#include "gantry/Device/CostModel.h"
#include "gantry/Placement/OpPattern.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Show/Text.h"
#include "gantry/Support/JSONWriter.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gantry::show {

/// What to tell.
struct Question {
  std::string function;        ///< of this one; empty: of all
  std::string op;              ///< of what this pattern describes (OpPattern.h); empty: of all ops
  bool all = false;            ///< every row instead of the first page
  bool memory = false;         ///< memory instead of ops
  bool timeline = false;       ///< also queues over a run
  bool isCompiledNow = false;  ///< who asks has just read the compiler's remarks, and has the graph
  bool hints = false;          ///< which flags of the tool tell more
  size_t width = defaultWidth; ///< of texts for people
};

/// When the commands of a run are done: as they were, or nothing where it is to be predicted.
using Moments = std::optional<std::vector<plan::Moment>>;

/// A launch of a kernel with the ops in it. It takes the time that the kernel as a whole is
/// predicted to take; of its ops the one with most work, the main one, is charged for all.
struct Launch {
  const plan::fb::Command *command = nullptr;
  double seconds = 0;
  std::vector<const plan::fb::PlacedOp *> ops; ///< in order; may be empty
  const plan::fb::PlacedOp *main = nullptr;

  /// That of the model's node that the main op is of.
  std::string_view name() const;
};

/// The launches of a function in the plan's order, and those of each op.
struct Launches {
  std::vector<Launch> all;
  std::unordered_map<const plan::fb::PlacedOp *, size_t> of; ///< absent: nothing launches it

  /// Seconds that an op is charged for: sums over all ops to the time of all launches.
  double charged(const plan::fb::PlacedOp &op) const;
};

/// A kernel of a function on a device: the ops in it and how often it is launched.
struct KernelUse {
  std::string symbol;
  std::string library; ///< that is asked for it first; empty: none
  uint32_t device = 0;
  uint64_t launches = 0;
  uint64_t items = 0;
  double seconds = 0; ///< of all launches
  std::string ops;
  std::vector<std::string_view> nodes; ///< that the main ops are of, one a launch
};

/// A node of the model with the ops that it became, in order.
struct NodeRow {
  std::string_view name; ///< its own, else the op's stable name
  std::string_view type; ///< the model's word for it
  std::vector<const plan::fb::PlacedOp *> ops;
};

/// What one device does in a run of a function, by the cost model: a launch or copy inside a loop
/// counts once.
struct DeviceLoad {
  uint64_t ops = 0; ///< of the graph
  uint64_t launches = 0;
  double compute = 0;  ///< seconds
  double copies = 0;   ///< seconds, counted where the ledger counts them
  uint64_t copied = 0; ///< bytes
};

/// What one part of a step of training takes: its kernels are those whose main op is of that part.
struct StepPartUse {
  plan::fb::StepPart part = plan::fb::StepPart::forward;
  uint64_t ops = 0;
  uint64_t launches = 0;
  double seconds = 0; ///< of the launches
  uint64_t bytes = 0; ///< that they read and write
};

/// Ops that compute what was computed before, so that less is held in between.
struct ComputedAgain {
  std::vector<std::string_view> alone; ///< that are the main op of a kernel, as nodeOf says
  double seconds = 0;                  ///< of these kernels
  uint64_t inside = 0;                 ///< ops that are so in a kernel of another op
};

/// Bytes of a device's arenas, and the transient one for the chart.
struct DeviceMemory {
  uint64_t sizes[3] = {}; ///< by ArenaKind
  uint64_t total() const { return sizes[0] + sizes[1] + sizes[2]; }
  uint64_t lowerBound = 0;
  std::optional<uint32_t> transient;
};

struct Subject {
  const Question question;
  const plan::fb::Plan &plan; ///< checked, and outlives the subject
  const uint64_t planBytes;   ///< of the file; of an outline, of the whole plan without its code
  const bool isOutline;       ///< Plan/Outline.h
  CostModel costs;
  placement::OpPattern pattern;              ///< of Question.op
  std::vector<std::string> quotedNames = {}; ///< of what it describes, as causes of copies say them

  /// `fileBytes` are those of the file that the plan is read from.
  Subject(const plan::fb::Plan &plan, uint64_t fileBytes, Question question);

  /// Those that are asked for.
  std::vector<const plan::fb::Function *> functions() const;
  /// NOT_FOUND, with the functions that there are, where Question.function names none of them.
  Status checkFunction() const;
  /// Reads Question.op. INVALID_ARGUMENT for what is no pattern, NOT_FOUND, with what may have been
  /// meant, where it describes no op; both begin with the pattern in quotes.
  Status readPattern();
  /// Whether Question.op is about it: an op that its pattern describes, a copy that such an op
  /// needs or whose value has such a name.
  bool wants(const plan::fb::PlacedOp &op) const;
  bool wants(const plan::LedgerCopy &copy) const;
  /// A location for tables: "node 'x' of path/to/model.onnx" without the file where it is the one
  /// that the first line names.
  std::string where(std::string_view location) const;

  /// Seconds of an op alone and unfused, as the compiler predicted it, or by the plan's rates.
  double alone(const plan::fb::PlacedOp &op) const;
  double seconds(const plan::LedgerCopy &copy) const;

  Launches launchesOf(const plan::fb::Function &function, const plan::Ledger &ledger) const;
  /// The library that a kernel of the device is asked of first, empty where there is none.
  std::string_view libraryOf(const plan::fb::Kernel &kernel, uint32_t device) const;
  /// What runs a kernel of that name: "matmul_0", or "cublasLt, else matmul_0".
  std::string codeOf(std::string_view symbol, uint32_t device) const;
  /// The one that takes longest first.
  std::vector<KernelUse> kernelsOf(const Launches &launches) const;
  /// A row for each part, in order; none where nothing is differentiated or updated.
  std::vector<StepPartUse> stepPartsOf(const plan::fb::Function &function,
                                       const Launches &launches) const;
  ComputedAgain computedAgain(const Launches &launches) const;
  /// A row for each node that runs as ops, in the order of their first ops.
  std::vector<NodeRow> nodesOf(const plan::fb::Function &function) const;
  std::vector<DeviceLoad> loadsOf(const plan::fb::Function &function,
                                  const plan::Ledger &ledger) const;
  DeviceMemory memoryOf(uint32_t device) const;
};

/// The whole as text, tables and charts.
std::string explainForPeople(const Subject &subject, const Moments &moments = {});
/// The same as one JSON object.
std::string explainAsJson(const Subject &subject, const Moments &moments = {});

/// What every queue does over a run: a chart, below "function NAME:" where there are several.
std::string timelineForPeople(const Subject &subject, const Moments &moments = {});
/// An array of {"function", "device", "queue", "name", "does", "start", "end"}, in seconds.
std::string timelineAsJson(const Subject &subject, const Moments &moments = {});

/// The object of explainAsJson, with members that `more` adds to the one of each function.
using MoreOfFunction = std::function<void(JSONWriter &, const plan::fb::Function &)>;
std::string explanation(const Subject &subject, const MoreOfFunction &more);

/// "values": what has a place in an arena, and in which commands it is live.
void addValues(JSONWriter &json, const plan::fb::Function &function);

} // namespace gantry::show
