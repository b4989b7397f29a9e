// Topologies as JSON. The library is built without exceptions, so that nlohmann-json would abort on
// a wrong type or key: every access here asks for the type first. Unknown keys are refused: a
// misspelt "limti" must not mean "no limit".
#include "gantry/Device/Topology.h"

#include "gantry/Device/GPUArch.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Capped.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

namespace gantry {

namespace {
using JSON = nlohmann::ordered_json;

Status wrong(const std::string &place, const std::string &what) {
  return Status::invalidArgument("topology: " + place + ": " + what);
}

/// Reads the members of one object; remembers the first thing that is wrong.
class Reader {
public:
  Reader(const JSON &object, std::string place, std::initializer_list<const char *> keys)
      : object(object), place(std::move(place)) {
    if (!object.is_object()) {
      fail("expected an object");
      return;
    }
    std::string known;
    for (const char *key : keys)
      known += (known.empty() ? "" : ", ") + std::string(key);
    for (const auto &item : object.items())
      if (std::none_of(keys.begin(), keys.end(),
                       [&](const char *key) { return item.key() == key; }))
        fail("unknown key '" + item.key() + "'; the keys are " + known);
  }

  const JSON *member(const char *key) const {
    if (!object.is_object())
      return nullptr;
    auto it = object.find(key);
    return it == object.end() ? nullptr : &*it;
  }

  std::string text(const char *key, bool required = false) {
    const JSON *value = member(key);
    if (!value) {
      if (required)
        fail(std::string("the key '") + key + "' is missing");
      return {};
    }
    if (!value->is_string()) {
      fail(std::string("'") + key + "' is not a text");
      return {};
    }
    return *value->get_ptr<const std::string *>();
  }

  /// A time: a number that is not negative.
  double seconds(const char *key) {
    const JSON *value = member(key);
    if (!value)
      return 0;
    double number = value->is_number() ? value->get<double>() : -1;
    if (!(number >= 0)) {
      fail(std::string("'") + key + "' is not a number from 0 on");
      return 0;
    }
    return number;
  }

  /// A rate, which 0 would make endless; 0 when it is not given, which is not known.
  double rate(const char *key) {
    const JSON *value = member(key);
    if (!value)
      return 0;
    double number = value->is_number() ? value->get<double>() : 0;
    if (!(number > 0)) {
      fail(std::string("'") + key + "' is not a number above 0; leave it out when it is not known");
      return 0;
    }
    return number;
  }

  /// A size of at least a byte; 0 when it is not given, which is not known or no limit.
  uint64_t bytes(const char *key) {
    const JSON *value = member(key);
    const uint64_t count = value ? readBytes(*value, key) : 0;
    if (value && count == 0)
      fail(std::string("'") + key + "' is 0 bytes, which holds nothing; leave it out for none");
    return count;
  }

  uint64_t readBytes(const JSON &given, const char *key) {
    const JSON *value = &given;
    if (value->is_number_unsigned()) {
      if (value->get<uint64_t>() > mostBytes)
        fail(std::string("'") + key + "' is over 2^63 - 1 bytes");
      return std::min(value->get<uint64_t>(), mostBytes);
    }
    if (!value->is_string()) {
      fail(std::string("'") + key + "' is not a byte count, like 1073741824 or \"1GiB\"");
      return 0;
    }
    Expected<uint64_t> count = parseByteCount(*value->get_ptr<const std::string *>());
    if (!count) {
      fail(count.status().message());
      return 0;
    }
    return *count;
  }

  /// "sm_90" as 90; what begins otherwise is not a GPU's.
  uint32_t architecture(const char *key) {
    const std::string written = text(key);
    if (written.empty())
      return 0;
    std::optional<uint32_t> number = parseGPUArch(written);
    if (!number)
      fail("'" + std::string(key) + "' is '" + written + "', expected a form like sm_90");
    return number.value_or(0);
  }

