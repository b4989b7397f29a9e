// Compile flags: from the strings of the tool and the C API, and the files that they name, to
// CompileOptions. Behind this nobody reads text or opens files for a flag.

#include "gantry/Pipeline/Pipeline.h"

#include "gantry/Device/NameRanges.h"
#include "gantry/Dialect/Gantry/IR/Optimizers.h"
#include "gantry/Formats/ArrayFiles.h"
#include "gantry/Formats/Values.h"
#include "gantry/Plan/MatrixProduct.h"
#include "gantry/Support/ExternalProgram.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CUDA/CUDATarget.h"
#include "gantry/Target/CUDA/Libraries.h"
#include "gantry/Target/Target.h"
#include "gantry/Transforms/SpecializeShapes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <set>

using namespace gantry;
using llvm::LogicalResult;
using llvm::StringRef;

static constexpr llvm::StringLiteral phaseNames[] = {"import", "simplify", "replicate", "place",
                                                     "copy",   "fuse",     "kernel",    "schedule",
                                                     "memory", "llvm",     "ptx"};

std::optional<Phase> gantry::parsePhase(llvm::StringRef name) {
  for (auto [i, known] : llvm::enumerate(phaseNames))
    if (name == known)
      return Phase(i);
  return std::nullopt;
}

static std::string knownFlags() {
  std::string text;
#define GANTRY_COMPILE_FLAG(name, metavar, repeatable, help)                                       \
  text += std::string(text.empty() ? "" : ", ") + name;
#include "gantry/Support/CompileFlags.def"
  return text;
}

static std::string textOf(const arrays::FileBytes &file) {
  return {file.bytes().begin(), file.bytes().end()};
}

/// Every element of the array as a Number, which holds all values of its type.
template <typename Number, typename Get>
static std::vector<Number> numbersOf(const arrays::ArrayView &array, Get get) {
  std::vector<Number> numbers;
  numbers.reserve(array.count());
  for (uint64_t i = 0; i < array.count(); ++i)
    numbers.push_back(get(array, i));
  return numbers;
}

InputValue gantry::makeInputValue(std::string name, const arrays::ArrayView &array) {
  InputValue value;
  value.name = std::move(name);
  value.shape.assign(array.shape.begin(), array.shape.end());
  if (arrays::isFloat(array.element))
    value.elements = numbersOf<double>(array, arrays::valueAt);
  else
    value.elements = numbersOf<int64_t>(array, arrays::integerAt);
  return value;
}

/// A number or a list of them in brackets; nothing for other text, which names a file.
static std::optional<InputValue> parseValue(StringRef name, StringRef text) {
  InputValue value{name.str(), {}, {}};
  llvm::SmallVector<StringRef> numbers{text};
  if (text.consume_front("[") && text.consume_back("]")) {
    numbers.clear();
    text.split(numbers, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/!text.trim().empty());
    value.shape = {int64_t(numbers.size())};
  }
  std::vector<int64_t> integers;
  std::vector<double> floats;
  for (StringRef number : numbers) {
    int64_t integer;
    if (!number.trim().getAsInteger(10, integer))
      integers.push_back(integer);
    if (double fraction; !number.trim().getAsDouble(fraction))
      floats.push_back(fraction);
  }
  if (integers.size() == numbers.size())
    value.elements = std::move(integers);
  else if (floats.size() == numbers.size())
    value.elements = std::move(floats);
  else
    return std::nullopt;
  return value;
}

/// The one place where flags become names of devices; lists and rules are read by their libraries.
static Expected<DeviceName> readDevice(StringRef text) { return DeviceName::parse(text.str()); }

