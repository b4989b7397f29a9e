// Placements that local search begins with. Devices by place; atoms are kept together.
#pragma once

#include "Graph.h"

#include <optional>

namespace gantry::placement {

/// Everything on one device; what may not run there, on the device that is fastest for it.
std::vector<uint32_t> startOnOne(const OrderedGraph &graph, uint32_t device);

/// How much of its device's limit constants and live values of a piece may take.
struct PieceParts {
  double each = 1, last = each; ///< `last`: of the sequence's last device that has a limit
};

/// The order cut into one piece for each of `sequence`'s devices, or fewer, such that pieces are
/// within `parts`, and compute and the copies at the cuts together take the least time. Nothing
/// when no cuts fit. With `isTied`, tasks that share a large constant are in the piece of the first
/// of them, and only that one needs room for it.
std::optional<std::vector<uint32_t>> startInPieces(const OrderedGraph &graph,
                                                   const std::vector<uint32_t> &sequence,
                                                   PieceParts parts, bool isTied = false);

/// Constants of at least a hundredth of all bytes that several tasks read.
std::vector<uint32_t> sharedConstants(const OrderedGraph &graph);

/// The sequences of devices that pieces are worth trying on: all of a few devices; of more, the
/// fastest first, the slowest first, and those turned around.
std::vector<std::vector<uint32_t>> deviceSequences(const OrderedGraph &graph);

/// What list scheduling looks at when it picks a device.
enum class Outlook {
  end,  ///< the task's earliest end (m-ETF)
  rest, ///< that and the best way from there to the end of the graph
};

/// List scheduling with memory: each task in order goes where the outlook is best, of the devices
/// on which constants and live values then take at most `part` of the limit and copies are within
/// their budgets; where nothing fits, to the device that is least over them.
std::vector<uint32_t> startByList(const OrderedGraph &graph, Outlook outlook, double part);

} // namespace gantry::placement
