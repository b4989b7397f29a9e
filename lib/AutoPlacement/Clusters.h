// Sets of tasks that are worth moving together: single ones rarely gain anything, since their
// operands would have to be copied there and back.
#pragma once

#include "Graph.h"

namespace gantry::placement {

using Cluster = std::vector<uint32_t>; ///< atoms, ascending

/// From coarse to fine: clusters of at most a half, a quarter, ... of all the work, joined along
/// the edges that are dearest to copy; then chains; then atoms. Clusters equal to ones of a coarser
/// level are left out.
std::vector<std::vector<Cluster>> clusterLevels(const OrderedGraph &graph);

} // namespace gantry::placement
