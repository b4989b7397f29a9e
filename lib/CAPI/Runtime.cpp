// The C API's runtime half: handles around the C++ objects, statuses around their errors. Nothing
// is decided here.
#include "Handles.h"
#include "Options.h"

#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/PlanFile.h"
#include "gantry/Plan/Views.h"
#include "gantry/Runtime/Describe.h"
#include "gantry/Support/Version.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

using namespace gantry;
using namespace gantry::capi;
using namespace gantry::runtime;

// One enum in C++, in the plan file and in C.
#define GANTRY_CHECK_ELEMENT(c, cpp) static_assert(int(c) == int(ElementType::cpp))
GANTRY_CHECK_ELEMENT(GANTRY_F32, f32);
GANTRY_CHECK_ELEMENT(GANTRY_BF16, bf16);
GANTRY_CHECK_ELEMENT(GANTRY_U64, u64);
GANTRY_CHECK_ELEMENT(GANTRY_I1, i1);
static_assert(int(GANTRY_CANCELLED) == int(StatusCode::cancelled));
static_assert(int(GANTRY_DOES_NOT_FIT) == int(StatusCode::doesNotFit));
static_assert(int(GANTRY_SEVERITY_ERROR) == int(Severity::error));

namespace {

gantry_status_t givePlan(Expected<std::shared_ptr<const LoadedPlan>> made, gantry_plan_t **plan) {
  if (!made)
    return finish(made.status());
  *plan = new gantry_plan_t;
  (*plan)->object = made.take();
  const LoadedPlan &loaded = *(*plan)->object;
  for (const KernelChoice &choice : loaded.kernelChoices()) {
    std::string passedOver;
    for (const std::string &variant : choice.passedOver)
      passedOver += (passedOver.empty() ? "" : "; ") + variant;
    (*plan)->choices.push_back({std::string(choice.device->driver().name()),
                                choice.variant.describe(loaded.metadata()), std::move(passedOver)});
  }
  return GANTRY_OK;
}

const FunctionInfo *functionOf(const gantry_plan_t *plan, uint32_t function) {
  if (!plan || function >= plan->object->functions().size())
    return nullptr;
  return &plan->object->functions()[function];
}

void describe(const std::string &name, const TensorType &type, const Device *device,
              gantry_tensor_info_t *info) {
  *info = {name.c_str(),
           static_cast<gantry_element_type_t>(type.element),
           static_cast<uint32_t>(type.shape.size()),
           type.shape.data(),
           type.byteSize(),
           device->name().c_str()};
}

/// Of inputs, outputs and variables alike.
template <typename Range>
gantry_status_t describeAt(const char *kind, const Range &all, uint32_t index,
                           gantry_tensor_info_t *info) {
  if (index >= all.size())
    return finish(Status::invalidArgument("there is no " + std::string(kind) + " number " +
                                          std::to_string(index) + " of " +
                                          std::to_string(all.size())));
  describe(all[index].name, all[index].type, all[index].device, info);
  return GANTRY_OK;
}

Status noFunction(uint32_t function) {
  return Status::invalidArgument("the plan has no function number " + std::to_string(function));
}

gantry_status_t giveIndex(Expected<unsigned> found, uint32_t *index) {
  if (!found)
    return finish(found.status());
  *index = *found;
  return GANTRY_OK;
}

/// The caller's array as a tensor.
Expected<Tensor> borrow(const void *data, gantry_element_type_t element, const int64_t *dims,
                        uint32_t rank) {
  Expected<TensorType> type = readType(element, dims, rank);
  return type ? Tensor::borrow(type.take(), const_cast<void *>(data))
              : Expected<Tensor>(type.status());
}

/// The same in memory of an input's or output's device; `slots` are all of the function's.
Expected<Tensor> borrowOn(const std::vector<BindingInfo> &slots, Expected<unsigned> index,
                          const void *data, gantry_element_type_t element, const int64_t *dims,
                          uint32_t rank) {
  Expected<Tensor> tensor = index ? borrow(data, element, dims, rank) : index.status();
  // A number that is too large is for the binding to refuse, as one of another type is.
  if (!tensor || *index >= slots.size() || slots[*index].device->runsInline())
    return tensor;
  return Tensor::borrow(tensor->type(), tensor->data(), slots[*index].device);
}

template <typename Bind>
gantry_status_t bind(Expected<Tensor> tensor, Bind bindIt) {
  return finish(tensor ? bindIt(*tensor) : tensor.status());
}

gantry_status_t giveData(Expected<Tensor> tensor, const void **data) {
  if (!tensor)
    return finish(tensor.status());
  *data = tensor->data();
  return GANTRY_OK;
}

const char *textOrEmpty(const flatbuffers::String *text) { return text ? text->c_str() : ""; }

gantry_command_time_t describe(const plan::fb::Plan &plan, const CommandTime &time) {
  const plan::fb::Command &command = *time.command;
  const char *kernel = command.opcode() == plan::fb::Opcode::launch
                           ? plan.kernels()->Get(command.kernel())->symbol()->c_str()
                           : plan::fb::EnumNameOpcode(command.opcode());
  return {textOrEmpty(command.name()),
          kernel,
          textOrEmpty(command.location()),
          plan.devices()->Get(command.device())->name()->c_str(),
          time.nanoseconds,
          time.calls};
}

} // namespace

