// Rates of the host and of GPUs, measured: what the cost model otherwise assumes.
#pragma once

#include "gantry/Device/Topology.h"
#include "gantry/Support/Status.h"

namespace gantry::machine {

struct Machine;

struct HostRates {
  double flops = 0;       ///< f32, multiplications and additions a second, all threads
  double doubleFlops = 0; ///< f64
  double bandwidth = 0;   ///< bytes a second that kernels read and write, all threads
  double copyRate = 0;    ///< bytes a second that a copy inside the host's memory moves
  double copyLatency = 0; ///< seconds that a copy of one cache line takes
};

/// Takes about a second and 384 MiB. The best of several rounds: others only ever make it slower.
HostRates measureHost(unsigned threads);

/// `flops` and `bandwidth` alone, less exactly, in half a second and 192 MiB.
HostRates measureHostBriefly(unsigned threads);

/// Writes the rates into the hosts of the topology, and the copy rate as a link to itself.
void applyRates(const HostRates &rates, Topology &topology);

/// Measures the GPUs of the topology that CUDA runs, by their numbers, and writes rates of f32, f16
/// and bf16, of memory, of launches, and links to the host, inside and among them. Takes about a
/// second and 64 MiB on each; `threads` of the host copy, as those of a runtime do. Does nothing
/// where there are none. UNAVAILABLE when CUDA is not there. With a stand-in (GANTRY_CUDA_LIB) the
/// model says so.
Status measureGPUs(Topology &topology, unsigned threads);

/// What CUDA says of the ways between the machine's GPUs, their ranks with it, in the place of what
/// NVML said. UNAVAILABLE when CUDA is not there.
Status askPeers(Machine &machine);

} // namespace gantry::machine
