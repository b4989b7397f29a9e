// What a file says of a job: kinds of tasks, which task is of which kind and on which host, and the
// network between hosts. What is alike is written once, and stands for each.
#include "TopologyReader.h"

#include <map>

namespace gantry::topology_json {

namespace {
/// What every task of a kind has; names are those of the default task.
struct Kind {
  std::vector<PhysicalDevice> physical;
  std::vector<Link> links;
};

struct JobReader {
  Topology &topology;
  std::map<std::string, Kind> kinds;
  std::map<std::string, uint32_t> hosts;
  struct Listed {
    TaskName name;
    const Kind *kind = nullptr;
    std::string host;
  };
  std::vector<Listed> tasks;

  Status readKinds(const JSON *json) {
    if (!json)
      return {};
    if (!json->is_object())
      return wrong("kinds", "expected an object of kinds of tasks, by name");
    for (const auto &item : json->items()) {
      const std::string place = "kinds." + item.key();
      Reader reader(item.value(), place, {"physical", "links"});
      GANTRY_RETURN_IF_ERROR(reader.status);
      Kind &kind = kinds[item.key()];
      GANTRY_RETURN_IF_ERROR(
          readPhysicals(reader.member("physical"), place + ".physical", kind.physical));
      GANTRY_RETURN_IF_ERROR(
          readLinks(reader.member("links"), place + ".links", kind.physical, kind.links));
      for (const PhysicalDevice &device : kind.physical)
        if (taskOf(device.name) != TaskName())
          return wrong(place, "'" + device.name.str() +
                                  "' names a task; devices of a kind are those of each of its "
                                  "tasks, like GPU:0");
    }
    return {};
  }

  Status addTasks(const JSON &json, const std::string &place) {
    Reader reader(json, place, {"name", "kind", "host"});
    const std::vector<std::string> names = reader.names("name");
    const std::vector<std::string> on =
        reader.member("host") ? reader.names("host") : std::vector<std::string>{"localhost"};
    const std::string kindName = reader.text("kind");
    auto kind = kinds.find(kindName);
    if (!kindName.empty() && kind == kinds.end())
      reader.fail("unknown kind '" + kindName + "'");
    GANTRY_RETURN_IF_ERROR(reader.status);
    if (on.size() != 1 && on.size() != names.size())
      return wrong(place, "there are " + std::to_string(names.size()) + " tasks and " +
                              std::to_string(on.size()) +
                              " hosts; give as many hosts, or one for all");
    for (size_t i = 0; i < names.size(); ++i) {
      Expected<TaskName> name = TaskName::parse(names[i]);
      if (!name)
        return wrong(place, name.status().message());
      tasks.push_back(
          {name.take(), kind == kinds.end() ? nullptr : &kind->second, on[on.size() == 1 ? 0 : i]});
    }
    return {};
  }

  /// Devices and links of each task, in the order of their names.
  Status giveDevices() {
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const Listed &a, const Listed &b) { return a.name < b.name; });
    size_t devices = topology.physical.size();
    for (const Listed &task : tasks)
      devices += task.kind ? task.kind->physical.size() : 0;
    if (devices > maxDevices)
      return wrong("tasks", "they have " + std::to_string(devices) + " devices; at most " +
                                std::to_string(maxDevices) + " are supported");
    for (const Listed &task : tasks) {
      auto [host, isNew] = hosts.try_emplace(task.host, uint32_t(topology.hosts.size()));
      if (isNew)
        topology.hosts.push_back(task.host);
      topology.tasks.push_back({task.name, host->second});
      if (!task.kind)
        continue;
      const auto first = static_cast<uint32_t>(topology.physical.size());
      for (PhysicalDevice device : task.kind->physical) {
        device.name = task.name.device(*device.name.type, *device.name.id);
        device.name.physical = true;
        topology.physical.push_back(std::move(device));
      }
      for (const Link &link : task.kind->links)
        topology.links.push_back(
            {first + link.from, first + link.to, link.bandwidth, link.latency});
    }
    return {};
  }

