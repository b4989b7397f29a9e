// The C API of device names and topologies: the one grammar and the one set of flags, behind
// handles. Nothing is decided here.
#include "Topology.h"

#include "Info.h"

#include "gantry/Machine/Machine.h"

#include <optional>

using namespace gantry;
using namespace gantry::capi;

//===----------------------------------------------------------------------===//
// Names of devices
//===----------------------------------------------------------------------===//

struct gantry_device_name_t {
  DeviceName object;
  std::string asGiven, full, brief;

  explicit gantry_device_name_t(DeviceName name)
      : object(std::move(name)), asGiven(object.str()), full(object.withDefaultTask().str()),
        brief(object.shortStr()) {}
};

gantry_status_t gantry_device_name_parse(const char *text, gantry_device_name_t **name) {
  clear(name);
  GANTRY_NEED(text && name);
  Expected<DeviceName> parsed = DeviceName::parse(text);
  if (!parsed)
    return finish(parsed.status());
  *name = new gantry_device_name_t(parsed.take());
  return GANTRY_OK;
}

void gantry_device_name_destroy(gantry_device_name_t *name) { delete name; }

const char *gantry_device_name_print(const gantry_device_name_t *name,
                                     gantry_device_name_form_t form) {
  if (!name)
    return nullptr;
  switch (form) {
  case GANTRY_DEVICE_NAME_AS_GIVEN:
    return name->asGiven.c_str();
  case GANTRY_DEVICE_NAME_FULL:
    return name->full.c_str();
  case GANTRY_DEVICE_NAME_SHORT:
    return name->brief.c_str();
  }
  return nullptr;
}

static int64_t orAny(const std::optional<uint32_t> &number) {
  return number ? int64_t(*number) : -1;
}

gantry_status_t gantry_device_name_parts(const gantry_device_name_t *name,
                                         gantry_device_name_parts_t *parts) {
  GANTRY_NEED(name && parts);
  const DeviceName &from = name->object;
  return give({0, from.job ? from.job->c_str() : nullptr, orAny(from.replica), orAny(from.task),
               from.type ? deviceTypeName(*from.type).data() : nullptr, orAny(from.id),
               from.physical},
              parts, "gantry_device_name_parts_t");
}

gantry_status_t gantry_device_name_merge(const gantry_device_name_t *outer,
                                         const gantry_device_name_t *inner,
                                         gantry_device_name_t **merged) {
  clear(merged);
  GANTRY_NEED(outer && inner && merged);
  *merged = new gantry_device_name_t(mergeScopes(outer->object, inner->object));
  return GANTRY_OK;
}

int gantry_device_name_matches(const gantry_device_name_t *pattern,
                               const gantry_device_name_t *name) {
  return pattern && name && pattern->object.matches(name->object);
}

//===----------------------------------------------------------------------===//
// Making topologies
//===----------------------------------------------------------------------===//

gantry_topology_t::gantry_topology_t(Topology given) : object(std::move(given)) {
  json = object.toJSON();
  for (const PhysicalDevice &device : object.physical)
    physicalNames.push_back(device.name.str());
  for (const LogicalDevice &device : object.logical) {
    names.push_back(device.name.str());
    shortNames.push_back(device.name.shortStr());
  }
}

static gantry_status_t giveTopology(Expected<Topology> made, gantry_topology_t **topology) {
  if (!made)
    return finish(made.status());
  *topology = new gantry_topology_t(made.take());
  return GANTRY_OK;
}

gantry_status_t gantry_topology_of_machine(gantry_topology_t **topology) {
  clear(topology);
  GANTRY_NEED(topology);
  return giveTopology(machine::readMachine().topology, topology);
}

static Expected<TopologyRequest> readFlags(const gantry_topology_flags_t &given) {
  if (given.num_splits != 0 && !given.splits)
    return Status::invalidArgument("gantry_topology_flags_t: splits is a null pointer, and "
                                   "num_splits is " +
                                   std::to_string(given.num_splits));
  TopologyFlags flags;
  flags.devices = given.devices ? given.devices : "";
  flags.visible = given.visible ? given.visible : "";
  for (size_t i = 0; i < given.num_splits; ++i) {
    if (!given.splits[i])
      return Status::invalidArgument("gantry_topology_flags_t: split " + std::to_string(i) +
                                     " is a null pointer");
    flags.splits.push_back(given.splits[i]);
  }
  flags.simulate = given.simulate != 0;
  return TopologyRequest::parse(flags);
}

gantry_status_t gantry_topology_parse(const gantry_topology_flags_t *flags,
                                      const gantry_topology_t *base, gantry_topology_t **topology) {
  clear(topology);
  GANTRY_NEED(flags && topology);
  Expected<gantry_topology_flags_t> given = take(flags, "gantry_topology_flags_t");
  Expected<TopologyRequest> request =
      given ? readFlags(*given) : Expected<TopologyRequest>(given.status());
  if (!request)
    return finish(request.status());
  return giveTopology(request->applyTo(base ? base->object : Topology::hostOnly()), topology);
}

gantry_status_t gantry_topology_from_json(const char *json, gantry_topology_t **topology) {
  clear(topology);
  GANTRY_NEED(json && topology);
  return giveTopology(Topology::fromJSON(json), topology);
}

const char *gantry_topology_to_json(const gantry_topology_t *topology) {
  return topology ? topology->json.c_str() : nullptr;
}

void gantry_topology_destroy(gantry_topology_t *topology) { delete topology; }

//===----------------------------------------------------------------------===//
// Looking at them
//===----------------------------------------------------------------------===//

