#include "gantry/Runtime/State.h"

#include "gantry/Plan/Views.h"

#include "gantry/Support/AlignedBuffer.h"
#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <mutex>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::countOf;
using plan::each;

Expected<std::shared_ptr<State>> State::create(std::shared_ptr<const LoadedPlan> plan) {
  const fb::Plan &metadata = plan->metadata();
  std::shared_ptr<State> state(new State(plan->runtime().shared_from_this()));
  state->plan = plan;
  state->arenas.resize(countOf(metadata.arenas()));
  for (uint32_t i = 0; i < state->arenas.size(); ++i) {
    const fb::Arena &arena = *metadata.arenas()->Get(i);
    if (arena.kind() != fb::ArenaKind::variables)
      continue;
    Device *device = plan->device(arena.device());
    Expected<Allocation> memory =
        device->allocate(arena.size(), "variables of '" + plan->name() + "'");
    if (!memory)
      return memory.status();
    state->arenas[i] = memory.take();
    GANTRY_RETURN_IF_ERROR(device->fill(state->arenas[i].data(), 0, arena.size()));
  }
  for (const fb::Variable *variable : each(metadata.variables()))
    GANTRY_RETURN_IF_ERROR(state->addFrom(
        *plan, *variable, state->arenas[variable->arena()].data() + variable->offset()));
  return state;
}

std::shared_ptr<State> State::createEmpty(std::shared_ptr<Runtime> runtime) {
  return std::shared_ptr<State>(new State(std::move(runtime)));
}

namespace {

TensorType typeOf(const fb::Variable &variable) {
  auto shape = plan::shapeOf(*variable.type());
  return {plan::elementOf(*variable.type()), {shape.begin(), shape.end()}};
}

Device *deviceOf(const LoadedPlan &plan, const fb::Variable &variable) {
  return plan.device(plan.metadata().arenas()->Get(variable.arena())->device());
}

} // namespace

/// A variable of the plan at `data`, with the value that the plan has for it, if any.
Status State::addFrom(const LoadedPlan &other, const fb::Variable &variable, uint8_t *data,
                      std::shared_ptr<const Array> memory) {
  all.push_back({variable.name()->str(), typeOf(variable), deviceOf(other, variable), data,
                 std::string(plan::textOf(variable.mirror_of())), std::move(memory)});
  std::span<const uint8_t> initial = other.file().bytesOf(variable);
  return initial.empty() ? Status()
                         : all.back().device->upload(data, initial.data(), initial.size());
}

Status State::add(const std::string &name, const Array &array) {
  std::lock_guard guard(changing);
  if (lookUp(name))
    return Status::invalidArgument("there is a variable '" + name +
                                   "' already; write to it, or give this one another name");
  Expected<std::shared_ptr<Array>> copy = array.copyTo(array.device());
  if (!copy)
    return copy.status();
  std::shared_ptr<Array> memory = copy.take();
  auto *data = static_cast<uint8_t *>(memory->data());
  all.push_back({name, array.type(), &array.device(), data, {}, std::move(memory)});
  return {};
}

Status State::remove(std::string_view name) {
  std::lock_guard guard(changing);
  Expected<const Variable *> found = find(name);
  if (!found)
    return found.status();
  if (!(*found)->memory)
    return Status::failedPrecondition("variable '" + std::string(name) + "' is one of the plan '" +
                                      plan->name() + "', which the state was made for");
  all.erase(all.begin() + (*found - all.data()));
  return {};
}

Status State::extend(const std::shared_ptr<const LoadedPlan> &other) {
  std::lock_guard guard(changing);
  const auto theirs = each(other->metadata().variables());
  for (const fb::Variable *variable : theirs)
    if (const Variable *mine = lookUp(variable->name()->str()))
      GANTRY_RETURN_IF_ERROR(checkSame(*mine, *other, *variable));
  for (const fb::Variable *variable : theirs) {
    if (lookUp(variable->name()->str()))
      continue;
    Expected<std::shared_ptr<Array>> memory =
        Array::create(runtime, *deviceOf(*other, *variable), typeOf(*variable));
    if (!memory)
      return memory.status();
    auto *data = static_cast<uint8_t *>((*memory)->data());
    GANTRY_RETURN_IF_ERROR((*memory)->device().fill(data, 0, (*memory)->byteSize()));
    GANTRY_RETURN_IF_ERROR(addFrom(*other, *variable, data, memory.take()));
    GANTRY_RETURN_IF_ERROR(fillMirror(all.back()));
  }
  return {};
}

/// A mirror that is new begins as what it is a mirror of is by now.
Status State::fillMirror(const Variable &mirror) {
  const Variable *original = mirror.mirrorOf.empty() ? nullptr : lookUp(mirror.mirrorOf);
  if (!original)
    return {};
  std::vector<uint8_t> bytes(mirror.type.byteSize());
  std::unique_lock guard(mutex);
  GANTRY_RETURN_IF_ERROR(original->device->download(bytes.data(), original->data, bytes.size()));
  return mirror.device->upload(mirror.data, bytes.data(), bytes.size());
}

Expected<std::shared_ptr<Array>> State::copyOf(std::string_view name) const {
  Expected<const Variable *> variable = find(name);
  if (!variable)
    return variable.status();
  Expected<std::shared_ptr<Array>> view =
      Array::borrow(runtime, *(*variable)->device, (*variable)->type, (*variable)->data, {});
  if (!view)
    return view.status();
  std::shared_lock guard(mutex);
  return (*view)->copyTo((*view)->device());
}

const State::Variable *State::lookUp(std::string_view name) const {
  for (const Variable &variable : all)
    if (variable.name == name)
      return &variable;
  return nullptr;
}

