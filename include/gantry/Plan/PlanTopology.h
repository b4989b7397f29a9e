// The topology that a plan was made for, as far as the plan records it.
#pragma once

#include "gantry/Device/Topology.h"
#include "gantry/Plan/PlanFile.h"

namespace gantry::plan {

/// The name of a device as the file spells it. Errors: INVALID_ARGUMENT with the column.
Expected<DeviceName> nameOf(const fb::Device &device);

/// Devices, limits, rates and links of a plan that was validated; logical devices have the plan's
/// order and indices. The plan keeps no models, no memory sizes, and of rates f32's. It need not
/// pass Topology::check: a plan may do without a host.
Topology topologyOf(const fb::Plan &plan);

} // namespace gantry::plan
