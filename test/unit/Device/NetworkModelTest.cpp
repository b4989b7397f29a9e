// The network's formulas against a simulation of packets that queue at the ports of hosts.
#include "gantry/Device/NetworkModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>
#include <random>
#include <tuple>

namespace {
using namespace gantry;

/// Hosts h of `tasks[h]` tasks each; the first half is joined with the other by a slower link.
Topology cluster(const std::vector<uint32_t> &tasks, double linkRate) {
  Topology topology;
  Network network;
  network.bandwidth = 1e9;
  network.latency = 5e-6;
  network.insideBandwidth = 4e9;
  network.insideLatency = 1e-6;
  uint32_t number = 0;
  for (uint32_t host = 0; host < tasks.size(); ++host) {
    topology.hosts.push_back("n" + std::to_string(host));
    for (uint32_t i = 0; i < tasks[host]; ++i)
      topology.tasks.push_back({{"w", 0, number++}, host});
  }
  if (linkRate > 0) {
    HostLink link;
    for (uint32_t host = 0; host < tasks.size(); ++host)
      (host < tasks.size() / 2 ? link.from : link.to).push_back(host);
    link.bandwidth = linkRate;
    network.links.push_back(link);
  }
  topology.network = network;
  return topology;
}

struct Message {
  uint32_t from, to;
  uint64_t bytes;
  double begins = 0;
};

/// Cuts messages into packets. A host's messages take turns, and a packet goes through what sends
/// it, the slower link where there is one, and what receives it; each is a port that serves one
/// packet after the other, in the order in which they come to it.
class Simulation {
public:
  explicit Simulation(const Topology &topology) : topology(topology) {}

  /// When each message has come.
  std::vector<double> run(const std::vector<Message> &messages) {
    constexpr uint32_t packets = 64;
    std::vector<double> come(messages.size());
    std::vector<std::vector<uint32_t>> ways;
    std::priority_queue<Packet> coming;
    for (const Message &message : messages)
      ways.push_back(wayOf(message));
    for (uint32_t turn = 0; turn < packets; ++turn)
      for (uint32_t m = 0; m < messages.size(); ++m)
        if (messages[m].bytes)
          coming.push({messages[m].begins, uint32_t(turn * messages.size() + m), m, 0});
    // What comes to a port first is served first, so its turn is known when it comes.
    while (!coming.empty()) {
      Packet packet = coming.top();
      coming.pop();
      const Message &message = messages[packet.message];
      if (packet.stage == ways[packet.message].size()) {
        double &last = come[packet.message];
        last = std::max(last, packet.time + latencyOf(message));
        continue;
      }
      Port &port = ports[ways[packet.message][packet.stage++]];
      port.free = std::max(port.free, packet.time) + double(message.bytes) / packets / port.rate;
      packet.time = port.free;
      coming.push(packet);
    }
    return come;
  }

private:
  struct Packet {
    double time;
    uint32_t turn, message, stage;
    bool operator<(const Packet &other) const { // the heap's top is the first
      return std::tie(time, turn) > std::tie(other.time, other.turn);
    }
  };
  struct Port {
    double rate = 0, free = 0;
  };
  bool isLinked(uint32_t a, uint32_t b) const {
    const size_t half = topology.hosts.size() / 2;
    return !topology.network->links.empty() && (a < half) != (b < half);
  }
  /// Five ports a host: inside, out, in, and the link's out and in.
  uint32_t portOf(uint32_t host, uint32_t which, double rate) {
    ports.resize(5 * topology.hosts.size());
    ports[5 * host + which].rate = rate;
    return 5 * host + which;
  }
  std::vector<uint32_t> wayOf(const Message &message) {
    const uint32_t a = topology.tasks[message.from].host, b = topology.tasks[message.to].host;
    const Network &network = *topology.network;
    if (a == b)
      return {portOf(a, 0, network.insideBandwidth)};
    std::vector<uint32_t> way = {portOf(a, 1, network.bandwidth)};
    if (isLinked(a, b)) {
      way.push_back(portOf(a, 3, network.links[0].bandwidth));
      way.push_back(portOf(b, 4, network.links[0].bandwidth));
    }
    way.push_back(portOf(b, 2, network.bandwidth));
    return way;
  }
  double latencyOf(const Message &message) const {
    const bool isInside = topology.tasks[message.from].host == topology.tasks[message.to].host;
    return isInside ? topology.network->insideLatency : topology.network->latency;
  }