const char *gantry_last_error(void) { return lastError().c_str(); }
const char *gantry_runtime_version(void) { return GANTRY_VERSION_STRING; }

// ---- runtime ----

gantry_status_t gantry_runtime_create(const gantry_runtime_options_t *options,
                                      gantry_runtime_t **runtime) {
  clear(runtime);
  GANTRY_NEED(runtime);
  Expected<GivenOptions> given = readOptions(options);
  if (!given)
    return finish(given.status());
  *runtime = new gantry_runtime_t{
      createRuntime(std::move(given->runtime), given->emulate,
                    {.graphs = !given->syncEach, .syncEach = given->syncEach})};
  return GANTRY_OK;
}

gantry_status_t gantry_runtime_configure_devices(gantry_runtime_t *runtime,
                                                 const gantry_runtime_options_t *options) {
  GANTRY_NEED(runtime && options);
  Expected<GivenOptions> given = readOptions(options);
  if (!given)
    return finish(given.status());
  // Without any of the caller's, those that hold stay, the environment's among them.
  if (!given->hasMemory)
    given->runtime.memory.clear();
  return finish(runtime->object->configureDevices(given->runtime));
}

void gantry_runtime_destroy(gantry_runtime_t *runtime) { delete runtime; }

uint32_t gantry_runtime_threads(const gantry_runtime_t *runtime) {
  return runtime ? runtime->object->threadPool().size() : 0;
}

gantry_status_t gantry_kernel_register(gantry_runtime_t *runtime, const char *name,
                                       gantry_kernel_t kernel) {
  GANTRY_NEED(runtime && name);
  return finish(runtime->object->kernels().add(name, kernel));
}

size_t gantry_runtime_num_devices(const gantry_runtime_t *runtime) {
  return runtime ? runtime->object->devices().size() : 0;
}

static_assert(GANTRY_NUM_COPY_KINDS == int(plan::fb::CopyKind::betweenTasks) &&
              GANTRY_COPY_DEVICE_TO_DEVICE == int(plan::fb::CopyKind::deviceToDevice));

gantry_status_t gantry_runtime_device(const gantry_runtime_t *runtime, size_t index,
                                      gantry_device_info_t *info) {
  GANTRY_NEED(runtime && info);
  size_t callerSize = info->struct_size;
  if (callerSize < sizeof(size_t))
    return finish(Status::invalidArgument("gantry_device_info_t: struct_size is not set"));
  std::vector<Device *> devices = runtime->object->devices();
  if (index >= devices.size())
    return finish(Status::invalidArgument("there is no device number " + std::to_string(index) +
                                          " of " + std::to_string(devices.size())));
  Device &device = *devices[index];
  Expected<MemoryInfo> memory = device.memoryInfo();
  if (!memory)
    return finish(memory.status());
  DeviceStats stats = device.stats();
  gantry_device_info_t full{callerSize,
                            device.name().c_str(),
                            device.driver().name().data(),
                            memory->total,
                            memory->free,
                            device.limit(),
                            stats.bytesInUse,
                            stats.peakBytes,
                            stats.mappedBytes,
                            stats.allocations,
                            stats.copies,
                            stats.copiedBytes,
                            stats.stagedCopies,
                            stats.stagedBytes,
                            {},
                            {},
                            stats.pinnedBytes,
                            {}};
  for (size_t kind = 0; kind < GANTRY_NUM_COPY_KINDS; ++kind) {
    auto counts = [&](const gantry::plan::CopyCount &count) {
      return gantry_copy_count_t{count.copies, count.bytes, count.transfers};
    };
    full.run_copies[kind] = counts(stats.run.kinds[kind]);
    full.load_copies[kind] = counts(stats.load.kinds[kind]);
    full.array_copies[kind] = counts(stats.arrays.kinds[kind]);
  }
  std::memcpy(info, &full, std::min(callerSize, sizeof full));
  return GANTRY_OK;
}

