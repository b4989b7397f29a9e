// The C API of what the machine has: what was read, behind accessors. Nothing is decided here.
#include "gantry-c/machine.h"

#include "Info.h"

#include "gantry/Device/CostModel.h"
#include "gantry/Machine/Calibrate.h"
#include "gantry/Machine/Libraries.h"
#include "gantry/Machine/Machine.h"

using namespace gantry;
using namespace gantry::capi;

struct gantry_machine_t {
  machine::Machine object;
  std::vector<machine::LibraryReport> libraries;
  std::vector<std::string> names, physicalNames; ///< by logical device
  std::string json;
};

gantry_status_t gantry_machine_read(gantry_machine_t **machine) {
  clear(machine);
  GANTRY_NEED(machine);
  auto *read = new gantry_machine_t{machine::readMachine(), machine::findLibraries(), {}, {}, {}};
  const Topology &topology = read->object.topology;
  for (const LogicalDevice &device : topology.logical) {
    read->names.push_back(device.name.str());
    read->physicalNames.push_back(topology.physical[device.physical].name.str());
  }
  read->json = topology.toJSON();
  *machine = read;
  return GANTRY_OK;
}

void gantry_machine_destroy(gantry_machine_t *machine) { delete machine; }

gantry_status_t gantry_machine_calibrate(gantry_machine_t *machine, uint32_t threads) {
  GANTRY_NEED(machine);
  Topology &topology = machine->object.topology;
  machine::applyRates(machine::measureHost(threads), topology);
  Status ofGPUs = machine::measureGPUs(topology, threads);
  machine->json = topology.toJSON();
  return finish(std::move(ofGPUs));
}

const char *gantry_machine_topology(const gantry_machine_t *machine) {
  return machine ? machine->json.c_str() : nullptr;
}

size_t gantry_machine_num_devices(const gantry_machine_t *machine) {
  return machine ? machine->names.size() : 0;
}

gantry_status_t gantry_machine_device(const gantry_machine_t *machine, size_t index,
                                      gantry_machine_device_t *device) {
  GANTRY_NEED(machine && device);
  if (index >= machine->names.size())
    return noSuch("device", index, machine->names.size());
  const Topology &topology = machine->object.topology;
  uint32_t number = topology.logical[index].physical;
  const PhysicalDevice &physical = topology.physical[number];
  const machine::DeviceDetails &details = machine->object.details[number];
  return give({0, machine->names[index].c_str(), machine->physicalNames[index].c_str(),
               driverName(physical.driver).data(), physical.model.c_str(), details.uuid.c_str(),
               details.pci.c_str(), physical.memory, details.free,
               physical.peakFlops[static_cast<size_t>(ElementType::f32)], physical.bandwidth,
               physical.architecture, physical.launch},
              device, "gantry_machine_device_t");
}

gantry_status_t gantry_machine_link(const gantry_machine_t *machine, size_t from, size_t to,
                                    gantry_machine_link_t *link) {
  GANTRY_NEED(machine && link);
  size_t count = machine->names.size();
  if (from >= count || to >= count)
    return noSuch("device", std::max(from, to), count);
  const Topology &topology = machine->object.topology;
  machine::CopyRates rates = machine::copyRates(topology, static_cast<uint32_t>(from),
                                                static_cast<uint32_t>(to), machine->object.assumed);
  return give({0, rates.bandwidth, rates.latency, rates.isGiven}, link, "gantry_machine_link_t");
}

size_t gantry_machine_num_libraries(const gantry_machine_t *machine) {
  return machine ? machine->libraries.size() : 0;
}

gantry_status_t gantry_machine_library(const gantry_machine_t *machine, size_t index,
                                       gantry_machine_library_t *library) {
  GANTRY_NEED(machine && library);
  if (index >= machine->libraries.size())
    return noSuch("library", index, machine->libraries.size());
  const machine::LibraryReport &report = machine->libraries[index];
  const char *version = report.version.empty() ? nullptr : report.version.c_str();
  return give({0, report.name.c_str(), version, report.note.c_str()}, library,
              "gantry_machine_library_t");
}
