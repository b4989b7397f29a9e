// The C API's arrays on devices, and runs on them. Nothing is decided here.
#include "Handles.h"

#include "gantry/Drivers/HostDriver.h"
#include "gantry/Drivers/SimDriver.h"
#include "gantry/Runtime/Budget.h"

#include <algorithm>

using namespace gantry;
using namespace gantry::capi;
using namespace gantry::runtime;

namespace {

/// The device of the runtime's topology that a caller names; null is the host.
Expected<DeviceName> readDevice(const char *device) {
  if (!device)
    return DeviceName::local(DeviceType::CPU, 0);
  return DeviceName::parse(device);
}

Expected<Device *> deviceOf(Runtime &runtime, const char *device) {
  Expected<DeviceName> name = readDevice(device);
  return name ? runtime.device(*name) : name.status();
}

Expected<std::shared_ptr<Array>> makeArray(gantry_runtime_t *runtime, const char *device,
                                           gantry_element_type_t element, const int64_t *dims,
                                           uint32_t rank) {
  GANTRY_RETURN_IF_ERROR(runtime->object->checkProcess());
  Expected<TensorType> type = readType(element, dims, rank);
  if (!type)
    return type.status();
  Expected<Device *> place = deviceOf(*runtime->object, device);
  return place ? Array::create(runtime->object, **place, type.take()) : place.status();
}

gantry_status_t giveArray(Expected<std::shared_ptr<Array>> made, gantry_array_t **array) {
  return give(std::move(made), array);
}

/// Whether the caller's memory is as large as the array; `verb` is what it is for.
Status checkSize(const gantry_array_t *array, const void *data, size_t size) {
  if (size != array->object->byteSize())
    return Status::invalidArgument("an array of " + array->object->type().str() + " has " +
                                   std::to_string(array->object->byteSize()) + " bytes, got " +
                                   std::to_string(size));
  if (!data && size != 0)
    return Status::invalidArgument("the data is a null pointer");
  return {};
}

} // namespace

// ---- making ----

gantry_status_t gantry_array_create(gantry_runtime_t *runtime, const char *device,
                                    gantry_element_type_t element, const int64_t *dims,
                                    uint32_t rank, gantry_array_t **array) {
  clear(array);
  GANTRY_NEED(runtime && array);
  return giveArray(makeArray(runtime, device, element, dims, rank), array);
}

gantry_status_t gantry_array_from_host(gantry_runtime_t *runtime, const char *device,
                                       const void *data, gantry_element_type_t element,
                                       const int64_t *dims, uint32_t rank, gantry_array_t **array) {
  clear(array);
  GANTRY_NEED(runtime && array);
  Expected<std::shared_ptr<Array>> made = makeArray(runtime, device, element, dims, rank);
  if (made && !data && (*made)->byteSize() != 0)
    return finish(Status::invalidArgument("the data is a null pointer"));
  if (made)
    if (Status written = (*made)->write(data); !written.ok())
      return finish(written);
  return giveArray(std::move(made), array);
}

gantry_status_t gantry_array_from_pointer(gantry_runtime_t *runtime, const char *device, void *data,
                                          gantry_element_type_t element, const int64_t *dims,
                                          uint32_t rank, gantry_release_t release, void *context,
                                          gantry_array_t **array) {
  clear(array);
  auto giveBack = [release, context] {
    if (release)
      release(context);
  };
  if (!runtime || !array) {
    giveBack();
    return nullArgument(__func__);
  }
  Expected<TensorType> type = readType(element, dims, rank);
  Expected<Device *> place =
      type ? deviceOf(*runtime->object, device) : Expected<Device *>(type.status());
  if (!place) {
    giveBack();
    return finish(place.status());
  }
  return giveArray(Array::borrow(runtime->object, **place, type.take(), data, giveBack), array);
}

void gantry_array_retain(gantry_array_t *array) {
  if (array)
    array->handles.fetch_add(1, std::memory_order_relaxed);
}

