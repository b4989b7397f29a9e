// A topology with every rate that predictions use, so that there is something to edit.
#pragma once

#include "gantry/Device/Topology.h"

namespace gantry {

/// The same devices with the stand-ins of the cost model where nothing was known: peaks of the
/// element types that have one of their own, the memory's rate, a link each way between a device
/// and its host. Predictions stay the same. Ways through the host are no links, and not added.
Topology spelledOut(Topology topology);

} // namespace gantry
