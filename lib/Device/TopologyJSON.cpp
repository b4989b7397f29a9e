// Topologies as JSON: devices and links. What a job adds is in JobJSON.cpp.
#include "TopologyReader.h"

#include <map>

namespace gantry::topology_json {

namespace {
/// What a device is, without its name.
Expected<PhysicalDevice> readKind(Reader &reader, const std::string &place) {
  PhysicalDevice device;
  device.model = reader.text("model");
  device.memory = reader.bytes("memory");
  device.bandwidth = reader.rate("bandwidth");
  device.launch = reader.seconds("launch");
  device.architecture = reader.architecture("architecture");
  std::string driver = reader.text("driver", /*required=*/true);
  bool known = false;
  for (Driver candidate : {Driver::host, Driver::sim, Driver::cuda})
    if (driver == driverName(candidate)) {
      device.driver = candidate;
      known = true;
    }
  if (!known)
    reader.fail("unknown driver '" + driver + "'; the drivers are host, sim and cuda");
  GANTRY_RETURN_IF_ERROR(reader.status);
  const JSON *peak = reader.member("peak_flops");
  if (!peak)
    return device;
  if (!peak->is_object())
    return wrong(place, "'peak_flops' is not an object of element types");
  for (const auto &item : peak->items()) {
    std::optional<ElementType> type = elementTypeNamed(item.key());
    if (!type || !item.value().is_number() || !(item.value().get<double>() > 0))
      return wrong(place, "'peak_flops' has '" + item.key() + "'; it maps the element types " +
                              std::string(elementTypeList()) + " to numbers above 0");
    device.peakFlops[static_cast<size_t>(*type)] = item.value().get<double>();
  }
  return device;
}

/// The physical devices by their names.
using Numbers = std::map<DeviceName, uint32_t>;

Numbers numbersOf(const std::vector<PhysicalDevice> &physical) {
  Numbers numbers;
  for (uint32_t i = 0; i < physical.size(); ++i)
    numbers.emplace(physical[i].name, i);
  return numbers;
}

/// Indices of the physical devices that a key names.
std::vector<uint32_t> physicalIndices(const Numbers &numbers, Reader &reader, const char *key) {
  std::vector<uint32_t> indices;
  for (DeviceName name : reader.devices(key)) {
    name.physical = true;
    auto found = numbers.find(name);
    if (found == numbers.end())
      reader.fail(std::string("'") + key + "' names no physical device: '" + name.str() + "'");
    else
      indices.push_back(found->second);
  }
  return indices;
}

Status readLogical(const Numbers &numbers, const JSON &json, const std::string &place,
                   std::vector<LogicalDevice> &devices) {
  Reader reader(json, place, {"name", "physical", "limit"});
  LogicalDevice device;
  device.name = reader.device("name");
  const std::vector<uint32_t> on = physicalIndices(numbers, reader, "physical");
  device.limit = reader.bytes("limit");
  if (on.size() > 1)
    reader.fail("'physical' is several devices");
  GANTRY_RETURN_IF_ERROR(reader.status);
  device.physical = on.front();
  devices.push_back(std::move(device));
  return {};
}
} // namespace

Status readPhysicals(const JSON *list, std::string_view place,
                     std::vector<PhysicalDevice> &devices) {
  return readList(list, std::string(place), [&](const JSON &json, const std::string &at) -> Status {
    Reader reader(
        json, at,
        {"name", "driver", "model", "architecture", "memory", "bandwidth", "launch", "peak_flops"});
    const std::vector<DeviceName> names = reader.devices("name");
    Expected<PhysicalDevice> device = readKind(reader, at);
    if (!device)
      return device.status();
    for (const DeviceName &name : names) {
      device->name = name;
      device->name.physical = true;
      devices.push_back(*device);
    }
    return {};
  });
}

Status readLinks(const JSON *list, std::string_view place,
                 const std::vector<PhysicalDevice> &physical, std::vector<Link> &links) {
  const Numbers numbers = numbersOf(physical);
  return readList(list, std::string(place), [&](const JSON &json, const std::string &at) -> Status {
    Reader reader(json, at, {"from", "to", "bandwidth", "latency"});
    const std::vector<uint32_t> from = physicalIndices(numbers, reader, "from");
    const std::vector<uint32_t> to = physicalIndices(numbers, reader, "to");
    const double bandwidth = reader.rate("bandwidth");
    const double latency = reader.seconds("latency");
    GANTRY_RETURN_IF_ERROR(reader.status);
    const bool isOne = from.size() == 1 && to.size() == 1;
    for (uint32_t a : from)
      for (uint32_t b : to)
        if (isOne || a != b)
          links.push_back({a, b, bandwidth, latency});
    return {};
  });
}

namespace {
/// Reads to the first byte that is not JSON.
struct ErrorFinder : nlohmann::json_sax<JSON> {
  size_t position = 0;
  bool isOverflow = false; ///< it is JSON, of a number that a double cannot hold
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t &) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t at, const std::string &,
                   const nlohmann::detail::exception &error) override {
    constexpr int numberOverflow = 406;
    position = at;
    isOverflow = error.id == numberOverflow;
    return false;
  }
};

