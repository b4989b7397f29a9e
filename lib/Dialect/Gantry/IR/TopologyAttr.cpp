// #gantry.topology to and from gantry::Topology.
//
// The attribute is the topology's tables as dictionaries: any text that MLIR parses comes in here,
// so every key is asked for by name and type, unknown keys are refused (a misspelt "limti" must not
// mean "no limit"), and Topology::check has the last word. A module whose attribute was verified
// can be read without looking for errors again.

#include "gantry/Dialect/Gantry/IR/Gantry.h"

#include "gantry/Device/Topology.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gantry;

static DeviceName fullName(DeviceAttr device) { return device.getName().withDefaultTask(); }

/// What the devices alone say: one to one, hosts and simulated GPUs.
static Topology shortForm(ArrayRef<DeviceAttr> devices) {
  Topology topology;
  for (auto [i, device] : llvm::enumerate(devices)) {
    DeviceName name = fullName(device);
    topology.logical.push_back({name, uint32_t(i), 0});
    name.physical = true;
    PhysicalDevice physical;
    physical.name = name;
    physical.driver = name.type == DeviceType::CPU ? Driver::host : Driver::sim;
    topology.physical.push_back(std::move(physical));
  }
  return topology;
}

//===----------------------------------------------------------------------===//
// From the attribute
//===----------------------------------------------------------------------===//

namespace {
using EmitError = function_ref<InFlightDiagnostic()>;

/// Reads one dictionary of the details; `place` says which in errors.
struct Entry {
  DictionaryAttr dict;
  std::string place;
  EmitError emitError;

  LogicalResult checkKeys(ArrayRef<StringRef> known) {
    for (NamedAttribute attr : dict)
      if (!llvm::is_contained(known, attr.getName().getValue()))
        return emitError() << place << " of the topology has the unknown key '"
                           << attr.getName().getValue() << "'; the keys are "
                           << llvm::join(known, ", ");
    return success();
  }

  template <typename Attr, typename Set>
  LogicalResult read(StringRef key, StringRef what, Set set) {
    Attribute value = dict.get(key);
    if (!value)
      return success();
    if (auto typed = dyn_cast<Attr>(value))
      if (succeeded(set(typed)))
        return success();
    return emitError() << place << " of the topology: '" << key << "' must be " << what << ", got "
                       << value;
  }

  LogicalResult readText(StringRef key, std::string &text) {
    return read<StringAttr>(key, "a string", [&](StringAttr attr) {
      text = attr.str();
      return success();
    });
  }
  template <typename Number>
  LogicalResult readCount(StringRef key, Number &number) {
    return read<IntegerAttr>(key, "an integer from 0 on", [&](IntegerAttr attr) {
      const APInt &value = attr.getValue();
      if (value.isNegative() || value.getActiveBits() > 8 * sizeof(Number))
        return failure();
      number = static_cast<Number>(value.getZExtValue());
      return success();
    });
  }
  LogicalResult readRate(StringRef key, double &rate) {
    return read<FloatAttr>(key, "a float from 0 on", [&](FloatAttr attr) {
      rate = attr.getValueAsDouble();
      return success(rate >= 0);
    });
  }
};

struct DetailsReader {
  DictionaryAttr details;
  EmitError emitError;
  Topology topology;

  LogicalResult readAll(ArrayRef<DeviceAttr> devices) {
    Entry entry{details, "the details", emitError};
    if (failed(entry.checkKeys({"physical", "logical", "links", "tasks", "hosts", "network"})))
      return failure();
    if (failed(readList("physical", [&](Entry e) { return readPhysical(e); })))
      return failure();
    for (DeviceAttr device : devices)
      topology.logical.push_back({fullName(device), 0, 0});
    size_t next = 0;
    if (failed(readList("logical", [&](Entry e) { return readLogical(e, next++); })))
      return failure();
    if (next != devices.size())
      return emitError() << "the topology has " << devices.size() << " devices and details of "
                         << next << " in 'logical'";
    if (failed(readList("links", [&](Entry e) { return readLink(e); })) ||
        failed(readList(
            "hosts", [&](Entry e) { return e.readText("name", topology.hosts.emplace_back()); })) ||
        failed(readList("tasks", [&](Entry e) { return readTask(e); })))
      return failure();
    return readNetwork();
  }

