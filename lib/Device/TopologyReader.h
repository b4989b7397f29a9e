// Reading JSON of topologies. The library is built without exceptions, so that nlohmann-json would
// abort on a wrong type or key: every access here asks for the type first. Unknown keys are
// refused: a misspelt "limti" must not mean "no limit".
#pragma once

#include "gantry/Device/GPUArch.h"
#include "gantry/Device/NameRanges.h"
#include "gantry/Device/Topology.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Capped.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

namespace gantry::topology_json {

using JSON = nlohmann::ordered_json;

inline Status wrong(const std::string &place, const std::string &what) {
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
    const std::vector<DeviceName> named = devices(key);
    if (named.size() > 1)
      fail("'" + text(key) + "' does not name one device");
    return named.size() == 1 ? named.front() : DeviceName();
  }

  /// The same of a name with ranges.
  std::vector<DeviceName> devices(const char *key) {
    std::string written = text(key, /*required=*/true);
    if (!status.ok())
      return {};
    Expected<std::vector<DeviceName>> names = expandDevices(written);
    if (!names) {
      fail(names.status().message());
      return {};
    }
    for (DeviceName &name : *names) {
      if (!name.type || !name.id) {
        fail("'" + written + "' does not name one device");
        return {};
      }
      name = name.withDefaultTask();
    }
    return names.take();
  }

  /// A text with ranges, or a list of such texts.
  std::vector<std::string> names(const char *key) {
    const JSON *value = member(key);
    std::vector<std::string> all;
    if (!value)
      fail(std::string("the key '") + key + "' is missing");
    else if (!value->is_string() && !value->is_array())
      fail(std::string("'") + key + "' is not a name or a list of names");
    for (size_t i = 0; status.ok() && i < (value->is_array() ? value->size() : 1); ++i) {
      const JSON &each = value->is_array() ? (*value)[i] : *value;
      if (!each.is_string()) {
        fail(std::string("'") + key + "' is not a name or a list of names");
        break;
      }
      Expected<std::vector<std::string>> names = expandRanges(*each.get_ptr<const std::string *>());
      if (!names)
        fail(names.status().message());
      else
        all.insert(all.end(), names->begin(), names->end());
    }
    return all;
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

/// Reads each element of a list that may be missing, with its place.
template <typename Read>
Status readList(const JSON *list, const std::string &name, Read read) {
  if (!list)
    return {};
  if (!list->is_array())
    return wrong(name, "expected a list");
  size_t index = 0;
  for (const JSON &element : *list)
    GANTRY_RETURN_IF_ERROR(read(element, name + "[" + std::to_string(index++) + "]"));
  return {};
}

/// "physical" of a file or a kind: devices whose names may be ranges.
Status readPhysicals(const JSON *list, std::string_view place,
                     std::vector<PhysicalDevice> &devices);

/// "links" of a file or a kind, where all devices of `from` are joined with all of `to`; the
/// devices are those of `physical`, by their names.
Status readLinks(const JSON *list, std::string_view place,
                 const std::vector<PhysicalDevice> &physical, std::vector<Link> &links);

/// "kinds", "tasks" and "network": adds the devices of tasks to those that are there.
Status readJob(const JSON &file, Topology &topology);

/// The same of a topology that has tasks.
void writeJob(const Topology &topology, JSON &file);

} // namespace gantry::topology_json
