#include "Execution.h"

#include "Console.h"

#include "gantry/Device/GPUArch.h"
#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Formats/Archive.h"
#include "gantry/Formats/Values.h"
#include "gantry/Machine/Machine.h"
#include "gantry/Runtime/Tensor.h"

#include <algorithm>
#include <set>

namespace gantry::tool {

using arrays::Array;
using runtime::BindingInfo;

NamedFile parseNamedFile(const std::string &text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    return {"", text};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::string describeBindings(std::span<const BindingInfo> bindings) {
  std::string text;
  for (const BindingInfo &binding : bindings)
    text += (text.empty() ? "" : ", ") + binding.name + ": " + binding.type.str();
  return text.empty() ? "none" : text;
}

namespace {

Expected<size_t> find(std::span<const BindingInfo> bindings, const std::string &name,
                      const char *kind) {
  for (size_t i = 0; i < bindings.size(); ++i)
    if (bindings[i].name == name)
      return i;
  // By number, as an unnamed argument is called in MLIR.
  for (size_t i = 0; i < bindings.size(); ++i)
    if (name == "arg" + std::to_string(i))
      return i;
  return Status::notFound(std::string("no ") + kind + " is called '" + name + "'; the " + kind +
                          "s are " + describeBindings(bindings));
}

/// NumPy has no bfloat16, so its bits come as uint16.
void takeBitsAsBfloat(Array &array, const BindingInfo &binding) {
  if (array.element == ElementType::u16 && binding.type.element == ElementType::bf16)
    array.element = ElementType::bf16;
}

Status checkType(const Array &array, const BindingInfo &binding, const std::string &file) {
  if (array.element == binding.type.element && array.shape == binding.type.shape)
    return {};
  return Status::invalidArgument("input '" + binding.name + "' is " + binding.type.str() +
                                 ", but '" + file + "' holds " + array.type());
}

/// The fill that --fill asks for, the last one counting; none when it does not.
Expected<std::optional<arrays::Fill>> requestedFill(const Options &options,
                                                    std::span<const BindingInfo> inputs, size_t i) {
  std::optional<arrays::Fill> result;
  for (const std::string &text : options.fills) {
    const NamedFile request = parseNamedFile(text);
    if (!request.name.empty())
      if (auto named = find(inputs, request.name, "input"); !named || *named != i)
        continue;
    auto fill = arrays::parseFill(request.file);
    if (!fill)
      return fill.status();
    result = *fill;
  }
  return result;
}

Status checkFillNames(const Options &options, std::span<const BindingInfo> inputs) {
  for (const std::string &text : options.fills)
    if (const NamedFile request = parseNamedFile(text); !request.name.empty())
      if (auto index = find(inputs, request.name, "input"); !index)
        return index.status();
  return {};
}

/// Who gives values for some inputs has forgotten those that have none: made-up numbers would look
/// like a result.
Status checkNoneForgotten(const Options &options, std::span<const BindingInfo> inputs,
                          const std::vector<std::optional<GivenArray>> &given) {
  if (options.inputs.empty())
    return {};
  std::vector<BindingInfo> forgotten;
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto fill = requestedFill(options, inputs, i);
    if (!fill)
      return fill.status();
    if (!given[i] && !*fill)
      forgotten.push_back(inputs[i]);
  }
  if (forgotten.empty())
    return {};
  const std::string &first = forgotten.front().name;
  return Status::invalidArgument(
      "--input gives no value for " + describeBindings(forgotten) + "; give it with --input " +
      first + "=FILE, or have it made up with --fill " + first + "=SPEC, or --fill SPEC for all");
}

Expected<Array> makeUp(const Options &options, std::span<const BindingInfo> inputs, size_t i) {
  const BindingInfo &binding = inputs[i];
  auto requested = requestedFill(options, inputs, i);
  if (!requested)
    return requested.status();
  const arrays::Fill fill = requested->value_or(arrays::defaultFill(binding.type.element));
  auto array = Array::make(binding.type.element, binding.type.shape);
  if (!array)
    return array.status();
  arrays::fill(*array, fill, options.seed, binding.name);
  if (!options.quietInputs)
    printNote("input '" + binding.name + "': " + binding.type.str() + " filled with " +
              fill.text() + ", seed " + std::to_string(options.seed));
  return array;
}

/// The function that --function names, else the only one, else `main`.
Expected<unsigned> chooseFunction(const runtime::LoadedPlan &plan, const std::string &name) {
  if (!name.empty())
    return plan.functionIndex(name);
  const auto functions = plan.functions();
  if (functions.size() == 1)
    return 0u;
  std::string names;
  for (unsigned i = 0; i < functions.size(); ++i) {
    if (functions[i].name == "main")
      return i;
    names += (i ? ", " : "") + functions[i].name;
  }
  return Status::invalidArgument("the plan has several functions: " + names +
                                 "; choose one with --function");
}

void logRuntimeLine(runtime::Severity severity, const std::string &text) {
  if (severity == runtime::Severity::error)
    printError(text);
  else if (severity == runtime::Severity::warning)
    printWarning(text);
  else
    printNote(text);
}

} // namespace

Status checkStandardInput(const Options &options) {
  std::vector<std::string> uses;
  const auto look = [&](const std::string &file, const char *what) {
    if (file == "-")
      uses.push_back(what);
  };
  look(options.file, "the graph or plan");
  for (const std::string &text : options.inputs)
    look(parseNamedFile(text).file, "--input");
  for (const std::string &text : options.expected)
    look(parseNamedFile(text).file, "--expect");
  look(options.loadState, "--load-state");
  if (uses.size() < 2)
    return {};
  return Status::invalidArgument("standard input can be read only once, but '-' is given for " +
                                 uses[0] + " and for " + uses[1]);
}

Expected<GivenArrays> readGiven(const std::vector<std::string> &flags, const char *flag) {
  GivenArrays given;
  for (const std::string &text : flags) {
    const NamedFile request = parseNamedFile(text);
    auto content = arrays::readArrays(request.file);
    if (!content)
      return content.status();
    if (!request.name.empty() && content->size() != 1)
      return Status::invalidArgument(
          "'" + request.file + "' holds " + std::to_string(content->size()) +
          " arrays; give it without a name: " + flag + " " + request.file);
    for (arrays::NamedArray &array : *content)
      given.push_back({request.name.empty() ? std::move(array.name) : request.name, request.file,
                       std::move(array.array)});
  }
  return given;
}

Expected<GivenArrays> copyOf(const GivenArrays &given) {
  GivenArrays copies;
  for (const GivenArray &array : given) {
    auto copy = Array::make(array.array.element, array.array.shape);
    if (!copy)
      return copy.status();
    std::copy_n(array.array.bytes.data(), array.array.view().size(), copy->bytes.data());
    copies.push_back({array.name, array.file, copy.take()});
  }
  return copies;
}

Expected<std::vector<std::optional<GivenArray>>> assignGiven(GivenArrays given,
                                                             std::span<const BindingInfo> bindings,
                                                             const char *flag, const char *kind) {
  std::vector<std::optional<GivenArray>> result(bindings.size());
  for (GivenArray &array : given) {
    if (array.name.empty() && bindings.size() == 1)
      array.name = bindings[0].name;
    if (array.name.empty())
      return Status::invalidArgument("'" + array.file + "' has no name; say which " + kind +
                                     " it is: " + flag + " NAME=" + array.file + "; the " + kind +
                                     "s are " + describeBindings(bindings));
    auto index = find(bindings, array.name, kind);
    if (!index)
      return index.status();
    if (result[*index])
      return Status::invalidArgument(std::string(kind) + " '" + array.name + "' is given twice");
    takeBitsAsBfloat(array.array, bindings[*index]);
    result[*index] = std::move(array);
  }
  return result;
}

namespace {
/// --bind, --memory and --sim-order.
Status configureDevices(const Options &options, runtime::RuntimeOptions &settings) {
  for (const std::string &text : options.bindings) {
    auto binding = runtime::DeviceBinding::parse(text);
    if (!binding)
      return Status(binding.status().code(), "--bind: " + binding.status().message());
    settings.bindings.push_back(binding.take());
  }
  // The command line counts more than the environment.
  auto memory = runtime::MemorySetting::fromEnvironment();
  if (!memory)
    return memory.status();
  settings.memory = memory.take();
  for (const std::string &text : options.memorySettings) {
    auto setting = runtime::MemorySetting::parse(text);
    if (!setting)
      return Status(setting.status().code(), "--memory: " + setting.status().message());
    settings.memory.push_back(setting.take());
  }
  if (options.simOrder.empty())
    return {};
  auto order = runtime::CommandOrder::parse(options.simOrder);
  if (!order)
    return Status(order.status().code(), "--sim-order: " + order.status().message());
  settings.commandOrder = *order;
  return {};
}

/// A device that is not here can be done without.
Status withRemedy(Status status, const Options &options) {
  if (status.code() != StatusCode::unavailable || options.emulate)
    return status;
  return Status(status.code(), status.message() + "; compile the graph with --simulate, or run it "
                                                  "with --emulate, to do without the device");
}

std::optional<runtime::EmulatorChecks> emulationOf(const Options &options) {
  if (!options.emulate)
    return std::nullopt;
  return options.emulateChecks == "all"      ? runtime::EmulatorChecks::all
         : options.emulateChecks == "memory" ? runtime::EmulatorChecks::memory
                                             : runtime::EmulatorChecks::none;
}
} // namespace

Expected<Execution> Execution::prepare(const Options &options, const Model &model,
                                       GivenArrays given) {
  Execution execution;
  Stopwatch watch;
  runtime::RuntimeOptions settings;
  settings.threads = static_cast<unsigned>(options.threads);
  settings.verify = options.verify == "off"    ? runtime::Verify::off
                    : options.verify == "lazy" ? runtime::Verify::lazy
                                               : runtime::Verify::full;
  settings.log = [tellsAll = options.verbose > 0](runtime::Severity severity,
                                                  const std::string &text) {
    if (tellsAll || severity != runtime::Severity::note)
      logRuntimeLine(severity, text);
  };
  GANTRY_RETURN_IF_ERROR(configureDevices(options, settings));
  execution.runtime =
      runtime::createRuntime(std::move(settings), emulationOf(options),
                             {.graphs = !options.syncEach, .syncEach = options.syncEach});
  auto loaded = runtime::LoadedPlan::load(execution.runtime, model.file, options.file);
  if (!loaded)
    return withRemedy(loaded.status(), options);
  execution.loaded = loaded.take();
  auto function = chooseFunction(*execution.loaded, options.function);
  if (!function)
    return function.status();
  auto session = runtime::Session::create(execution.loaded);
  if (!session)
    return session.status();
  execution.session = session.take();
  auto bindings = runtime::Bindings::create(execution.loaded, *function);
  if (!bindings)
    return bindings.status();
  execution.bindings = bindings.take();
  execution.loadTime = model.openSeconds * 1e3 + watch.milliseconds();

  GANTRY_RETURN_IF_ERROR(execution.bindInputs(options, std::move(given)));
  GANTRY_RETURN_IF_ERROR(execution.bindOutputs());
  return execution;
}

Status Execution::bindInputs(const Options &options, GivenArrays given) {
  const auto &infos = function().inputs;
  GANTRY_RETURN_IF_ERROR(checkFillNames(options, infos));
  auto assigned = assignGiven(std::move(given), infos, "--input", "input");
  if (!assigned)
    return assigned.status();
  GANTRY_RETURN_IF_ERROR(checkNoneForgotten(options, infos, *assigned));
  for (unsigned i = 0; i < infos.size(); ++i) {
    if (auto &array = (*assigned)[i]) {
      GANTRY_RETURN_IF_ERROR(checkType(array->array, infos[i], array->file));
      inputs.push_back(std::move(array->array));
    } else {
      auto made = makeUp(options, infos, i);
      if (!made)
        return made.status();
      inputs.push_back(made.take());
    }
    GANTRY_RETURN_IF_ERROR(
        bindings->bindInput(i, runtime::Tensor::borrow(infos[i].type, inputs.back().bytes.data())));
  }
  return {};
}

/// An output that lives on another device comes to the host after each run, to be read there.
Status Execution::bindOutputs() {
  const auto &infos = function().outputs;
  outputs.reserve(infos.size());
  for (unsigned i = 0; i < infos.size(); ++i) {
    if (infos[i].device->runsInline())
      continue;
    auto array = Array::make(infos[i].type.element, infos[i].type.shape);
    if (!array)
      return array.status();
    outputs.push_back(array.take());
    GANTRY_RETURN_IF_ERROR(bindings->bindOutput(
        i, runtime::Tensor::borrow(infos[i].type, outputs.back().bytes.data())));
  }
  return {};
}

std::optional<double> Execution::virtualSeconds() const {
  if (!loaded->hasVirtualClock())
    return std::nullopt;
  double latest = 0;
  for (const runtime::CommandEvent &event : session->timeline())
    latest = std::max(latest, event.end);
  return latest;
}

Expected<Prepared> Prepared::from(const Options &given) {
  auto inputs = readGiven(given.inputs, "--input");
  if (!inputs)
    return inputs.status();
  return from(given, inputs.take());
}

/// Integers may decide shapes; then they are compile-time values (spec G2).
static std::vector<ShapeInput> candidatesOf(const GivenArrays &inputs) {
  std::vector<ShapeInput> candidates;
  for (const GivenArray &input : inputs)
    if (!input.name.empty() && !arrays::isFloat(input.array.element))
      candidates.push_back({input.name, input.array.view()});
  return candidates;
}

/// What is compiled in is no input of the plan any more.
static void leaveOut(const std::vector<std::string> &compiledIn, bool quiet, GivenArrays &inputs) {
  for (const std::string &name : compiledIn) {
    const auto input = std::find_if(inputs.begin(), inputs.end(),
                                    [&](const GivenArray &given) { return given.name == name; });
    if (input == inputs.end())
      continue;
    if (!quiet)
      printNote("input '" + name + "' decides shapes: its value " +
                arrays::formatValues(input->array.view()) + " is compiled in");
    inputs.erase(input);
  }
}

/// Whether a graph is compiled for GPUs of this machine, and nothing says for which architecture.
static bool lacksGPUArch(const Options &options) {
  bool hasGPUs = false;
  for (const std::string &flag : options.compileFlags) {
    if (flag == "simulate" || flag.starts_with("topology=") || flag.starts_with("gpu-arch="))
      return false;
    hasGPUs |= flag.starts_with("devices=") && flag.find("GPU:") != std::string::npos;
  }
  return hasGPUs && !options.emulate;
}

/// What is compiled to run here is for the GPUs that are here. A plan to be kept is not: it is the
/// same wherever it is compiled (spec D5).
static Options forThisMachine(const Options &options) {
  Options here = options;
  if (!lacksGPUArch(options))
    return here;
  std::set<uint32_t> archs;
  for (const PhysicalDevice &device : machine::readMachine().topology.physical)
    if (auto arch = gpuArchFor(device.architecture))
      archs.insert(*arch);
  std::string list;
  for (uint32_t arch : archs)
    list += (list.empty() ? "" : ",") + gpuArchName(arch);
  if (list.empty())
    return here;
  here.compileFlags.push_back("gpu-arch=" + list);
  if (options.verbose > 0)
    printNote("kernels are for " + list +
              ", as this machine's GPUs are; --gpu-arch says otherwise");
  return here;
}

Expected<Prepared> Prepared::from(const Options &options, GivenArrays inputs) {
  auto model = Model::load(forThisMachine(options), Purpose::run, candidatesOf(inputs));
  if (!model)
    return model.status();
  leaveOut(model->shapeValues, options.quietInputs, inputs);
  auto execution = Execution::prepare(options, *model, std::move(inputs));
  if (!execution)
    return execution.status();
  return Prepared{model.take(), execution.take()};
}

Expected<arrays::ArrayView> Execution::output(unsigned index) {
  auto tensor = bindings->output(index);
  if (!tensor)
    return tensor.status();
  const runtime::TensorType &type = function().outputs[index].type;
  return arrays::ArrayView{type.element, type.shape, static_cast<const uint8_t *>(tensor->data())};
}

} // namespace gantry::tool