  LogicalResult readList(StringRef key, function_ref<LogicalResult(Entry)> readOne) {
    Attribute attr = details.get(key);
    if (!attr)
      return success();
    auto list = dyn_cast<ArrayAttr>(attr);
    if (!list)
      return emitError() << "'" << key << "' of the topology must be a list, got " << attr;
    for (auto [i, element] : llvm::enumerate(list)) {
      std::string place = (key + "[" + Twine(i) + "]").str();
      auto dict = dyn_cast<DictionaryAttr>(element);
      if (!dict)
        return emitError() << place << " of the topology must be a dictionary, got " << element;
      if (failed(readOne({dict, place, emitError})))
        return failure();
    }
    return success();
  }

  LogicalResult readPhysical(Entry entry) {
    PhysicalDevice device;
    std::string name, driver;
    if (failed(entry.checkKeys({"name", "driver", "model", "architecture", "memory", "bandwidth",
                                "launch", "peak_flops"})) ||
        failed(entry.readText("name", name)) || failed(entry.readText("driver", driver)) ||
        failed(entry.readText("model", device.model)) ||
        failed(entry.readCount("memory", device.memory)) ||
        failed(entry.readCount("architecture", device.architecture)) ||
        failed(entry.readRate("bandwidth", device.bandwidth)) ||
        failed(entry.readRate("launch", device.launch)) || failed(readPeaks(entry, device)))
      return failure();
    FailureOr<DeviceName> parsed = readDeviceName(name, [&]() -> InFlightDiagnostic {
      return emitError() << entry.place << " of the topology: ";
    });
    if (failed(parsed))
      return failure();
    device.name = parsed->withDefaultTask();
    device.name.physical = true;
    for (Driver candidate : {Driver::host, Driver::sim, Driver::cuda})
      if (driver == driverName(candidate)) {
        device.driver = candidate;
        topology.physical.push_back(std::move(device));
        return success();
      }
    return emitError() << entry.place << " of the topology: unknown driver '" << driver
                       << "'; the drivers are host, sim and cuda";
  }

  LogicalResult readPeaks(Entry entry, PhysicalDevice &device) {
    return entry.read<DictionaryAttr>(
        "peak_flops", "a dictionary of element types with floats from 0 on",
        [&](DictionaryAttr peaks) {
          for (NamedAttribute peak : peaks) {
            std::optional<ElementType> type = elementTypeNamed(peak.getName().strref());
            auto rate = dyn_cast<FloatAttr>(peak.getValue());
            if (!type || !rate || !(rate.getValueAsDouble() >= 0))
              return failure();
            device.peakFlops[size_t(*type)] = rate.getValueAsDouble();
          }
          return success();
        });
  }

  LogicalResult readLogical(Entry entry, size_t index) {
    LogicalDevice unlisted; // one more than there are names; counted by the caller
    LogicalDevice &device = index < topology.logical.size() ? topology.logical[index] : unlisted;
    return success(succeeded(entry.checkKeys({"physical", "limit"})) &&
                   succeeded(entry.readCount("physical", device.physical)) &&
                   succeeded(entry.readCount("limit", device.limit)));
  }

  LogicalResult readTask(Entry entry) {
    std::string name;
    JobTask task;
    if (failed(entry.checkKeys({"name", "host"})) || failed(entry.readText("name", name)) ||
        failed(entry.readCount("host", task.host)))
      return failure();
    Expected<TaskName> parsed = TaskName::parse(name);
    if (!parsed)
      return emitError() << entry.place << " of the topology: " << parsed.status().message();
    topology.tasks.push_back({parsed.take(), task.host});
    return success();
  }