/// "this is not JSON, see line 3, column 7"; without the place for an empty text.
std::string whyNotJSON(std::string_view text) {
  ErrorFinder finder;
  if (text.empty() || JSON::sax_parse(text, &finder))
    return "this is not JSON";
  // The position is that of the last byte read, counted from 1.
  std::string_view before = text.substr(0, std::min(finder.position, text.size()));
  before.remove_suffix(before.empty() ? 0 : 1);
  size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  size_t column = before.size() - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
  return std::string(finder.isOverflow ? "a number is beyond 1.8e308" : "this is not JSON") +
         ", see line " + std::to_string(line) + ", column " + std::to_string(column);
}
} // namespace

} // namespace gantry::topology_json

namespace gantry {

using namespace topology_json;

Expected<Topology> Topology::fromJSON(std::string_view text) {
  JSON json = JSON::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Status::corrupt("topology: " + whyNotJSON(text));
  if (json.is_object())
    json.erase("$schema"); // for editors
  Reader reader(json, "file", {"physical", "logical", "links", "kinds", "tasks", "network"});
  GANTRY_RETURN_IF_ERROR(reader.status);
  Topology topology;
  GANTRY_RETURN_IF_ERROR(readPhysicals(reader.member("physical"), "physical", topology.physical));
  GANTRY_RETURN_IF_ERROR(readJob(json, topology));
  const JSON *logical = reader.member("logical");
  const Numbers numbers = numbersOf(topology.physical);
  GANTRY_RETURN_IF_ERROR(
      readList(logical, "logical", [&](const JSON &element, const std::string &place) {
        return readLogical(numbers, element, place, topology.logical);
      }));
  // D4: one to one by default.
  for (uint32_t i = 0; !logical && i < topology.physical.size(); ++i) {
    DeviceName name = topology.physical[i].name;
    name.physical = false;
    topology.logical.push_back({name, i, 0});
  }
  std::stable_sort(topology.logical.begin(), topology.logical.end(),
                   [](const LogicalDevice &a, const LogicalDevice &b) { return a.name < b.name; });
  GANTRY_RETURN_IF_ERROR(
      readLinks(reader.member("links"), "links", topology.physical, topology.links));
  GANTRY_RETURN_IF_ERROR(topology.check());
  return topology;
}

std::string Topology::toJSON() const {
  JSON json = {{"physical", JSON::array()}, {"logical", JSON::array()}, {"links", JSON::array()}};
  for (const PhysicalDevice &device : physical) {
    JSON entry = {{"name", device.name.str()}, {"driver", driverName(device.driver)}};
    if (!device.model.empty())
      entry["model"] = device.model;
    if (device.architecture)
      entry["architecture"] = gpuArchName(device.architecture);
    if (device.memory)
      entry["memory"] = device.memory;
    if (device.bandwidth != 0)
      entry["bandwidth"] = device.bandwidth;
    if (device.launch != 0)
      entry["launch"] = device.launch;
    for (unsigned i = 0; i < numElementTypes; ++i)
      if (device.peakFlops[i] != 0)
        entry["peak_flops"][std::string(elementTypeName(static_cast<ElementType>(i)))] =
            device.peakFlops[i];
    json["physical"].push_back(std::move(entry));
  }
  for (const LogicalDevice &device : logical) {
    JSON entry = {{"name", device.name.str()}, {"physical", physical[device.physical].name.str()}};
    if (device.limit)
      entry["limit"] = device.limit;
    json["logical"].push_back(std::move(entry));
  }
  for (const Link &link : links) {
    JSON entry = {{"from", physical[link.from].name.str()}, {"to", physical[link.to].name.str()}};
    if (link.bandwidth != 0)
      entry["bandwidth"] = link.bandwidth;
    entry["latency"] = link.latency;
    json["links"].push_back(std::move(entry));
  }
  writeJob(*this, json);
  // A model name from a driver need not be UTF-8.
  return json.dump(2, ' ', false, JSON::error_handler_t::replace) + "\n";
}

} // namespace gantry
