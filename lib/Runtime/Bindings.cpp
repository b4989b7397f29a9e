#include "gantry/Runtime/Bindings.h"

#include "gantry/Support/Bytes.h"

#include <algorithm>

namespace gantry::runtime {

namespace {

std::string nameBinding(const FunctionInfo &function, const char *kind, const BindingInfo &info) {
  return std::string(kind) + " '" + info.name + "' of function '" + function.name + "'";
}

// What kernels get for a tensor without elements, whose data may be null.
alignas(bufferAlignment) uint8_t emptyTensor[bufferAlignment];

bool isAligned(const void *data) {
  return reinterpret_cast<uintptr_t>(data) % bufferAlignment == 0;
}

} // namespace

Bindings::Bindings(std::shared_ptr<const LoadedPlan> plan, unsigned function)
    : loaded(std::move(plan)), functionNumber(function), inputs(info().inputs.size()),
      outputs(info().outputs.size()) {}

Expected<std::shared_ptr<Bindings>> Bindings::create(std::shared_ptr<const LoadedPlan> plan,
                                                     unsigned function) {
  if (function >= plan->functions().size())
    return Status::invalidArgument("'" + plan->name() + "' has " +
                                   std::to_string(plan->functions().size()) +
                                   " functions, there is no number " + std::to_string(function));
  return std::shared_ptr<Bindings>(new Bindings(std::move(plan), function));
}

Expected<std::shared_ptr<Bindings>> Bindings::create(std::shared_ptr<const LoadedPlan> plan,
                                                     std::string_view function) {
  Expected<unsigned> index = plan->functionIndex(function);
  if (!index)
    return index.status();
  return create(std::move(plan), *index);
}

Status Bindings::bindInput(unsigned index, const Tensor &tensor) {
  if (index >= inputs.size())
    return Status::invalidArgument("function '" + info().name + "' has " +
                                   std::to_string(inputs.size()) + " inputs, there is no number " +
                                   std::to_string(index));
  return bind(inputs[index], info().inputs[index], "input", tensor);
}

Status Bindings::bindInput(std::string_view name, const Tensor &tensor) {
  Expected<unsigned> index = info().inputIndex(name);
  return index ? bindInput(*index, tensor) : index.status();
}

Status Bindings::bindOutput(unsigned index, const Tensor &tensor) {
  if (index >= outputs.size())
    return Status::invalidArgument("function '" + info().name + "' has " +
                                   std::to_string(outputs.size()) +
                                   " outputs, there is no number " + std::to_string(index));
  return bind(outputs[index], info().outputs[index], "output", tensor);
}

Status Bindings::bindOutput(std::string_view name, const Tensor &tensor) {
  Expected<unsigned> index = info().outputIndex(name);
  return index ? bindOutput(*index, tensor) : index.status();
}

Status Bindings::checkIdle() const {
  if (!isRunning.load(std::memory_order_acquire))
    return {};
  return Status::failedPrecondition("a run of function '" + info().name +
                                    "' with these bindings is under way; wait for its fence, or "
                                    "use other bindings");
}

Status Bindings::bind(Slot &slot, const BindingInfo &binding, const char *kind,
                      const Tensor &tensor) {
  GANTRY_RETURN_IF_ERROR(checkIdle());
  if (tensor.type() != binding.type)
    return Status::invalidArgument(nameBinding(info(), kind, binding) + ": expected " +
                                   binding.type.str() + ", got " + tensor.type().str());
  uint64_t bytes = binding.type.byteSize();
  if (!tensor.data() && bytes != 0)
    return Status::invalidArgument(nameBinding(info(), kind, binding) + ": expected " +
                                   formatBytes(bytes) + " of data, got a null pointer");
  // Host memory and the memory of devices that run inline are the same thing.
  bool onHost = !tensor.device() || tensor.device()->runsInline();
  bool wantsHost = binding.device->runsInline();
  if (!onHost && tensor.device() != binding.device)
    return Status::unsupported(nameBinding(info(), kind, binding) + " is on '" +
                               binding.device->name() + "', its data on '" +
                               tensor.device()->name() + "'; give it in host memory");
  if (!onHost && bytes != 0) {
    if (!isAligned(tensor.data()))
      return Status::invalidArgument(nameBinding(info(), kind, binding) +
                                     ": an array on a GPU must start at a multiple of " +
                                     std::to_string(bufferAlignment) + " bytes");
    if (Status own = binding.device->checkOwn(tensor.data(), bytes); !own.ok())
      return Status(own.code(), nameBinding(info(), kind, binding) + ": " + own.message());
  }
  bool staged = bytes != 0 && (!isAligned(tensor.data()) || onHost != wantsHost);
  // Memory from an earlier bind serves again; a view of it in the caller's hands stays valid.
  if (staged && !slot.memory)
    GANTRY_RETURN_IF_ERROR(allocateOwn(slot, binding));
  slot.tensor = tensor;
  slot.bound = true;
  slot.staged = staged;
  slot.address = bytes == 0 ? emptyTensor : staged ? slot.memory->data() : tensor.dataAs<uint8_t>();
  ready = false;
  return {};
}

Status Bindings::unbind() {
  GANTRY_RETURN_IF_ERROR(checkIdle());
  for (std::vector<Slot> *slots : {&inputs, &outputs})
    for (Slot &slot : *slots)
      if (slot.bound) {
        slot.tensor = {};
        slot.bound = slot.staged = false;
        slot.address = nullptr;
      }
  ready = false;
  return {};
}

Status Bindings::allocateOwn(Slot &slot, const BindingInfo &binding) {
  Expected<Allocation> memory =
      binding.device->allocate(binding.type.byteSize(), "binding '" + binding.name + "'");
  if (!memory)
    return memory.status();
  // The plan keeps the device alive for as long as a view of the memory is around.
  struct Kept {
    std::shared_ptr<const LoadedPlan> plan;
    Allocation memory;
  };
  auto kept = std::make_shared<Kept>(Kept{loaded, memory.take()});
  slot.memory = std::shared_ptr<Allocation>(kept, &kept->memory);
  return {};
}

Status Bindings::setStream(void *callersStream) {
  GANTRY_RETURN_IF_ERROR(checkIdle());
  stream = callersStream;
  return {};
}

Expected<Tensor> Bindings::output(unsigned index) {
  if (index >= outputs.size())
    return Status::invalidArgument("function '" + info().name + "' has " +
                                   std::to_string(outputs.size()) +
                                   " outputs, there is no number " + std::to_string(index));
  Slot &slot = outputs[index];
  const BindingInfo &binding = info().outputs[index];
  if (slot.bound)
    return slot.tensor;
  if (!slot.memory)
    GANTRY_RETURN_IF_ERROR(allocateOwn(slot, binding));
  slot.address = binding.type.byteSize() == 0 ? emptyTensor : slot.memory->data();
  Device *device = binding.device->runsInline() ? nullptr : binding.device;
  return Tensor::share(binding.type, slot.address, slot.memory, device);
}

Expected<Tensor> Bindings::output(std::string_view name) {
  Expected<unsigned> index = info().outputIndex(name);
  if (!index)
    return index.status();
  return output(*index);
}

Status Bindings::prepare() {
  if (ready)
    return {};
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (!inputs[i].bound)
      return Status::invalidArgument(nameBinding(info(), "input", info().inputs[i]) +
                                     " is not bound; it is " + info().inputs[i].type.str());
  for (unsigned i = 0; i < outputs.size(); ++i)
    if (Expected<Tensor> tensor = output(i); !tensor)
      return tensor.status();
  GANTRY_RETURN_IF_ERROR(checkOverlaps());
  ready = true;
  return {};
}

/// An output that shares memory with an input or another output would be overwritten while it is
/// still read, depending on the plan's order; but for the input that the plan lets it lie over,
/// from its first byte on. Inputs may share: nobody writes them.
Status Bindings::checkOverlaps() const {
  struct BoundRange {
    uintptr_t begin, end;
    const BindingInfo *binding;
    bool isOutput;
  };
  std::vector<BoundRange> ranges;
  ranges.reserve(inputs.size() + outputs.size());
  std::vector<bool> isOutputToo(inputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    if (std::optional<unsigned> input = info().outputs[i].over)
      isOutputToo[*input] = inputs[*input].address == outputs[i].address;
  auto add = [&](const std::vector<Slot> &slots, const std::vector<BindingInfo> &bindings,
                 bool isOutput) {
    for (size_t i = 0; i < slots.size(); ++i)
      if (uint64_t size = bindings[i].type.byteSize(); size && (isOutput || !isOutputToo[i])) {
        auto begin = reinterpret_cast<uintptr_t>(slots[i].address);
        ranges.push_back({begin, begin + size, &bindings[i], isOutput});
      }
  };
  add(inputs, info().inputs, /*isOutput=*/false);
  add(outputs, info().outputs, /*isOutput=*/true);
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const BoundRange &a, const BoundRange &b) { return a.begin < b.begin; });
  // Of those that begin before, the one that reaches furthest meets the next if any does.
  const BoundRange *furthest = nullptr, *furthestOutput = nullptr;
  for (const BoundRange &range : ranges) {
    const BoundRange *before = range.isOutput ? furthest : furthestOutput;
    if (before && before->end > range.begin) {
      const BoundRange &output = range.isOutput ? range : *before;
      const BoundRange &other = range.isOutput ? *before : range;
      return Status::invalidArgument(nameBinding(info(), "output", *output.binding) +
                                     " overlaps the memory of " +
                                     (other.isOutput ? "output '" : "input '") +
                                     other.binding->name + "'; give it memory of its own");
    }
    if (!furthest || range.end > furthest->end)
      furthest = &range;
    if (range.isOutput && (!furthestOutput || range.end > furthestOutput->end))
      furthestOutput = &range;
  }
  return {};
}