  LogicalResult readNetwork() {
    auto dict = details.getAs<DictionaryAttr>("network");
    if (!dict)
      return success();
    Entry entry{dict, "network", emitError};
    Network &network = topology.network.emplace();
    network.joinsGPUs = dict.contains("gpus");
    if (failed(entry.checkKeys(
            {"bandwidth", "latency", "inside_bandwidth", "inside_latency", "gpus", "links"})) ||
        failed(entry.readRate("bandwidth", network.bandwidth)) ||
        failed(entry.readRate("latency", network.latency)) ||
        failed(entry.readRate("inside_bandwidth", network.insideBandwidth)) ||
        failed(entry.readRate("inside_latency", network.insideLatency)))
      return failure();
    return DetailsReader{dict, emitError, {}}.readList("links", [&](Entry e) {
      HostLink &link = network.links.emplace_back();
      auto readHosts = [&](StringRef key, std::vector<uint32_t> &hosts) {
        return e.read<DenseI32ArrayAttr>(key, "an array of numbers", [&](DenseI32ArrayAttr list) {
          hosts.assign(list.asArrayRef().begin(), list.asArrayRef().end());
          return success();
        });
      };
      return success(succeeded(e.checkKeys({"from", "to", "bandwidth", "latency"})) &&
                     succeeded(readHosts("from", link.from)) &&
                     succeeded(readHosts("to", link.to)) &&
                     succeeded(e.readRate("bandwidth", link.bandwidth)) &&
                     succeeded(e.readRate("latency", link.latency)));
    });
  }

  LogicalResult readLink(Entry entry) {
    Link link;
    topology.links.push_back(link);
    Link &added = topology.links.back();
    return success(succeeded(entry.checkKeys({"from", "to", "bandwidth", "latency"})) &&
                   succeeded(entry.readCount("from", added.from)) &&
                   succeeded(entry.readCount("to", added.to)) &&
                   succeeded(entry.readRate("bandwidth", added.bandwidth)) &&
                   succeeded(entry.readRate("latency", added.latency)));
  }
};
} // namespace

static FailureOr<Topology> readTopology(ArrayRef<DeviceAttr> devices, DictionaryAttr details,
                                        EmitError emitError) {
  if (!details)
    return shortForm(devices);
  DetailsReader reader{details, emitError, {}};
  if (failed(reader.readAll(devices)))
    return failure();
  return std::move(reader.topology);
}

LogicalResult TopologyAttr::verify(EmitError emitError, ArrayRef<DeviceAttr> devices,
                                   DictionaryAttr details) {
  llvm::SmallDenseSet<DeviceAttr> known;
  for (DeviceAttr device : devices) {
    if (!fullName(device).isFull())
      return emitError() << "device '" << device.getSpelling()
                         << "' of the topology needs a type and an id, as in /device:GPU:0";
    if (!known.insert(device).second)
      return emitError() << "device '" << device.getSpelling() << "' stands twice in the topology";
  }
  FailureOr<Topology> topology = readTopology(devices, details, emitError);
  if (failed(topology))
    return failure();
  if (Status status = topology->check(); !status.ok())
    return emitError() << status.message();
  return success();
}

Topology gantry::getTopology(ModuleOp module) {
  auto attr = module->getAttrOfType<TopologyAttr>(kTopologyAttr);
  if (!attr)
    return Topology::hostOnly();
  return *readTopology(attr.getDevices(), attr.getDetails(),
                       [&] { return module.emitError("the topology was not verified: "); });
}

//===----------------------------------------------------------------------===//
// To the attribute
//===----------------------------------------------------------------------===//

namespace {
/// One dictionary; what is not known is left out.
struct EntryBuilder {
  Builder builder;
  SmallVector<NamedAttribute> fields;

  void add(StringRef key, Attribute value) { fields.push_back(builder.getNamedAttr(key, value)); }
  void addText(StringRef key, StringRef text) {
    if (!text.empty())
      add(key, builder.getStringAttr(text));
  }
  void addCount(StringRef key, uint64_t count) {
    if (count)
      addIndex(key, count);
  }
  void addIndex(StringRef key, uint64_t index) {
    add(key, builder.getI64IntegerAttr(int64_t(index)));
  }
  void addRate(StringRef key, double rate) {
    if (rate != 0)
      add(key, builder.getF64FloatAttr(rate));
  }
  DictionaryAttr dict() { return builder.getDictionaryAttr(fields); }
};

struct DetailsBuilder {
  Builder builder;

  EntryBuilder entry() const { return {builder, {}}; }