namespace {

/// Devices of one type, or of all.
class OfType {
public:
  explicit OfType(const char *text) : all(!text) {
    if (!text)
      return;
    Expected<DeviceName> name = DeviceName::parse("/device:" + std::string(text) + ":0");
    if (name)
      type = name->type;
  }

  bool has(DeviceType of) const { return all || type == of; }

  /// "device", "GPU": for messages.
  std::string str() const { return type ? std::string(deviceTypeName(*type)) : "device"; }

private:
  bool all;
  std::optional<DeviceType> type;
};

/// The numbers of the devices that are of the type.
template <typename Devices, typename TypeOf>
std::vector<uint32_t> select(const Devices &devices, const OfType &wanted, TypeOf typeOf) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < devices.size(); ++i)
    if (wanted.has(typeOf(devices[i])))
      numbers.push_back(i);
  return numbers;
}

std::vector<uint32_t> physicalOf(const gantry_topology_t &topology, const OfType &wanted) {
  return select(topology.object.physical, wanted, [](const auto &device) { return device.type(); });
}

std::vector<uint32_t> logicalOf(const gantry_topology_t &topology, const OfType &wanted) {
  return select(topology.object.logical, wanted,
                [](const auto &device) { return *device.name.type; });
}

} // namespace

size_t gantry_topology_num_physical(const gantry_topology_t *topology, const char *type) {
  return topology ? physicalOf(*topology, OfType(type)).size() : 0;
}

size_t gantry_topology_num_logical(const gantry_topology_t *topology, const char *type) {
  return topology ? logicalOf(*topology, OfType(type)).size() : 0;
}

gantry_status_t gantry_topology_physical(const gantry_topology_t *topology, const char *type,
                                         size_t index, gantry_physical_device_t *device) {
  GANTRY_NEED(topology && device);
  const OfType wanted(type);
  const std::vector<uint32_t> numbers = physicalOf(*topology, wanted);
  if (index >= numbers.size())
    return noSuch("physical " + wanted.str(), index, numbers.size());
  const PhysicalDevice &found = topology->object.physical[numbers[index]];
  return give({0, topology->physicalNames[numbers[index]].c_str(),
               deviceTypeName(found.type()).data(), driverName(found.driver).data(),
               found.model.c_str(), found.memory,
               found.peakFlops[static_cast<size_t>(ElementType::f32)], found.bandwidth},
              device, "gantry_physical_device_t");
}

gantry_status_t gantry_topology_logical(const gantry_topology_t *topology, const char *type,
                                        size_t index, gantry_logical_device_t *device) {
  GANTRY_NEED(topology && device);
  const OfType wanted(type);
  const std::vector<uint32_t> numbers = logicalOf(*topology, wanted);
  if (index >= numbers.size())
    return noSuch("logical " + wanted.str(), index, numbers.size());
  const uint32_t number = numbers[index];
  const LogicalDevice &found = topology->object.logical[number];
  const PhysicalDevice &physical = topology->object.physical[found.physical];
  return give({0, topology->names[number].c_str(), topology->shortNames[number].c_str(),
               deviceTypeName(*found.name.type).data(), driverName(physical.driver).data(),
               topology->physicalNames[found.physical].c_str(), topology->object.limitOf(found),
               found.limit != 0},
              device, "gantry_logical_device_t");
}

static Status unknownDevice(const DeviceName &name, const Topology &topology) {
  return Status::notFound("'" + name.withDefaultTask().str() +
                          "': unknown device; the devices are " + topology.deviceList());
}

gantry_status_t gantry_topology_place(const gantry_topology_t *topology, const char *wanted,
                                      int soft, const uint64_t *held, size_t *index) {
  GANTRY_NEED(topology && index);
  Expected<DeviceName> name =
      wanted ? DeviceName::parse(wanted) : Expected<DeviceName>(DeviceName());
  if (!name)
    return finish(name.status());
  const Topology &object = topology->object;
  const std::optional<uint32_t> found =
      object.place(*name, soft != 0, {held, held ? object.logical.size() : 0});
  if (!found)
    return finish(unknownDevice(*name, object));
  *index = *found;
  return GANTRY_OK;
}

gantry_status_t gantry_topology_find(const gantry_topology_t *topology, const char *name,
                                     size_t *index) {
  GANTRY_NEED(topology && name && index);
  Expected<DeviceName> wanted = DeviceName::parse(name);
  if (!wanted)
    return finish(wanted.status());
  const std::vector<LogicalDevice> &logical = topology->object.logical;
  auto found = std::find_if(logical.begin(), logical.end(), [&](const LogicalDevice &device) {
    return wanted->matches(device.name);
  });
  if (found == logical.end())
    return finish(unknownDevice(*wanted, topology->object));
  *index = static_cast<size_t>(found - logical.begin());
  return GANTRY_OK;
}

gantry_status_t gantry_topology_list(const gantry_topology_t *topology, const char *text,
                                     size_t *indices, size_t capacity, size_t *count) {
  GANTRY_NEED(topology && text && count && (indices || capacity == 0));
  Expected<std::vector<DeviceName>> names = topology->object.devicesNamed(text);
  if (!names)
    return finish(names.status());
  for (size_t i = 0; i < names->size(); ++i) {
    const std::optional<uint32_t> found = topology->object.place((*names)[i], /*isSoft=*/false);
    if (!found)
      return finish(unknownDevice((*names)[i], topology->object));
    if (i < capacity)
      indices[i] = *found;
  }
  *count = names->size();
  return GANTRY_OK;
}
