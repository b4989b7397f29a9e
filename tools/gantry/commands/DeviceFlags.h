// The flags about devices, for commands that ask what these mean before anything compiles.
#pragma once

#include "Options.h"

#include "gantry/Device/Topology.h"

namespace gantry::tool {

/// As the compiler would take them; the content of --topology's file is not read yet.
TopologyFlags topologyFlagsOf(const Options &options);

/// Reads that file, where there is one. Errors begin with the flag.
Status readTopologyFile(TopologyFlags &flags);

} // namespace gantry::tool