Expected<const State::Variable *> State::find(std::string_view name) const {
  if (const Variable *variable = lookUp(name))
    return variable;
  std::string known;
  for (const Variable &variable : all)
    known += (known.empty() ? "'" : ", '") + variable.name + "' " + variable.type.str();
  return Status::notFound("there is no variable '" + std::string(name) + "'; " +
                          (known.empty() ? "there are none" : "the variables are " + known));
}

Expected<std::vector<const State::Variable *>> State::match(std::span<const Value> values) const {
  std::vector<const Variable *> matched;
  std::vector<bool> isGiven(all.size());
  for (const Value &value : values) {
    Expected<const Variable *> variable = find(value.name);
    if (!variable)
      return variable.status();
    const std::string what = "variable '" + (*variable)->name + "'";
    if (value.tensor.type() != (*variable)->type)
      return Status::invalidArgument(what + ": expected " + (*variable)->type.str() + ", got " +
                                     value.tensor.type().str());
    if (!value.tensor.data() && value.tensor.byteSize() != 0)
      return Status::invalidArgument(what + ": the data is a null pointer");
    const size_t index = static_cast<size_t>(*variable - all.data());
    if (isGiven[index])
      return Status::invalidArgument(what + " is given twice");
    isGiven[index] = true;
    matched.push_back(*variable);
  }
  return matched;
}

Status State::upload(const Variable &variable, const void *data) {
  for (const Variable &each : all)
    if (&each == &variable || each.mirrorOf == variable.name)
      GANTRY_RETURN_IF_ERROR(each.device->upload(each.data, data, variable.type.byteSize()));
  return {};
}

Status State::read(std::string_view name, void *data) const {
  Expected<const Variable *> variable = find(name);
  if (!variable)
    return variable.status();
  std::shared_lock guard(mutex);
  return (*variable)->device->download(data, (*variable)->data, (*variable)->type.byteSize());
}

Status State::write(std::string_view name, const void *data) {
  Expected<const Variable *> found = find(name);
  if (!found)
    return found.status();
  std::unique_lock guard(mutex);
  return upload(**found, data);
}

Status State::read(std::span<const Value> values) const {
  Expected<std::vector<const Variable *>> matched = match(values);
  if (!matched)
    return matched.status();
  std::shared_lock guard(mutex);
  for (size_t i = 0; i < values.size(); ++i) {
    const Variable &variable = *(*matched)[i];
    GANTRY_RETURN_IF_ERROR(variable.device->download(values[i].tensor.data(), variable.data,
                                                     variable.type.byteSize()));
  }
  return {};
}

Status State::write(std::span<const Value> values) {
  Expected<std::vector<const Variable *>> matched = match(values);
  if (!matched)
    return matched.status();
  for (const Variable *variable : *matched)
    if (!variable->mirrorOf.empty())
      return Status::invalidArgument("variable '" + variable->name + "' is a mirror of '" +
                                     variable->mirrorOf + "' and gets its value; write '" +
                                     variable->mirrorOf + "'");
  std::unique_lock guard(mutex);
  for (size_t i = 0; i < values.size(); ++i)
    GANTRY_RETURN_IF_ERROR(upload(*(*matched)[i], values[i].tensor.data()));
  return {};
}

Status State::readEach(std::span<const std::string_view> names,
                       const std::function<Status(std::span<const uint8_t>)> &take) const {
  std::vector<const Variable *> wanted;
  uint64_t largest = 0;
  for (std::string_view name : names) {
    Expected<const Variable *> variable = find(name);
    if (!variable)
      return variable.status();
    wanted.push_back(*variable);
    if (!(*variable)->device->runsInline())
      largest = std::max(largest, (*variable)->type.byteSize());
  }
  AlignedBuffer copy = AlignedBuffer::allocate(largest);
  if (largest != 0 && !copy.data())
    return Status::doesNotFit("no memory for a copy of a variable of " + formatBytes(largest));
  std::shared_lock guard(mutex);
  for (const Variable *variable : wanted) {
    const uint64_t size = variable->type.byteSize();
    if (!variable->device->runsInline())
      GANTRY_RETURN_IF_ERROR(variable->device->download(copy.data(), variable->data, size));
    const uint8_t *bytes = variable->device->runsInline() ? variable->data : copy.data();
    GANTRY_RETURN_IF_ERROR(take({bytes, size_t(size)}));
  }
  return {};
}

Status State::checkSame(const Variable &mine, const LoadedPlan &other,
                        const fb::Variable &theirs) const {
  const TensorType wanted = typeOf(theirs);
  const Device *device = deviceOf(other, theirs);
  if (wanted == mine.type && device == mine.device)
    return {};
  return Status::invalidArgument("variable '" + mine.name + "' of '" + other.name() + "' is " +
                                 wanted.str() + " on '" + (device ? device->name() : "no device") +
                                 "', in this state it is " + mine.type.str() + " on '" +
                                 mine.device->name() + "'");
}

Expected<State::Place> State::resolve(const LoadedPlan &other, uint32_t arena, uint64_t offset,
                                      uint64_t size) const {
  if (&other == plan.get())
    return Place{arenas[arena].data() + offset, {}};
  std::lock_guard guard(changing);
  for (const fb::Variable *theirs : each(other.metadata().variables())) {
    if (theirs->arena() != arena || offset < theirs->offset() ||
        !rangeFits(offset - theirs->offset(), size, theirs->size()))
      continue;
    Expected<const Variable *> mine = find(theirs->name()->str());
    if (!mine)
      return mine.status();
    GANTRY_RETURN_IF_ERROR(checkSame(**mine, other, *theirs));
    return Place{(*mine)->data + (offset - theirs->offset()), (*mine)->memory};
  }
  return Status::invalidArgument("'" + other.name() + "' has variables that this state lacks");
}

} // namespace gantry::runtime