  Attribute physical(const PhysicalDevice &device) const {
    EntryBuilder fields = entry(), peaks = entry();
    fields.addText("name", device.name.str());
    fields.addText("driver", driverName(device.driver));
    fields.addText("model", device.model);
    fields.addCount("architecture", device.architecture);
    fields.addCount("memory", device.memory);
    fields.addRate("bandwidth", device.bandwidth);
    fields.addRate("launch", device.launch);
    for (unsigned i = 0; i < numElementTypes; ++i)
      peaks.addRate(elementTypeName(ElementType(i)), device.peakFlops[i]);
    if (!peaks.fields.empty())
      fields.add("peak_flops", peaks.dict());
    return fields.dict();
  }

  Attribute logical(const LogicalDevice &device) const {
    EntryBuilder fields = entry();
    fields.addIndex("physical", device.physical);
    fields.addCount("limit", device.limit);
    return fields.dict();
  }

  Attribute link(const Link &link) const {
    EntryBuilder fields = entry();
    fields.addIndex("from", link.from);
    fields.addIndex("to", link.to);
    fields.addRate("bandwidth", link.bandwidth);
    fields.addRate("latency", link.latency);
    return fields.dict();
  }

  DictionaryAttr all(const Topology &topology) const {
    SmallVector<Attribute> physicals, logicals, links;
    for (const PhysicalDevice &device : topology.physical)
      physicals.push_back(physical(device));
    for (const LogicalDevice &device : topology.logical)
      logicals.push_back(logical(device));
    for (const Link &each : topology.links)
      links.push_back(link(each));
    EntryBuilder details = entry();
    details.add("physical", details.builder.getArrayAttr(physicals));
    details.add("logical", details.builder.getArrayAttr(logicals));
    if (!links.empty())
      details.add("links", details.builder.getArrayAttr(links));
    addJob(topology, details);
    return details.dict();
  }

  void addJob(const Topology &topology, EntryBuilder &details) const {
    SmallVector<Attribute> tasks, hosts;
    for (const std::string &name : topology.hosts) {
      EntryBuilder fields = entry();
      fields.addText("name", name);
      hosts.push_back(fields.dict());
    }
    for (const JobTask &task : topology.tasks) {
      EntryBuilder fields = entry();
      fields.addText("name", task.name.str());
      fields.addIndex("host", task.host);
      tasks.push_back(fields.dict());
    }
    if (!tasks.empty()) {
      details.add("hosts", details.builder.getArrayAttr(hosts));
      details.add("tasks", details.builder.getArrayAttr(tasks));
    }
    if (topology.network)
      details.add("network", network(*topology.network));
  }

  DictionaryAttr network(const Network &network) const {
    EntryBuilder fields = entry();
    fields.addRate("bandwidth", network.bandwidth);
    fields.addRate("latency", network.latency);
    fields.addRate("inside_bandwidth", network.insideBandwidth);
    fields.addRate("inside_latency", network.insideLatency);
    if (network.joinsGPUs)
      fields.addText("gpus", "nccl");
    SmallVector<Attribute> links;
    for (const HostLink &link : network.links) {
      EntryBuilder each = entry();
      auto addHosts = [&](StringRef key, const std::vector<uint32_t> &hosts) {
        SmallVector<int32_t> numbers(hosts.begin(), hosts.end());
        each.add(key, each.builder.getDenseI32ArrayAttr(numbers));
      };
      addHosts("from", link.from);
      addHosts("to", link.to);
      each.addRate("bandwidth", link.bandwidth);
      each.addRate("latency", link.latency);
      links.push_back(each.dict());
    }
    if (!links.empty())
      fields.add("links", fields.builder.getArrayAttr(links));
    return fields.dict();
  }
};
} // namespace

void gantry::setTopology(ModuleOp module, const Topology &topology) {
  MLIRContext *context = module.getContext();
  SmallVector<DeviceAttr> devices;
  for (const LogicalDevice &device : topology.logical)
    devices.push_back(DeviceAttr::get(context, device.name));
  DictionaryAttr details;
  if (topology != shortForm(devices))
    details = DetailsBuilder{Builder(context)}.all(topology);
  module->setAttr(kTopologyAttr, TopologyAttr::get(context, devices, details));
}
