// Rates of the host, measured: what the cost model otherwise assumes.
#pragma once

#include "gantry/Device/Topology.h"

namespace gantry::machine {

struct HostRates {
  double flops = 0;       ///< f32, multiplications and additions a second, all threads
  double doubleFlops = 0; ///< f64
  double bandwidth = 0;   ///< bytes a second that kernels read and write, all threads
  double copyRate = 0;    ///< bytes a second that a copy inside the host's memory moves
  double copyLatency = 0; ///< seconds that a copy of one cache line takes
};

/// Takes about a second and 384 MiB. The best of several rounds: others only ever make it slower.
HostRates measureHost(unsigned threads);

/// Writes the rates into the hosts of the topology, and the copy rate as a link to itself.
void applyRates(const HostRates &rates, Topology &topology);

} // namespace gantry::machine
