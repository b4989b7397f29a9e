// All checks need names alone; whether the card is there, and has the memory, its driver says.
#include "gantry/Runtime/DeviceBinding.h"

#include "gantry/Plan/Views.h"

#include <algorithm>

namespace gantry::runtime {

namespace fb = plan::fb;
using plan::each;

namespace {
Expected<DeviceName> parseOne(std::string_view text, std::string_view binding) {
  Expected<DeviceName> name = DeviceName::parse(text);
  if (!name)
    return name.status();
  if (!name->type || !name->id)
    return Status::invalidArgument("'" + std::string(text) + "' in the binding '" +
                                   std::string(binding) +
                                   "' does not name one device; write a type and an id, like "
                                   "GPU:0=GPU:3");
  name->physical = false;
  return name;
}

std::string deviceList(const fb::Plan &plan) {
  std::string list;
  for (const fb::Device *device : each(plan.devices()))
    list += (list.empty() ? "" : ", ") + device->name()->str();
  return list;
}
} // namespace

Expected<DeviceBinding> DeviceBinding::parse(std::string_view text) {
  size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return Status::invalidArgument("the binding '" + std::string(text) +
                                   "' is not PLANNED=PHYSICAL, like GPU:0=GPU:3");
  Expected<DeviceName> planned = parseOne(text.substr(0, equals), text);
  if (!planned)
    return planned.status();
  Expected<DeviceName> physical = parseOne(text.substr(equals + 1), text);
  if (!physical)
    return physical.status();
  if (planned->type != physical->type)
    return Status::invalidArgument("the binding '" + std::string(text) + "' joins a " +
                                   std::string(deviceTypeName(*planned->type)) + " and a " +
                                   std::string(deviceTypeName(*physical->type)) +
                                   "; both must be of one type, since the plan's code is");
  return DeviceBinding{planned.take(), physical.take()};
}

Expected<std::vector<std::string>> bindDevices(const fb::Plan &plan,
                                               std::span<const DeviceBinding> bindings) {
  std::vector<DeviceName> names;
  for (const fb::Device *device : each(plan.devices())) {
    Expected<DeviceName> name = DeviceName::parse(plan::textOf(device->name()));
    if (!name)
      return name.status();
    names.push_back(name.take());
  }
  std::vector<bool> isBound(names.size(), false);
  const std::vector<DeviceName> planned = names;
  for (const DeviceBinding &binding : bindings) {
    bool found = false;
    for (size_t i = 0; i < planned.size(); ++i) {
      if (!binding.planned.matches(planned[i]))
        continue;
      found = true;
      if (isBound[i])
        return Status::invalidArgument("'" + planned[i].str() + "' is bound twice, to '" +
                                       names[i].shortStr() + "' and to '" +
                                       binding.physical.shortStr() + "'");
      isBound[i] = true;
      names[i] = mergeScopes(planned[i], binding.physical);
      if (planned[i].type == DeviceType::CPU && names[i] != planned[i])
        return Status::invalidArgument("'" + planned[i].str() + "' cannot be bound to '" +
                                       names[i].str() + "': a task has one host, all of its cores");
    }
    if (!found)
      return Status::invalidArgument("'" + binding.planned.str() +
                                     "' cannot be bound: unknown device; the devices of the plan "
                                     "are " +
                                     deviceList(plan));
  }
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (names[i] == names[j])
        return Status::invalidArgument("'" + planned[j].shortStr() + "' and '" +
                                       planned[i].shortStr() + "' of the plan would both run on '" +
                                       names[i].str() + "'; bind each to a device of its own");
  std::vector<std::string> texts;
  for (const DeviceName &name : names)
    texts.push_back(name.str());
  return texts;
}

} // namespace gantry::runtime