  std::vector<uint32_t> hostsNamed(Reader &reader, const char *key) const {
    std::vector<uint32_t> found;
    for (const std::string &name : reader.names(key)) {
      auto host = hosts.find(name);
      if (host == hosts.end())
        reader.fail("'" + std::string(key) + "' names '" + name +
                    "', which is the host of no task");
      else
        found.push_back(host->second);
    }
    return found;
  }

  Status readNetwork(const JSON *json) {
    if (!json)
      return {};
    Reader reader(*json, "network", {"bandwidth", "latency", "inside", "gpus", "links"});
    Network network;
    network.bandwidth = reader.rate("bandwidth");
    network.latency = reader.seconds("latency");
    const std::string gpus = reader.text("gpus");
    if (!gpus.empty() && gpus != "nccl")
      reader.fail("'gpus' is '" + gpus + "'; the one mover of GPUs' bytes that is known is nccl");
    network.joinsGPUs = gpus == "nccl";
    GANTRY_RETURN_IF_ERROR(reader.status);
    if (const JSON *within = reader.member("inside")) {
      Reader inside(*within, "network.inside", {"bandwidth", "latency"});
      network.insideBandwidth = inside.rate("bandwidth");
      network.insideLatency = inside.seconds("latency");
      GANTRY_RETURN_IF_ERROR(inside.status);
    }
    GANTRY_RETURN_IF_ERROR(
        readList(reader.member("links"), "network.links",
                 [&](const JSON &element, const std::string &place) {
                   Reader link(element, place, {"from", "to", "bandwidth", "latency"});
                   network.links.push_back({hostsNamed(link, "from"), hostsNamed(link, "to"),
                                            link.rate("bandwidth"), link.seconds("latency")});
                   return link.status;
                 }));
    topology.network = std::move(network);
    return {};
  }
};
} // namespace

Status readJob(const JSON &file, Topology &topology) {
  JobReader job{topology, {}, {}, {}};
  auto member = [&](const char *key) -> const JSON * {
    auto found = file.find(key);
    return found == file.end() ? nullptr : &*found;
  };
  GANTRY_RETURN_IF_ERROR(job.readKinds(member("kinds")));
  GANTRY_RETURN_IF_ERROR(
      readList(member("tasks"), "tasks", [&](const JSON &element, const std::string &place) {
        return job.addTasks(element, place);
      }));
  GANTRY_RETURN_IF_ERROR(job.giveDevices());
  return job.readNetwork(member("network"));
}

void writeJob(const Topology &topology, JSON &file) {
  for (const JobTask &task : topology.tasks)
    file["tasks"].push_back({{"name", task.name.str()}, {"host", topology.hosts[task.host]}});
  if (!topology.network)
    return;
  const Network &network = *topology.network;
  JSON written = JSON::object(), inside = JSON::object();
  auto add = [](JSON &into, const char *key, double value) {
    if (value != 0)
      into[key] = value;
  };
  add(written, "bandwidth", network.bandwidth);
  add(written, "latency", network.latency);
  add(inside, "bandwidth", network.insideBandwidth);
  add(inside, "latency", network.insideLatency);
  if (!inside.empty())
    written["inside"] = inside;
  if (network.joinsGPUs)
    written["gpus"] = "nccl";
  for (const HostLink &link : network.links) {
    JSON entry = {{"from", JSON::array()}, {"to", JSON::array()}};
    for (uint32_t host : link.from)
      entry["from"].push_back(topology.hosts[host]);
    for (uint32_t host : link.to)
      entry["to"].push_back(topology.hosts[host]);
    add(entry, "bandwidth", link.bandwidth);
    add(entry, "latency", link.latency);
    written["links"].push_back(std::move(entry));
  }
  file["network"] = std::move(written);
}

} // namespace gantry::topology_json