Expected<WhyNotQuestion> gantry::readWhyNot(StringRef op, StringRef device) {
  std::string question = "--why-not '" + op.str() + " " + device.str() + "' ";
  Expected<placement::OpPattern> ops = placement::parseOpPattern(op.str());
  if (!ops)
    return Status::invalidArgument(question + ops.status().message());
  Expected<DeviceName> wanted = readDevice(device);
  if (!wanted)
    return Status::invalidArgument(question + "has no valid device: " + wanted.status().message());
  return WhyNotQuestion{ops.take(), wanted.take()};
}

namespace {
/// Reads one flag after the other; the first that is wrong ends it.
struct FlagReader {
  CompileOptions options;
  TopologyFlags topology; ///< they are about one another, so they are read together at the end
  Assembler::Use cubins = Assembler::Use::ifPossible;
  bool opensFiles = true;
  std::string error;

  LogicalResult fail(const llvm::Twine &message) {
    error = message.str();
    return llvm::failure();
  }

  /// What was read, or why it could not be.
  template <typename T>
  LogicalResult take(Expected<T> read, T &into) {
    if (!read)
      return fail(read.status().message());
    into = read.take();
    return llvm::success();
  }

  template <typename T>
  LogicalResult append(Expected<T> read, std::vector<T> &into) {
    if (!read)
      return fail(read.status().message());
    into.push_back(read.take());
    return llvm::success();
  }

  LogicalResult keep(StringRef value, std::string &into) {
    into = value.str();
    return llvm::success();
  }

  LogicalResult add(StringRef value, std::vector<std::string> &into) {
    into.push_back(value.str());
    return llvm::success();
  }

  template <typename T>
  LogicalResult set(T &option, T value) {
    option = value;
    return llvm::success();
  }

  template <typename Number>
  LogicalResult readNumber(StringRef name, StringRef value, StringRef what, Number &number) {
    if (value.getAsInteger(10, number))
      return fail("--" + name + "=" + value + " is not " + what);
    return llvm::success();
  }

  LogicalResult readPhase(StringRef value) {
    options.debug.stopAfter = parsePhase(value);
    return options.debug.stopAfter
               ? llvm::success()
               : fail("unknown phase '" + value + "' in --stop-after; known are " +
                      llvm::join(llvm::ArrayRef(phaseNames), ", "));
  }

  LogicalResult readPlacement(StringRef value) {
    options.place.policy = llvm::StringSwitch<PlacementPolicy>(value)
                               .Case("default", PlacementPolicy::first)
                               .Case("follow", PlacementPolicy::follow)
                               .Case("auto", PlacementPolicy::automatic)
                               .Default(PlacementPolicy::unset);
    return options.place.policy != PlacementPolicy::unset
               ? llvm::success()
               : fail("unknown policy '" + value +
                      "' in --placement; known are default, follow, auto");
  }

  LogicalResult readCopies(StringRef value) {
    if (value != "auto" && value != "explicit")
      return fail("unknown mode '" + value + "' in --copies; known are auto, explicit");
    options.copy.isExplicit = value == "explicit";
    return llvm::success();
  }

  LogicalResult readCPUs(StringRef value) {
    for (StringRef cpu : llvm::split(value, ',')) {
      if (cpu.empty())
        return fail("--target-cpu=" + value + " lacks a name; it is CPU or a list, best first");
      if (!llvm::is_contained(options.code.cpus, cpu))
        options.code.cpus.push_back(cpu.str());
    }
    return llvm::success();
  }

  LogicalResult readGPUArchs(StringRef value) {
    for (StringRef arch : llvm::split(value, ',')) {
      if (!llvm::is_contained(knownGPUArchs(), arch))
        return fail("unknown architecture '" + arch + "' in --gpu-arch; known are " +
                    llvm::join(knownGPUArchs(), ", "));
      if (!llvm::is_contained(options.code.gpuArchs, arch))
        options.code.gpuArchs.push_back(arch.str());
    }
    return llvm::success();
  }