Status Bindings::copyIn() {
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].staged)
      continue;
    Device *device = info().inputs[i].device;
    uint64_t bytes = inputs[i].tensor.byteSize();
    GANTRY_RETURN_IF_ERROR(device->upload(inputs[i].address, inputs[i].tensor.data(), bytes));
    device->countStaged(bytes);
  }
  return {};
}

Status Bindings::copyOut(Where where) {
  for (unsigned i = 0; i < outputs.size(); ++i) {
    Device *device = info().outputs[i].device;
    if (!outputs[i].staged || (where == Where::inlineDevices && !device->runsInline()))
      continue;
    uint64_t bytes = outputs[i].tensor.byteSize();
    GANTRY_RETURN_IF_ERROR(device->download(outputs[i].tensor.data(), outputs[i].address, bytes));
    device->countStaged(bytes);
  }
  return {};
}

std::vector<OutputCopy> Bindings::startLater() {
  isRunning.store(true, std::memory_order_relaxed);
  std::vector<OutputCopy> copies;
  for (unsigned i = 0; i < outputs.size(); ++i) {
    Device *device = info().outputs[i].device;
    if (!outputs[i].staged || device->runsInline())
      continue;
    uint64_t bytes = outputs[i].tensor.byteSize();
    copies.push_back({device, outputs[i].tensor.data(), outputs[i].address, bytes});
    device->countStaged(bytes);
  }
  return copies;
}

/// What is left lies in host memory, which any thread may copy.
Status Bindings::finishLater() {
  Status status = copyOut(Where::inlineDevices);
  isRunning.store(false, std::memory_order_release);
  return status;
}

} // namespace gantry::runtime
