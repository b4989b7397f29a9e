// Topologies: any text, read as the flag form and as JSON, is refused or gives a sound topology
// that survives a round through JSON.
#include "gantry/Device/CostModel.h"

#include <cstddef>
#include <cstdlib>

static void check(const gantry::Expected<gantry::Topology> &topology) {
  if (!topology)
    return;
  if (!topology->check().ok())
    std::abort();
  gantry::Expected<gantry::Topology> again = gantry::Topology::fromJSON(topology->toJSON());
  // A model name that is not UTF-8 prints as something else; JSON input was checked for it.
  if (!again || *again != *topology)
    std::abort();
  // All times are numbers, whatever the rates; splitting and hiding leave it sound.
  gantry::CostModel costs = gantry::CostModel::of(*topology);
  uint32_t last = costs.numDevices() - 1;
  if (!(costs.copySeconds(0, last, 1 << 20) >= 0) || !(costs.seconds(last, {1000, 1000}) >= 0))
    std::abort();
  if (auto visible = topology->withVisible({}); visible && !visible->check().ok())
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  check(gantry::Topology::fromFlag(text));
  check(gantry::Topology::fromJSON(text));
  return 0;
}