  LogicalResult readCubins(StringRef value) {
    using Use = Assembler::Use;
    auto use = llvm::StringSwitch<std::optional<Use>>(value)
                   .Case("auto", Use::ifPossible)
                   .Case("on", Use::required)
                   .Case("off", Use::never)
                   .Default(std::nullopt);
    if (!use)
      return fail("unknown mode '" + value + "' in --cubins; known are auto, on, off");
    cubins = *use;
    return llvm::success();
  }

  /// The program that makes machine code is an input like the files that flags name.
  LogicalResult findAssembler() {
    bool isNamed = !options.code.gpuArchs.empty();
    if (cubins == Assembler::Use::ifPossible && !isNamed)
      cubins = Assembler::Use::never;
    options.code.assembler.use = cubins;
    if (cubins == Assembler::Use::never)
      return llvm::success();
    if (failed(take(findPtxas(), options.code.assembler.program)))
      return llvm::failure();
    if (!options.code.assembler.program.empty())
      options.files.push_back(options.code.assembler.program);
    return llvm::success();
  }

  LogicalResult readMath(StringRef value) {
    if (std::optional<Math> math = symbolizeMath(value)) {
      options.code.math = *math;
      return llvm::success();
    }
    return fail("--math=" + value + " is not known; it is f32, tf32, bf16 or f16");
  }

  LogicalResult readStages(StringRef value) {
    int64_t count;
    if (value == "auto" || value == "off")
      options.code.gpuStages = value == "off" ? std::optional<int64_t>(0) : std::nullopt;
    else if (value.getAsInteger(10, count) || count < 2 || count > 4)
      return fail("--gpu-stages=" + value + " is not known; it is auto, off, 2, 3 or 4");
    else
      options.code.gpuStages = count;
    return llvm::success();
  }

  /// "auto", "none", or a list of libraries.
  LogicalResult readLibraries(StringRef value) {
    options.code.libraries.emplace();
    if (value == kAutomaticLibraries)
      options.code.libraries->push_back(value.str());
    auto isWord = [](StringRef word) { return word == kAutomaticLibraries || word == "none"; };
    if (isWord(value))
      return llvm::success();
    for (StringRef name : llvm::split(value, ',')) {
      if (isWord(name))
        return fail("--libraries=" + value + ": " + name + " stands alone");
      if (!llvm::is_contained(knownGPULibraries(), name))
        return fail("unknown library '" + name + "' in --libraries; known are " +
                    llvm::join(knownGPULibraries(), ", ") + ", or auto or none");
      options.code.libraries->push_back(std::string(plan::matmulLibrary));
    }
    return llvm::success();
  }

  LogicalResult readCollectives(StringRef value) {
    if (value != "direct" && value != "nccl")
      return fail("--collectives=" + value + " is not known; it is direct or nccl");
    options.code.libraryCollectives = value == "nccl";
    return llvm::success();
  }

  LogicalResult readOutputs(StringRef value) {
    if (value.empty())
      return fail("--outputs lacks a name; it is the name of a value, or several: NAME,NAME");
    options.graph.outputs.push_back(value.str());
    return llvm::success();
  }

  /// NAME=FILE; whether the graph has such an input is the frontend's matter.
  LogicalResult readValue(StringRef text) {
    auto [name, file] = text.split('=');
    if (name.empty() || file.empty())
      return fail("--value '" + text + "' is not NAME=VALUE");
    for (const InputValue &other : options.graph.values)
      if (other.name == name)
        return fail("--value " + name + " is given twice");
    if (std::optional<InputValue> written = parseValue(name, file)) {
      options.graph.values.push_back(std::move(*written));
      return llvm::success();
    }
    if (!opensFiles)
      return llvm::success();
    options.files.push_back(file.str());
    Expected<arrays::NamedArray> read = arrays::readArray(file.str());
    if (!read)
      return fail("--value " + name + ": " + read.status().message());
    options.graph.values.push_back(makeInputValue(name.str(), read->array.view()));
    return llvm::success();
  }