void gantry_array_destroy(gantry_array_t *array) {
  if (array && array->handles.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete array;
}

// ---- looking and copying ----

gantry_status_t gantry_array_info(const gantry_array_t *array, gantry_array_info_t *info) {
  GANTRY_NEED(array && info);
  const Array &object = *array->object;
  return fill(info,
              gantry_array_info_t{0, static_cast<gantry_element_type_t>(object.type().element),
                                  static_cast<uint32_t>(object.type().shape.size()),
                                  object.type().shape.data(), object.byteSize(),
                                  object.device().name().c_str(),
                                  object.device().driver().name().data(), object.data(),
                                  object.device().runsInline(),
                                  array->handles.load(std::memory_order_acquire) == 1 &&
                                      array->object.use_count() == 1 && object.ownsMemory()},
              "gantry_array_info_t");
}

gantry_status_t gantry_array_read(const gantry_array_t *array, void *data, size_t size) {
  GANTRY_NEED(array);
  Status fits = checkSize(array, data, size);
  return finish(fits.ok() ? array->object->read(data) : fits);
}

gantry_status_t gantry_array_write(gantry_array_t *array, const void *data, size_t size) {
  GANTRY_NEED(array);
  Status fits = checkSize(array, data, size);
  return finish(fits.ok() ? array->object->write(data) : fits);
}

gantry_status_t gantry_array_copy_to(const gantry_array_t *array, const char *device,
                                     gantry_array_t **copy) {
  clear(copy);
  GANTRY_NEED(array && copy);
  if (Status here = array->object->runtime()->checkProcess(); !here.ok())
    return finish(here);
  Expected<Device *> target = deviceOf(*array->object->runtime(), device);
  return target ? giveArray(array->object->copyTo(**target), copy) : finish(target.status());
}

// ---- computing ----

gantry_status_t gantry_bindings_set_input_array_at(gantry_bindings_t *bindings, uint32_t index,
                                                   gantry_array_t *array) {
  GANTRY_NEED(bindings && array);
  return finish(bindings->object->bindInput(index, Array::tensor(array->object)));
}

gantry_status_t gantry_bindings_set_output_array_at(gantry_bindings_t *bindings, uint32_t index,
                                                    gantry_array_t *array) {
  GANTRY_NEED(bindings && array);
  return finish(bindings->object->bindOutput(index, Array::tensor(array->object)));
}

gantry_status_t gantry_bindings_output_array_at(gantry_bindings_t *bindings, uint32_t index,
                                                gantry_array_t **array) {
  clear(array);
  GANTRY_NEED(bindings && array);
  Expected<Tensor> tensor = bindings->object->output(index);
  if (!tensor)
    return finish(tensor.status());
  // The tensor keeps its memory, so the array keeps the tensor.
  const std::shared_ptr<Runtime> runtime = bindings->object->plan().runtime().shared_from_this();
  Device &device = *bindings->object->info().outputs[index].device;
  return giveArray(Array::borrow(runtime, tensor->device() ? *tensor->device() : device,
                                 tensor->type(), tensor->data(), [kept = *tensor] {}),
                   array);
}

namespace {

/// Bindings for one call, given back to the session at its end, without the arrays.
class CallBindings {
public:
  CallBindings(gantry_session_t &session, uint32_t function)
      : session(session), function(function) {}
  ~CallBindings() {
    if (!bindings || !bindings->unbind().ok())
      return;
    bindings->setCancel(nullptr);
    std::lock_guard lock(session.mutex);
    session.idle[function].push_back(std::move(bindings));
  }

  Status take() {
    const auto &plan = session.object->plan();
    {
      std::lock_guard lock(session.mutex);
      session.idle.resize(plan.functions().size());
      if (function < session.idle.size() && !session.idle[function].empty()) {
        bindings = std::move(session.idle[function].back());
        session.idle[function].pop_back();
        return {};
      }
    }
    Expected<std::shared_ptr<Bindings>> made =
        Bindings::create(session.object->sharedPlan(), static_cast<unsigned>(function));
    if (!made)
      return made.status();
    bindings = made.take();
    return {};
  }

  Bindings &operator*() { return *bindings; }
  Bindings *operator->() { return bindings.get(); }

private:
  gantry_session_t &session;
  uint32_t function;
  std::shared_ptr<Bindings> bindings;
};

Status checkCount(const FunctionInfo &function, const char *kind, size_t given, size_t wanted) {
  if (given == wanted)
    return {};
  return Status::invalidArgument("function '" + function.name + "' has " + std::to_string(wanted) +
                                 " " + kind + (wanted == 1 ? "" : "s") + ", got " +
                                 std::to_string(given));
}

/// The array that an output is written to: the caller's, or a new one on the output's device.
Expected<std::shared_ptr<Array>> outputFor(const std::shared_ptr<Runtime> &runtime,
                                           const BindingInfo &output, gantry_array_t *given) {
  return given ? Expected<std::shared_ptr<Array>>(given->object)
               : Array::create(runtime, *output.device, output.type);
}

} // namespace

gantry_status_t gantry_session_call(gantry_session_t *session, uint32_t function,
                                    gantry_array_t *const *inputs, size_t num_inputs,
                                    gantry_array_t **outputs, size_t num_outputs,
                                    const gantry_cancel_t *cancel) {
  GANTRY_NEED(session && (inputs || num_inputs == 0) && (outputs || num_outputs == 0));
  const std::shared_ptr<Runtime> runtime = session->object->plan().runtime().shared_from_this();
  CallBindings bindings(*session, function);
  std::vector<std::shared_ptr<Array>> made(num_outputs);
  auto call = [&]() -> Status {
    GANTRY_RETURN_IF_ERROR(runtime->checkProcess());
    GANTRY_RETURN_IF_ERROR(bindings.take());
    const FunctionInfo &info = bindings->info();
    GANTRY_RETURN_IF_ERROR(checkCount(info, "input", num_inputs, info.inputs.size()));
    GANTRY_RETURN_IF_ERROR(checkCount(info, "output", num_outputs, info.outputs.size()));
    for (unsigned i = 0; i < num_inputs; ++i) {
      if (!inputs[i])
        return Status::invalidArgument("input '" + info.inputs[i].name + "' is a null pointer");
      GANTRY_RETURN_IF_ERROR(bindings->bindInput(i, Array::tensor(inputs[i]->object)));
    }
    for (unsigned i = 0; i < num_outputs; ++i) {
      Expected<std::shared_ptr<Array>> array = outputFor(runtime, info.outputs[i], outputs[i]);
      if (!array)
        return array.status();
      made[i] = array.take();
      GANTRY_RETURN_IF_ERROR(bindings->bindOutput(i, Array::tensor(made[i])));
    }
    bindings->setCancel(cancel ? &cancel->token : nullptr);
    return session->object->run(*bindings);
  };
  if (Status status = call(); !status.ok())
    return finish(std::move(status));
  for (size_t i = 0; i < num_outputs; ++i)
    if (!outputs[i])
      outputs[i] = new gantry_array_t{std::move(made[i])};
  return GANTRY_OK;
}

// ---- variables ----

gantry_status_t gantry_state_create_empty(gantry_runtime_t *runtime, gantry_state_t **state) {
  clear(state);
  GANTRY_NEED(runtime && state);
  *state = new gantry_state_t{State::createEmpty(runtime->object)};
  return GANTRY_OK;
}

gantry_status_t gantry_state_add(gantry_state_t *state, const char *name,
                                 const gantry_array_t *array) {
  GANTRY_NEED(state && name && array);
  return finish(state->object->add(name, *array->object));
}

gantry_status_t gantry_state_remove(gantry_state_t *state, const char *name) {
  GANTRY_NEED(state && name);
  return finish(state->object->remove(name));
}

gantry_status_t gantry_state_extend(gantry_state_t *state, const gantry_plan_t *plan) {
  GANTRY_NEED(state && plan);
  return finish(state->object->extend(plan->object));
}

gantry_status_t gantry_state_array(const gantry_state_t *state, const char *name,
                                   gantry_array_t **array) {
  clear(array);
  GANTRY_NEED(state && name && array);
  return giveArray(state->object->copyOf(name), array);
}

// ---- memory ----

/// The least of the device's own limit and that of its budget; 0: there is none.
static uint64_t limitOf(const Device &device) {
  const uint64_t own = device.limit();
  const uint64_t shared = device.budget() ? device.budget()->use().limit : 0;
  return own && shared ? std::min(own, shared) : std::max(own, shared);
}

/// What a device has that nothing has used; zeros where only opening it tells.
static MemoryInfo memoryOfClosed(const PhysicalDevice &physical) {
  if (physical.driver == gantry::Driver::host) {
    Expected<MemoryInfo> memory = readHostMemory();
    return memory ? *memory : MemoryInfo();
  }
  if (physical.driver != gantry::Driver::sim)
    return {physical.memory, 0};
  const uint64_t bytes = physical.memory ? physical.memory : simDefaultMemory;
  return {bytes, bytes};
}

gantry_status_t gantry_runtime_memory(const gantry_runtime_t *runtime, const char *device,
                                      gantry_memory_info_t *info) {
  GANTRY_NEED(runtime && info);
  Expected<DeviceName> name = readDevice(device);
  Expected<Runtime::KnownDevice> known =
      name ? runtime->object->find(*name) : Expected<Runtime::KnownDevice>(name.status());
  if (!known)
    return finish(known.status());
  const Topology &topology = runtime->object->topology();
  gantry_memory_info_t full{};
  if (!known->open) {
    const MemoryInfo memory = memoryOfClosed(topology.physical[known->logical->physical]);
    full.limit_bytes = known->logical->limit;
    full.total_bytes = memory.total;
    full.free_bytes = memory.free;
    return fill(info, full, "gantry_memory_info_t");
  }
  Expected<MemoryInfo> memory = known->open->memoryInfo();
  if (!memory)
    return finish(memory.status());
  const DeviceStats stats = known->open->stats();
  const Budget *budget = known->open->budget();
  return fill(info,
              gantry_memory_info_t{0, stats.bytesInUse, stats.peakBytes, limitOf(*known->open),
                                   memory->total, memory->free, 1,
                                   budget ? budget->use().reserved : 0},
              "gantry_memory_info_t");
}

gantry_status_t gantry_runtime_reset_peak(gantry_runtime_t *runtime, const char *device) {
  GANTRY_NEED(runtime);
  Expected<DeviceName> name = readDevice(device);
  Expected<Runtime::KnownDevice> known =
      name ? runtime->object->find(*name) : Expected<Runtime::KnownDevice>(name.status());
  if (known && known->open)
    known->open->resetPeak();
  return finish(known ? Status() : known.status());
}