// ---- plan ----

gantry_status_t gantry_plan_load(gantry_runtime_t *runtime, const char *path,
                                 gantry_plan_t **plan) {
  clear(plan);
  GANTRY_NEED(runtime && path && plan);
  return givePlan(LoadedPlan::open(runtime->object, path), plan);
}

gantry_status_t gantry_plan_load_memory(gantry_runtime_t *runtime, const void *data, size_t size,
                                        gantry_release_t release, void *context,
                                        gantry_plan_t **plan) {
  clear(plan);
  // The owner comes first: `release` is promised to be called whatever happens.
  std::shared_ptr<const void> owner;
  if (release)
    owner =
        std::shared_ptr<const void>(data, [release, context](const void *) { release(context); });
  GANTRY_NEED(runtime && data && plan);
  std::span<const uint8_t> bytes(static_cast<const uint8_t *>(data), size);
  Expected<plan::PlanFile> file =
      release ? plan::PlanFile::fromBytes(bytes, std::move(owner), {plan::Check::metadataOnly})
              : plan::PlanFile::copyOf(bytes, {plan::Check::metadataOnly});
  if (!file)
    return finish(file.status());
  return givePlan(LoadedPlan::load(runtime->object, file.take(), "plan in memory"), plan);
}

void gantry_plan_destroy(gantry_plan_t *plan) { delete plan; }

uint32_t gantry_plan_num_functions(const gantry_plan_t *plan) {
  return plan ? static_cast<uint32_t>(plan->object->functions().size()) : 0;
}

const char *gantry_plan_function_name(const gantry_plan_t *plan, uint32_t function) {
  const FunctionInfo *info = functionOf(plan, function);
  return info ? info->name.c_str() : nullptr;
}

gantry_status_t gantry_plan_find_function(const gantry_plan_t *plan, const char *name,
                                          uint32_t *function) {
  GANTRY_NEED(plan && name && function);
  return giveIndex(plan->object->functionIndex(name), function);
}

uint32_t gantry_plan_num_inputs(const gantry_plan_t *plan, uint32_t function) {
  const FunctionInfo *info = functionOf(plan, function);
  return info ? static_cast<uint32_t>(info->inputs.size()) : 0;
}

uint32_t gantry_plan_num_outputs(const gantry_plan_t *plan, uint32_t function) {
  const FunctionInfo *info = functionOf(plan, function);
  return info ? static_cast<uint32_t>(info->outputs.size()) : 0;
}

int64_t gantry_plan_output_over(const gantry_plan_t *plan, uint32_t function, uint32_t output) {
  const FunctionInfo *info = functionOf(plan, function);
  if (!info || output >= info->outputs.size() || !info->outputs[output].over)
    return -1;
  return *info->outputs[output].over;
}

gantry_status_t gantry_plan_input(const gantry_plan_t *plan, uint32_t function, uint32_t index,
                                  gantry_tensor_info_t *info) {
  GANTRY_NEED(plan && info);
  const FunctionInfo *owner = functionOf(plan, function);
  return owner ? describeAt("input", owner->inputs, index, info) : finish(noFunction(function));
}

gantry_status_t gantry_plan_output(const gantry_plan_t *plan, uint32_t function, uint32_t index,
                                   gantry_tensor_info_t *info) {
  GANTRY_NEED(plan && info);
  const FunctionInfo *owner = functionOf(plan, function);
  return owner ? describeAt("output", owner->outputs, index, info) : finish(noFunction(function));
}

gantry_status_t gantry_plan_find_input(const gantry_plan_t *plan, uint32_t function,
                                       const char *name, uint32_t *index) {
  GANTRY_NEED(plan && name && index);
  const FunctionInfo *owner = functionOf(plan, function);
  return owner ? giveIndex(owner->inputIndex(name), index) : finish(noFunction(function));
}

gantry_status_t gantry_plan_find_output(const gantry_plan_t *plan, uint32_t function,
                                        const char *name, uint32_t *index) {
  GANTRY_NEED(plan && name && index);
  const FunctionInfo *owner = functionOf(plan, function);
  return owner ? giveIndex(owner->outputIndex(name), index) : finish(noFunction(function));
}