  /// Also what a shell makes of <(...).
  Expected<arrays::FileBytes> open(StringRef path) {
    options.files.push_back(path.str());
    return arrays::FileBytes::open(path.str());
  }

  /// A rule, or @FILE of rules.
  LogicalResult readRules(StringRef text) {
    if (!text.consume_front("@"))
      return append(placement::parseRule(text), options.place.rules);
    if (!opensFiles)
      return llvm::success();
    Expected<arrays::FileBytes> file = open(text);
    if (!file)
      return fail("--place: " + file.status().message());
    std::vector<placement::Rule> rules;
    if (failed(take(placement::parseRules(textOf(*file), text.str()), rules)))
      return llvm::failure();
    llvm::append_range(options.place.rules, rules);
    return llvm::success();
  }

  LogicalResult readLock(StringRef name) {
    if (!opensFiles)
      return llvm::success();
    Expected<arrays::FileBytes> file = open(name);
    if (!file)
      return fail("--placement-lock: " + file.status().message());
    Expected<std::vector<placement::LockEntry>> entries = placement::parseLock(textOf(*file));
    if (!entries)
      return fail("--placement-lock: " + name + ": " + entries.status().message());
    options.place.lock = {name.str(), entries.take()};
    return llvm::success();
  }

  /// "GPU:0,GPU:1", "GPU:{0..3}", "GPU:*", or with a weight for each, "GPU:0=2,GPU:1=1".
  LogicalResult readReplicate(StringRef text) {
    llvm::SmallVector<StringRef> entries;
    text.split(entries, ',');
    ReplicaList list;
    std::set<DeviceName> known;
    for (StringRef each : entries) {
      auto [name, weight] = each.trim().split('=');
      Expected<std::vector<DeviceName>> devices = expandDevices(std::string_view(name));
      if (!devices)
        return fail("--replicate " + text + ": " + devices.status().message());
      ReplicaList::Entry entry{name.str()};
      for (const DeviceName &device : *devices)
        if (!known.insert(device).second)
          return fail("--replicate " + text + " lists '" + name + "' twice");
      list.hasWeights |= each.contains('=');
      if (each.contains('=') && (weight.getAsInteger(10, entry.weight) || entry.weight < 0 ||
                                 entry.weight > (int64_t(1) << 31)))
        return fail("--replicate " + text + ": the weight '" + weight + "' of '" + name +
                    "' is not a number from 0 to 2^31");
      list.entries.push_back(std::move(entry));
    }
    if (list.hasWeights &&
        !llvm::all_of(entries, [](StringRef each) { return each.contains('='); }))
      return fail("--replicate " + text + ": give all devices a weight, or none");
    if (llvm::all_of(list.entries, [](const auto &entry) { return entry.weight == 0; }))
      return fail("--replicate " + text + ": no weight is above 0");
    options.replicate.list = std::move(list);
    return llvm::success();
  }

  /// Kept as text, which the pass reads again.
  LogicalResult readOptimizer(StringRef text) {
    Expected<OptimizerChoice> read = gantry::readOptimizer(text);
    return read ? keep(text, options.graph.train.optimizer) : fail(read.status().message());
  }

  LogicalResult readOverLimit(StringRef text) {
    if (text != "error" && text != "fix")
      return fail("--over-limit " + text + ": expected error or fix");
    options.memory.fixOverLimit = text == "fix";
    return llvm::success();
  }

  LogicalResult readChains(StringRef text) {
    auto chains = llvm::StringSwitch<std::optional<Chains>>(text)
                      .Case("none", Chains::none)
                      .Case("time", Chains::time)
                      .Case("memory", Chains::memory)
                      .Default(std::nullopt);
    if (!chains)
      return fail("--chains " + text + ": expected time, memory or none");
    options.fuse.chains = *chains;
    return llvm::success();
  }

