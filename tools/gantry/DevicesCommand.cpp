// gantry devices: what this machine has, read from the system; no driver is started (spec D7).
#include "Commands.h"
#include "Console.h"
#include "Text.h"

#include "gantry/Device/Topology.h"
#include "gantry/Runtime/CPUFeatures.h"
#include "gantry/Runtime/ThreadPool.h"
#include "gantry/Support/Bytes.h"

#include <fstream>
#include <sstream>
#include <thread>

namespace gantry::tool {

namespace {

struct HostDevice {
  std::string model = "unknown processor";
  unsigned processors = 0; ///< logical processors of the machine
  unsigned usable = 0;     ///< of those, the ones this process may run on
  uint64_t memoryTotal = 0;
  uint64_t memoryFree = 0; ///< available without swapping, which counts reclaimable caches
  std::vector<std::string> features;
};

/// Value behind "key" and a colon in a file of /proc, without spaces around it.
std::string procValue(const char *path, std::string_view key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !std::string_view(line).starts_with(key))
      continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

/// "16384 kB" in bytes.
uint64_t memoryValue(std::string_view key) {
  std::istringstream text(procValue("/proc/meminfo", key));
  uint64_t kibibytes = 0;
  text >> kibibytes;
  return kibibytes * 1024;
}

HostDevice readHost() {
  HostDevice host;
  if (std::string model = procValue("/proc/cpuinfo", "model name"); !model.empty())
    host.model = model;
  host.processors = std::thread::hardware_concurrency();
  host.usable = runtime::availableThreads();
  host.memoryTotal = memoryValue("MemTotal");
  host.memoryFree = memoryValue("MemAvailable");
  host.features = runtime::machineFeatures();
  return host;
}

/// What kernels are chosen by, of the hundred flags that a processor lists.
std::string notableFeatures(const HostDevice &host) {
  std::string text;
  for (const std::string &feature : host.features)
    for (const char *notable : {"avx", "fma", "f16c", "amx", "sve", "asimd"})
      if (feature.starts_with(notable)) {
        text += (text.empty() ? "" : " ") + feature;
        break;
      }
  return text.empty() ? "none of note" : text;
}

void printForPeople(const HostDevice &host) {
  std::printf("CPU:0  %s\n", host.model.c_str());
  Table table({"", ""});
  table.add({"driver", "host"});
  table.add({"target", std::string(runtime::machineTarget())});
  table.add(
      {"threads", std::to_string(host.usable) + " usable of " + std::to_string(host.processors)});
  table.add({"memory", formatBytes(host.memoryFree) + " free of " + formatBytes(host.memoryTotal)});
  table.add({"features", notableFeatures(host)});
  // Without titles: the first line is empty.
  std::fputs(table.text().substr(table.text().find('\n') + 1).c_str(), stdout);
  std::puts("1 device; GPUs are not driven yet");
}

/// A topology file (spec D7), so that a graph can be compiled for this machine on another one.
void printJson(const HostDevice &host) {
  Topology topology = Topology::hostOnly();
  topology.physical.front().model = host.model;
  topology.physical.front().memory = host.memoryTotal;
  const std::string json = topology.toJSON();
  std::fputs(json.c_str(), stdout);
  if (!json.ends_with('\n'))
    std::fputs("\n", stdout);
}

} // namespace

int devicesCommand(const Options &options) {
  const HostDevice host = readHost();
  if (options.json)
    printJson(host);
  else
    printForPeople(host);
  return exitSuccess;
}

} // namespace gantry::tool