size_t gantry_plan_num_kernel_choices(const gantry_plan_t *plan) {
  return plan ? plan->choices.size() : 0;
}

gantry_status_t gantry_plan_kernel_choice(const gantry_plan_t *plan, size_t index,
                                          gantry_kernel_choice_t *choice) {
  GANTRY_NEED(plan && choice);
  const size_t callerSize = choice->struct_size;
  if (callerSize < sizeof(size_t))
    return finish(Status::invalidArgument("gantry_kernel_choice_t: struct_size is not set"));
  if (index >= plan->choices.size())
    return finish(Status::invalidArgument("there is no kernel choice number " +
                                          std::to_string(index) + " of " +
                                          std::to_string(plan->choices.size())));
  const KernelChoice &made = plan->object->kernelChoices()[index];
  const gantry_plan_t::ChoiceTexts &texts = plan->choices[index];
  const auto &kernels = *plan->object->metadata().kernels();
  gantry_kernel_choice_t full{callerSize,
                              kernels.Get(made.kernel)->symbol()->c_str(),
                              made.device->name().c_str(),
                              texts.driver.c_str(),
                              made.number,
                              texts.description.c_str(),
                              texts.passedOver.c_str()};
  std::memcpy(choice, &full, std::min(callerSize, sizeof full));
  return GANTRY_OK;
}

const void *gantry_plan_data(const gantry_plan_t *plan, size_t *size) {
  const auto bytes = plan ? plan->object->file().bytes() : std::span<const uint8_t>();
  if (size)
    *size = bytes.size();
  return bytes.data();
}

gantry_status_t gantry_plan_describe_json(const gantry_plan_t *plan, const char **json) {
  clear(json);
  GANTRY_NEED(plan && json);
  std::call_once(plan->described, [&] { plan->json = describePlanJSON(plan->object->metadata()); });
  *json = plan->json.c_str();
  return GANTRY_OK;
}

// ---- state ----

gantry_status_t gantry_state_create(const gantry_plan_t *plan, gantry_state_t **state) {
  clear(state);
  GANTRY_NEED(plan && state);
  return give(State::create(plan->object), state);
}

void gantry_state_destroy(gantry_state_t *state) { delete state; }

uint32_t gantry_state_num_variables(const gantry_state_t *state) {
  return state ? static_cast<uint32_t>(state->object->variables().size()) : 0;
}

gantry_status_t gantry_state_variable(const gantry_state_t *state, uint32_t index,
                                      gantry_tensor_info_t *info) {
  GANTRY_NEED(state && info);
  return describeAt("variable", state->object->variables(), index, info);
}

/// Runs `access` if the variable has `size` bytes; an unknown name is left for `access` to report.
template <typename Access>
static gantry_status_t withVariable(const gantry_state_t *state, const char *name, size_t size,
                                    Access access) {
  for (const State::Variable &variable : state->object->variables())
    if (variable.name == name && variable.type.byteSize() != size)
      return finish(Status::invalidArgument(
          "variable '" + variable.name + "' " + variable.type.str() + " has " +
          std::to_string(variable.type.byteSize()) + " bytes, got " + std::to_string(size)));
  return finish(access());
}

gantry_status_t gantry_state_read(const gantry_state_t *state, const char *name, void *data,
                                  size_t size) {
  GANTRY_NEED(state && name && data);
  return withVariable(state, name, size, [&] { return state->object->read(name, data); });
}

gantry_status_t gantry_state_write(gantry_state_t *state, const char *name, const void *data,
                                   size_t size) {
  GANTRY_NEED(state && name && data);
  return withVariable(state, name, size, [&] { return state->object->write(name, data); });
}

const char *gantry_state_mirror_of(const gantry_state_t *state, uint32_t index) {
  if (!state || index >= state->object->variables().size())
    return nullptr;
  const std::string &variable = state->object->variables()[index].mirrorOf;
  return variable.empty() ? nullptr : variable.c_str();
}

static Expected<std::vector<State::Value>> borrowValues(const gantry_value_t *values,
                                                        size_t count) {
  std::vector<State::Value> borrowed;
  for (size_t i = 0; i < count; ++i) {
    const gantry_value_t &value = values[i];
    if (!value.name)
      return Status::invalidArgument("value " + std::to_string(i) + " has no name");
    Expected<Tensor> tensor = borrow(value.data, value.element, value.dims, value.rank);
    if (!tensor)
      return Status(tensor.status().code(),
                    "variable '" + std::string(value.name) + "': " + tensor.status().message());
    borrowed.push_back({value.name, tensor.take()});
  }
  return borrowed;
}

