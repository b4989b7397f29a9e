// How long messages between tasks take: the latency of the network and, of each host, what leaves
// and enters it at its rate. Tasks of one host exchange bytes through its memory.
//
// A link between hosts that is slower than the network is a rate of its own for what a host sends
// or receives over it. Messages that go at the same time share a host's rate and nothing else: the
// network between hosts is taken to be without contention, except where links say otherwise.
#pragma once

#include "gantry/Device/Topology.h"

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace gantry {

/// What stands in for a network's rates that a topology does not give: 100 Gbit/s Ethernet less
/// what messages do not reach of it; inside of a host a copy by way of shared memory.
struct StandInNetwork {
  static constexpr double bandwidth = 11e9, latency = 10e-6;
  static constexpr double insideBandwidth = 5e9, insideLatency = 1e-6;
};

/// What the members of a collective do.
enum class Collective : uint8_t {
  allGather, ///< each gives its part to all others
  allToAll,  ///< each gives every other its chunk
  broadcast  ///< the first gives the others what it has
};

class NetworkModel {
public:
  /// Tasks are those of Topology::tasks; without any there is nothing to ask about.
  static NetworkModel of(const Topology &topology);

  /// One message, alone on the network: latency(), and bytes at secondsPerByte(). 0 for no bytes
  /// and within a task.
  double messageSeconds(uint32_t from, uint32_t to, uint64_t bytes) const;
  double latency(uint32_t from, uint32_t to) const;
  double secondsPerByte(uint32_t from, uint32_t to) const;

  /// A collective of tasks, all of which begin at once. `sizes`, by member: of an all-gather what
  /// it gives, of an all-to-all what each other gives it, of a broadcast the first one's.
  double collectiveSeconds(Collective kind, std::span<const uint32_t> members,
                           std::span<const uint64_t> sizes) const;

  /// Bytes that leave the member's task in the collective, and those that enter it.
  static std::pair<uint64_t, uint64_t> traffic(Collective kind, uint32_t member,
                                               std::span<const uint64_t> sizes);

private:
  /// A rate that holds for what goes from one host to another.
  struct Way {
    double latency = 0, secondsPerByte = 0;
    uint32_t link = 0; ///< number of the rate that is shared: 0 the network's, else a HostLink's
  };
  Way wayBetween(uint32_t fromHost, uint32_t toHost) const;
  double broadcastSeconds(std::span<const uint32_t> members, uint64_t bytes) const;

  std::vector<uint32_t> hosts; ///< by task
  Way outside, inside;
  std::vector<Way> links;                   ///< of HostLinks
  std::vector<std::vector<uint32_t>> sides; ///< by host: links that it is a first or second of
  std::vector<std::vector<char>> isFirst, isSecond; ///< by link, then host
};

} // namespace gantry