  LogicalResult readOnce(StringRef text) {
    if (text != "load" && text != "run")
      return fail("--once " + text + ": expected load or run");
    options.copy.once = text == "load";
    return llvm::success();
  }

  LogicalResult readTopology() {
    if (!topology.file.empty() && !opensFiles)
      return llvm::success();
    if (!topology.file.empty() && topology.devices.empty()) {
      Expected<arrays::FileBytes> file = open(topology.file);
      if (!file)
        return fail("--topology: " + file.status().message());
      topology.json = textOf(*file);
    }
    return take(TopologyRequest::parse(topology), options.devices);
  }

  LogicalResult read(StringRef name, StringRef value) {
#define GANTRY_COMPILE_FLAG(name, metavar, repeatable, help)
#define GANTRY_COMPILE_FLAG_READ(flag, metavar, repeatable, help, read)                            \
  if (name == flag)                                                                                \
    return read;
#include "gantry/Support/CompileFlags.def"
    return fail("unknown compile flag '" + name + "'; known are " + knownFlags());
  }
};
} // namespace

/// Flags that say something about others, which have to be there.
static Status checkTraining(const CompileOptions &options) {
  const CompileOptions::Graph::Training &train = options.graph.train;
  if (train.loss.empty() && !train.optimizer.empty())
    return Status::invalidArgument("--optimizer is about --train, which is not given");
  if (train.loss.empty() && !train.trainable.empty())
    return Status::invalidArgument("--trainable is about --train, which is not given");
  if (!train.loss.empty() && options.replicate.list)
    return Status::invalidArgument(
        "--train makes a step for one batch on one set of weights, and --replicate splits a batch; "
        "gantry.Trainer of Python trains replicas, by its strategy");
  return {};
}

static Status readAll(FlagReader &reader, llvm::ArrayRef<StringRef> flags) {
  for (StringRef flag : flags) {
    auto [name, value] = flag.split('=');
    if (failed(reader.read(name, value)))
      return Status::invalidArgument(reader.error);
  }
  if (reader.options.debug.withWeights && !reader.options.debug.stopAfter)
    return Status::invalidArgument(
        "--with-weights is about the text of --stop-after, which is not given");
  GANTRY_RETURN_IF_ERROR(checkTraining(reader.options));
  return failed(reader.readTopology()) ? Status::invalidArgument(reader.error) : Status();
}

Expected<CompileOptions> gantry::readCompileFlags(llvm::ArrayRef<StringRef> flags) {
  FlagReader reader;
  GANTRY_RETURN_IF_ERROR(readAll(reader, flags));
  if (failed(reader.findAssembler()))
    return Status::invalidArgument(reader.error);
  return std::move(reader.options);
}

/// Names that only LLVM knows.
static Status checkCPUs(llvm::ArrayRef<std::string> cpus) {
  if (cpus.empty())
    return {};
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  std::string why;
  mlir::ScopedDiagnosticHandler collect(
      &context, [&](mlir::Diagnostic &diagnostic) { why = diagnostic.str(); });
  for (const std::string &cpu : cpus)
    if (failed(checkCPUName(mlir::UnknownLoc::get(&context), cpu)))
      return Status::invalidArgument(why);
  return {};
}

Status gantry::checkCompileFlags(llvm::ArrayRef<StringRef> flags) {
  FlagReader reader;
  reader.opensFiles = false;
  GANTRY_RETURN_IF_ERROR(readAll(reader, flags));
  // What is listed can be told against the list; what a file or the graph lists cannot.
  if ((!reader.topology.devices.empty() || !reader.topology.tasks.empty()) &&
      reader.topology.file.empty())
    if (auto made = reader.options.devices.applyTo(Topology::hostOnly()); !made)
      return made.status();
  for (const std::string &driver : reader.options.code.also)
    if (!findTarget(driver))
      return Status::invalidArgument("no target for driver '" + driver + "' in --also");
  return checkCPUs(reader.options.code.cpus);
}