gantry_status_t gantry_state_read_values(const gantry_state_t *state, const gantry_value_t *values,
                                         size_t count) {
  GANTRY_NEED(state && (values || count == 0));
  Expected<std::vector<State::Value>> borrowed = borrowValues(values, count);
  return finish(borrowed ? state->object->read(*borrowed) : borrowed.status());
}

gantry_status_t gantry_state_write_values(gantry_state_t *state, const gantry_value_t *values,
                                          size_t count) {
  GANTRY_NEED(state && (values || count == 0));
  Expected<std::vector<State::Value>> borrowed = borrowValues(values, count);
  return finish(borrowed ? state->object->write(*borrowed) : borrowed.status());
}

// ---- session ----

gantry_status_t gantry_session_create(const gantry_plan_t *plan, gantry_state_t *state,
                                      gantry_session_t **session) {
  clear(session);
  GANTRY_NEED(plan && session);
  return give(Session::create(plan->object, state ? state->object : nullptr), session);
}

void gantry_session_destroy(gantry_session_t *session) { delete session; }

gantry_status_t gantry_session_state(const gantry_session_t *session, gantry_state_t **state) {
  clear(state);
  GANTRY_NEED(session && state);
  *state = session->object->state() ? new gantry_state_t{session->object->state()} : nullptr;
  return GANTRY_OK;
}

gantry_status_t gantry_session_timeline(const gantry_session_t *session, gantry_moment_t *moments,
                                        size_t capacity, size_t *count) {
  GANTRY_NEED(session && count && (moments || capacity == 0));
  const std::vector<CommandEvent> events = session->object->timeline();
  *count = events.size();
  const auto &functions = *session->object->plan().metadata().functions();
  if (events.empty() || capacity == 0)
    return GANTRY_OK;
  // All are of one function.
  for (uint32_t f = 0; f < functions.size(); ++f) {
    std::unordered_map<const plan::fb::Command *, uint32_t> numbers;
    for (const plan::PlacedCommand &placed : plan::commandsOf(*functions.Get(f)))
      numbers.emplace(placed.command, static_cast<uint32_t>(numbers.size()));
    if (!numbers.contains(events.front().command))
      continue;
    for (size_t i = 0; i < std::min(capacity, events.size()); ++i)
      moments[i] = {f, numbers.at(events[i].command), events[i].start, events[i].end};
  }
  return GANTRY_OK;
}

gantry_status_t gantry_bindings_create(const gantry_plan_t *plan, uint32_t function,
                                       gantry_bindings_t **bindings) {
  clear(bindings);
  GANTRY_NEED(plan && bindings);
  return give(Bindings::create(plan->object, static_cast<unsigned>(function)), bindings);
}

void gantry_bindings_destroy(gantry_bindings_t *bindings) { delete bindings; }

gantry_status_t gantry_bindings_set_input(gantry_bindings_t *bindings, const char *name,
                                          const void *data, gantry_element_type_t element,
                                          const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings && name);
  return bind(borrow(data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindInput(name, tensor); });
}

gantry_status_t gantry_bindings_set_output(gantry_bindings_t *bindings, const char *name,
                                           void *data, gantry_element_type_t element,
                                           const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings && name);
  return bind(borrow(data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindOutput(name, tensor); });
}

gantry_status_t gantry_bindings_set_input_at(gantry_bindings_t *bindings, uint32_t index,
                                             const void *data, gantry_element_type_t element,
                                             const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings);
  return bind(borrow(data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindInput(index, tensor); });
}

gantry_status_t gantry_bindings_set_output_at(gantry_bindings_t *bindings, uint32_t index,
                                              void *data, gantry_element_type_t element,
                                              const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings);
  return bind(borrow(data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindOutput(index, tensor); });
}

gantry_status_t gantry_bindings_set_device_input(gantry_bindings_t *bindings, const char *name,
                                                 const void *data, gantry_element_type_t element,
                                                 const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings && name);
  const FunctionInfo &function = bindings->object->info();
  return bind(borrowOn(function.inputs, function.inputIndex(name), data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindInput(name, tensor); });
}

gantry_status_t gantry_bindings_set_device_output(gantry_bindings_t *bindings, const char *name,
                                                  void *data, gantry_element_type_t element,
                                                  const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings && name);
  const FunctionInfo &function = bindings->object->info();
  return bind(borrowOn(function.outputs, function.outputIndex(name), data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindOutput(name, tensor); });
}

