// A topology behind its handle, for the parts of the runtime library that take one.
#pragma once

#include "gantry-c/topology.h"
#include "gantry/Device/Topology.h"

#include <string>
#include <vector>

struct gantry_topology_t {
  gantry::Topology object;
  std::string json = {};
  /// What the infos of devices point to.
  std::vector<std::string> physicalNames = {}, names = {}, shortNames = {};

  explicit gantry_topology_t(gantry::Topology given);
};
