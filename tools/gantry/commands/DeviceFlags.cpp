#include "DeviceFlags.h"

#include "gantry/Formats/ArrayFiles.h"

namespace gantry::tool {

TopologyFlags topologyFlagsOf(const Options &options) {
  TopologyFlags flags;
  for (const std::string &text : options.compileFlags) {
    const std::string name = text.substr(0, text.find('='));
    const std::string value = name.size() < text.size() ? text.substr(name.size() + 1) : "";
    if (name == "devices")
      flags.devices = value;
    else if (name == "tasks")
      flags.tasks = value;
    else if (name == "topology")
      flags.file = value;
    else if (name == "visible")
      flags.visible = value;
    else if (name == "split")
      flags.splits.push_back(value);
    else if (name == "simulate")
      flags.simulate = true;
  }
  return flags;
}

Status readTopologyFile(TopologyFlags &flags) {
  if (flags.file.empty())
    return {};
  auto file = arrays::FileBytes::open(flags.file);
  if (!file)
    return Status(file.status().code(), "--topology: " + file.status().message());
  flags.json.assign(file->bytes().begin(), file->bytes().end());
  return {};
}

} // namespace gantry::tool