  /// A device with type and id; parts that are not given are the default task's.
  DeviceName device(const char *key) {
    std::string written = text(key, /*required=*/true);
    if (!status.ok())
      return {};
    Expected<DeviceName> name = DeviceName::parse(written);
    if (!name) {
      fail(name.status().message());
      return {};
    }
    if (!name->type || !name->id) {
      fail("'" + written + "' does not name one device");
      return {};
    }
    return name->withDefaultTask();
  }

  void fail(const std::string &what) {
    if (status.ok())
      status = wrong(place, what);
  }

  Status status;

private:
  const JSON &object;
  std::string place;
};

Expected<PhysicalDevice> readPhysical(const JSON &json, const std::string &place) {
  Reader reader(
      json, place,
      {"name", "driver", "model", "architecture", "memory", "bandwidth", "launch", "peak_flops"});
  PhysicalDevice device;
  device.name = reader.device("name");
  device.name.physical = true;
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

/// Index of the physical device that a key names.
uint32_t physicalIndex(const Topology &topology, Reader &reader, const char *key) {
  DeviceName name = reader.device(key);
  name.physical = true;
  for (uint32_t i = 0; i < topology.physical.size(); ++i)
    if (topology.physical[i].name == name)
      return i;
  reader.fail(std::string("'") + key + "' names no physical device: '" + name.str() + "'");
  return 0;
}

Expected<LogicalDevice> readLogical(const Topology &topology, const JSON &json,
                                    const std::string &place) {
  Reader reader(json, place, {"name", "physical", "limit"});
  LogicalDevice device;
  device.name = reader.device("name");
  device.physical = physicalIndex(topology, reader, "physical");
  device.limit = reader.bytes("limit");
  GANTRY_RETURN_IF_ERROR(reader.status);
  return device;
}

Expected<Link> readLink(const Topology &topology, const JSON &json, const std::string &place) {
  Reader reader(json, place, {"from", "to", "bandwidth", "latency"});
  Link link;
  link.from = physicalIndex(topology, reader, "from");
  link.to = physicalIndex(topology, reader, "to");
  link.bandwidth = reader.rate("bandwidth");
  link.latency = reader.seconds("latency");
  GANTRY_RETURN_IF_ERROR(reader.status);
  return link;
}

/// Reads each element of a list that may be missing.
template <typename T, typename Read>
Status readList(const JSON *list, const char *name, std::vector<T> &result, Read read) {
  if (!list)
    return {};
  if (!list->is_array())
    return wrong(name, "expected a list");
  size_t index = 0;
  for (const JSON &element : *list) {
    Expected<T> value = read(element, std::string(name) + "[" + std::to_string(index++) + "]");
    if (!value)
      return value.status();
    result.push_back(value.take());
  }
  return {};
}
} // namespace

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

Expected<Topology> Topology::fromJSON(std::string_view text) {
  JSON json = JSON::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Status::corrupt("topology: " + whyNotJSON(text));
  if (json.is_object())
    json.erase("$schema"); // for editors
  Reader reader(json, "file", {"physical", "logical", "links"});
  GANTRY_RETURN_IF_ERROR(reader.status);
  Topology topology;
  GANTRY_RETURN_IF_ERROR(
      readList(reader.member("physical"), "physical", topology.physical, readPhysical));
  const JSON *logical = reader.member("logical");
  GANTRY_RETURN_IF_ERROR(readList(logical, "logical", topology.logical,
                                  [&](const JSON &element, const std::string &place) {
                                    return readLogical(topology, element, place);
                                  }));
  // D4: one to one by default.
  for (uint32_t i = 0; !logical && i < topology.physical.size(); ++i) {
    DeviceName name = topology.physical[i].name;
    name.physical = false;
    topology.logical.push_back({name, i, 0});
  }
  std::stable_sort(topology.logical.begin(), topology.logical.end(),
                   [](const LogicalDevice &a, const LogicalDevice &b) { return a.name < b.name; });
  GANTRY_RETURN_IF_ERROR(readList(reader.member("links"), "links", topology.links,
                                  [&](const JSON &element, const std::string &place) {
                                    return readLink(topology, element, place);
                                  }));
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
  // A model name from a driver need not be UTF-8.
  return json.dump(2, ' ', false, JSON::error_handler_t::replace) + "\n";
}

} // namespace gantry