  const Topology &topology;
  std::vector<Port> ports;
};

double lastOf(const std::vector<double> &times) {
  return *std::max_element(times.begin(), times.end());
}

std::vector<uint32_t> allTasks(const Topology &topology) {
  std::vector<uint32_t> members(topology.tasks.size());
  for (uint32_t i = 0; i < members.size(); ++i)
    members[i] = i;
  return members;
}

/// Every member's messages to those behind it first, as who moves them does.
std::vector<Message> messagesOf(Collective kind, const std::vector<uint64_t> &sizes) {
  std::vector<Message> messages;
  const auto n = static_cast<uint32_t>(sizes.size());
  for (uint32_t step = 1; step < n; ++step)
    for (uint32_t from = 0; from < n; ++from) {
      const uint32_t to = (from + step) % n;
      messages.push_back({from, to, kind == Collective::allGather ? sizes[from] : sizes[to]});
    }
  return messages;
}

void expectNear(double predicted, double simulated, const std::string &what) {
  EXPECT_NEAR(predicted / simulated, 1, 0.1)
      << what << ": predicted " << predicted << ", simulated " << simulated;
}

TEST(NetworkModel, AMessageTakesWhatItTakesAlone) {
  for (double linkRate : {0.0, 4e8}) {
    Topology topology = cluster({2, 1, 1}, linkRate);
    NetworkModel model = NetworkModel::of(topology);
    for (uint64_t bytes : {uint64_t(1), uint64_t(1000), uint64_t(1) << 16, uint64_t(1) << 24})
      for (auto [from, to] : {std::pair(0u, 1u), std::pair(0u, 2u), std::pair(2u, 3u)})
        expectNear(model.messageSeconds(from, to, bytes),
                   lastOf(Simulation(topology).run({{from, to, bytes}})),
                   std::to_string(from) + " to " + std::to_string(to));
    EXPECT_EQ(model.messageSeconds(0, 2, 0), 0);
    EXPECT_EQ(model.messageSeconds(2, 2, 100), 0);
  }
}

TEST(NetworkModel, WhatIsNotKnownHasStandIns) {
  Topology topology = cluster({1, 1}, 0);
  topology.network->bandwidth = 0;
  EXPECT_DOUBLE_EQ(NetworkModel::of(topology).messageSeconds(0, 1, 1 << 20),
                   5e-6 + double(1 << 20) / StandInNetwork::bandwidth);
}

TEST(NetworkModel, CollectivesAreAsSimulated) {
  std::mt19937 random(1);
  for (const std::vector<uint32_t> &tasks : {std::vector<uint32_t>{1, 1},
                                             {1, 1, 1, 1},
                                             {2, 2},
                                             {4},
                                             {3, 1},
                                             std::vector<uint32_t>(16, 1),
                                             std::vector<uint32_t>(8, 2),
                                             {1, 2, 3, 4}})
    for (double linkRate : {0.0, 3e8})
      for (Collective kind : {Collective::allGather, Collective::allToAll})
        for (bool isEven : {true, false}) {
          Topology topology = cluster(tasks, linkRate);
          std::vector<uint64_t> sizes(topology.tasks.size(), 1 << 20);
          for (uint64_t &size : sizes)
            size = isEven ? size : (uint64_t(1) << 18) * (1 + random() % 8);
          if (!isEven && sizes.size() > 2)
            sizes[1] = 0;
          expectNear(NetworkModel::of(topology).collectiveSeconds(kind, allTasks(topology), sizes),
                     lastOf(Simulation(topology).run(messagesOf(kind, sizes))),
                     std::to_string(tasks.size()) + " hosts, " + std::to_string(sizes.size()) +
                         " tasks, kind " + std::to_string(int(kind)) + ", link " +
                         std::to_string(linkRate) + (isEven ? ", even" : ", uneven"));
        }
}

TEST(NetworkModel, ABroadcastOfFewBytesGoesDownATree) {
  for (uint32_t n : {2u, 3u, 8u, 13u, 32u}) {
    Topology topology = cluster(std::vector<uint32_t>(n, 1), 0);
    std::vector<double> has(n, -1);
    has[0] = 0;
    double last = 0;
    for (uint32_t have = 1; have < n; have *= 2) { // all who have it tell one more
      std::vector<Message> messages;
      for (uint32_t from = 0; from < have && have + from < n; ++from)
        messages.push_back({from, have + from, 512, last});
      last = lastOf(Simulation(topology).run(messages));
    }
    std::vector<uint64_t> sizes(n);
    sizes[0] = 512;
    expectNear(NetworkModel::of(topology).collectiveSeconds(Collective::broadcast,
                                                            allTasks(topology), sizes),
               last, std::to_string(n) + " hosts");
  }
}

TEST(NetworkModel, ABroadcastOfManyBytesGoesInParts) {
  for (uint32_t n : {4u, 8u, 32u}) {
    Topology topology = cluster(std::vector<uint32_t>(n, 1), 0);
    const uint64_t part = 1 << 20;
    std::vector<Message> messages;
    for (uint32_t to = 1; to < n; ++to)
      messages.push_back({0, to, part});
    const double scattered = lastOf(Simulation(topology).run(messages));
    std::vector<uint64_t> parts(n, part), sizes(n);
    sizes[0] = n * part;
    expectNear(NetworkModel::of(topology).collectiveSeconds(Collective::broadcast,
                                                            allTasks(topology), sizes),
               scattered +
                   lastOf(Simulation(topology).run(messagesOf(Collective::allGather, parts))),
               std::to_string(n) + " hosts");
  }
}

TEST(NetworkModel, TrafficIsWhatTheDefinitionMoves) {
  const std::vector<uint64_t> sizes = {1, 10, 100};
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(NetworkModel::traffic(Collective::allGather, 1, sizes), (Pair{20, 101}));
  EXPECT_EQ(NetworkModel::traffic(Collective::allToAll, 1, sizes), (Pair{101, 20}));
  EXPECT_EQ(NetworkModel::traffic(Collective::broadcast, 0, sizes), (Pair{2, 0}));
  EXPECT_EQ(NetworkModel::traffic(Collective::broadcast, 2, sizes), (Pair{0, 1}));
}
} // namespace