gantry_status_t gantry_bindings_set_device_input_at(gantry_bindings_t *bindings, uint32_t index,
                                                    const void *data, gantry_element_type_t element,
                                                    const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings);
  const FunctionInfo &function = bindings->object->info();
  return bind(borrowOn(function.inputs, index, data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindInput(index, tensor); });
}

gantry_status_t gantry_bindings_set_device_output_at(gantry_bindings_t *bindings, uint32_t index,
                                                     void *data, gantry_element_type_t element,
                                                     const int64_t *dims, uint32_t rank) {
  GANTRY_NEED(bindings);
  const FunctionInfo &function = bindings->object->info();
  return bind(borrowOn(function.outputs, index, data, element, dims, rank),
              [&](const Tensor &tensor) { return bindings->object->bindOutput(index, tensor); });
}

gantry_status_t gantry_bindings_set_stream(gantry_bindings_t *bindings, void *stream) {
  GANTRY_NEED(bindings);
  return finish(bindings->object->setStream(stream));
}

gantry_status_t gantry_bindings_output(gantry_bindings_t *bindings, const char *name,
                                       const void **data) {
  clear(data);
  GANTRY_NEED(bindings && name && data);
  return giveData(bindings->object->output(name), data);
}

gantry_status_t gantry_bindings_output_at(gantry_bindings_t *bindings, uint32_t index,
                                          const void **data) {
  clear(data);
  GANTRY_NEED(bindings && data);
  return giveData(bindings->object->output(index), data);
}

gantry_status_t gantry_bindings_set_cancel(gantry_bindings_t *bindings,
                                           const gantry_cancel_t *cancel) {
  GANTRY_NEED(bindings);
  bindings->object->setCancel(cancel ? &cancel->token : nullptr);
  return GANTRY_OK;
}

gantry_status_t gantry_session_run(gantry_session_t *session, gantry_bindings_t *bindings) {
  GANTRY_NEED(session && bindings);
  return finish(session->object->run(*bindings->object));
}

gantry_status_t gantry_session_submit(gantry_session_t *session, gantry_bindings_t *bindings,
                                      gantry_fence_t **fence) {
  clear(fence);
  GANTRY_NEED(session && bindings && fence);
  return give(session->object->submit(*bindings->object), fence);
}

/// A run that goes on is no failure.
static gantry_status_t giveOutcome(std::optional<Status> outcome, int *done) {
  *done = outcome.has_value();
  return outcome ? finish(std::move(*outcome)) : GANTRY_OK;
}

gantry_status_t gantry_fence_poll(const gantry_fence_t *fence, int *done) {
  GANTRY_NEED(fence && done);
  return giveOutcome(fence->object.poll(), done);
}

gantry_status_t gantry_fence_wait_for(const gantry_fence_t *fence, uint64_t nanoseconds,
                                      int *done) {
  GANTRY_NEED(fence && done);
  // A day is as good as for ever, and adds up with any clock.
  constexpr uint64_t longest = uint64_t(24) * 3600 * 1000000000;
  std::chrono::nanoseconds time(std::min(nanoseconds, longest));
  return giveOutcome(fence->object.waitFor(time), done);
}

gantry_status_t gantry_fence_on_done(const gantry_fence_t *fence, gantry_done_t callback,
                                     void *context) {
  GANTRY_NEED(fence && callback);
  fence->object.onDone([callback, context](const Status &outcome) {
    callback(context, static_cast<gantry_status_t>(outcome.code()), outcome.message().c_str());
  });
  return GANTRY_OK;
}

int gantry_fence_done(const gantry_fence_t *fence) { return !fence || fence->object.done(); }

gantry_status_t gantry_fence_wait(gantry_fence_t *fence) {
  GANTRY_NEED(fence);
  return finish(fence->object.wait());
}

void gantry_fence_destroy(gantry_fence_t *fence) { delete fence; }

gantry_status_t gantry_session_run_timed(gantry_session_t *session, gantry_bindings_t *bindings,
                                         gantry_command_time_t *times, size_t capacity,
                                         size_t *count) {
  GANTRY_NEED(session && bindings && count && (times || capacity == 0));
  Expected<std::vector<CommandTime>> measured = session->object->runTimed(*bindings->object);
  if (!measured)
    return finish(measured.status());
  *count = measured->size();
  for (size_t i = 0; i < std::min(capacity, measured->size()); ++i)
    times[i] = describe(session->object->plan().metadata(), (*measured)[i]);
  return GANTRY_OK;
}
