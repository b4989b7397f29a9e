#include "gantry/Device/NetworkModel.h"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

namespace gantry {

NetworkModel NetworkModel::of(const Topology &topology) {
  NetworkModel model;
  auto orElse = [](double given, double standIn) { return given > 0 ? given : standIn; };
  const Network network = topology.network.value_or(Network());
  const double rate = orElse(network.bandwidth, StandInNetwork::bandwidth);
  const bool isKnown = topology.network.has_value();
  model.outside = {isKnown ? network.latency : StandInNetwork::latency, 1 / rate, 0};
  model.inside = {isKnown ? network.insideLatency : StandInNetwork::insideLatency,
                  1 / orElse(network.insideBandwidth, StandInNetwork::insideBandwidth), 0};
  for (const JobTask &task : topology.tasks)
    model.hosts.push_back(task.host);
  const size_t numHosts = topology.hosts.size();
  model.sides.resize(numHosts);
  for (const HostLink &link : network.links) {
    const auto number = static_cast<uint32_t>(model.links.size());
    model.links.push_back({link.latency > 0 ? link.latency : model.outside.latency,
                           1 / orElse(link.bandwidth, rate), number + 1});
    model.isFirst.emplace_back(numHosts, 0);
    model.isSecond.emplace_back(numHosts, 0);
    for (uint32_t host : link.from)
      model.isFirst.back()[host] = 1;
    for (uint32_t host : link.to)
      model.isSecond.back()[host] = 1;
    for (uint32_t host = 0; host < numHosts; ++host)
      if (model.isFirst.back()[host] || model.isSecond.back()[host])
        model.sides[host].push_back(number);
  }
  return model;
}

/// Of several links that join two hosts the first counts; each joins both ways.
NetworkModel::Way NetworkModel::wayBetween(uint32_t from, uint32_t to) const {
  if (from == to)
    return inside;
  for (uint32_t link : sides[from])
    if ((isFirst[link][from] && isSecond[link][to]) || (isSecond[link][from] && isFirst[link][to]))
      return links[link];
  return outside;
}

double NetworkModel::latency(uint32_t from, uint32_t to) const {
  return from == to ? 0 : wayBetween(hosts[from], hosts[to]).latency;
}

double NetworkModel::secondsPerByte(uint32_t from, uint32_t to) const {
  if (from == to)
    return 0;
  const Way way = wayBetween(hosts[from], hosts[to]);
  return way.link ? std::max(way.secondsPerByte, outside.secondsPerByte) : way.secondsPerByte;
}

double NetworkModel::messageSeconds(uint32_t from, uint32_t to, uint64_t bytes) const {
  if (bytes == 0)
    return 0;
  return latency(from, to) + static_cast<double>(bytes) * secondsPerByte(from, to);
}

std::pair<uint64_t, uint64_t> NetworkModel::traffic(Collective kind, uint32_t member,
                                                    std::span<const uint64_t> sizes) {
  const uint64_t own = sizes[member], others = sizes.size() - 1;
  const uint64_t sum = std::accumulate(sizes.begin(), sizes.end(), uint64_t(0));
  switch (kind) {
  case Collective::allGather:
    return {own * others, sum - own};
  case Collective::allToAll:
    return {sum - own, own * others};
  case Collective::broadcast:
    return member == 0 ? std::pair(sizes[0] * others, uint64_t(0))
                       : std::pair(uint64_t(0), sizes[0]);
  }
  return {};
}

/// As libraries of messages have it.
static constexpr uint64_t fewBytes = 16384;

/// Few bytes go down a tree whose every round doubles the number of those who have them. Of many
/// the first gives each a part, and all gather the parts.
double NetworkModel::broadcastSeconds(std::span<const uint32_t> members, uint64_t bytes) const {
  const auto count = static_cast<uint64_t>(members.size());
  const uint64_t part = (bytes + count - 1) / count;
  double latency = 0, slowest = 0, scattered = 0;
  for (uint32_t member : members) {
    latency = std::max(latency, this->latency(members[0], member));
    slowest = std::max(slowest, secondsPerByte(members[0], member));
    scattered += static_cast<double>(part) * secondsPerByte(members[0], member);
  }
  if (bytes <= fewBytes)
    return static_cast<double>(std::bit_width(count - 1)) *
           (latency + static_cast<double>(bytes) * slowest);
  const std::vector<uint64_t> parts(members.size(), part);
  return latency + scattered + collectiveSeconds(Collective::allGather, members, parts);
}

double NetworkModel::collectiveSeconds(Collective kind, std::span<const uint32_t> members,
                                       std::span<const uint64_t> sizes) const {
  if (members.size() < 2 || std::all_of(sizes.begin(), sizes.end(), [](uint64_t s) { return !s; }))
    return 0;
  if (kind == Collective::broadcast)
    return broadcastSeconds(members, sizes[0]);
  // By host: how many members it has, and the bytes of their sizes.
  std::map<uint32_t, std::pair<double, double>> at;
  for (size_t i = 0; i < members.size(); ++i) {
    auto &[count, bytes] = at[hosts[members[i]]];
    ++count;
    bytes += static_cast<double>(sizes[i]);
  }
  // Of an all-gather a host sends its own bytes to the members elsewhere; of an all-to-all each of
  // its members sends what those have. Either way one direction of a pair of hosts mirrors the
  // other, so what leaves and what enters are looked at both.
  double latency = 0, seconds = 0;
  for (const auto &[host, here] : at) {
    std::map<uint32_t, std::pair<double, double>> over; // by link: seconds out and in
    double out = 0, in = 0;
    for (const auto &[other, there] : at) {
      const bool isSame = host == other;
      if (isSame && here.first < 2)
        continue;
      double sent = here.second * there.first, received = there.second * here.first;
      if (isSame)
        sent = received = here.second * (here.first - 1);
      if (kind == Collective::allToAll)
        std::swap(sent, received);
      const Way way = wayBetween(host, other);
      latency = std::max(latency, way.latency);
      if (isSame) {
        seconds = std::max(seconds, sent * way.secondsPerByte);
        continue;
      }
      out += sent * outside.secondsPerByte;
      in += received * outside.secondsPerByte;
      if (way.link) {
        over[way.link].first += sent * way.secondsPerByte;
        over[way.link].second += received * way.secondsPerByte;
      }
    }
    seconds = std::max({seconds, out, in});
    for (const auto &[link, times] : over)
      seconds = std::max({seconds, times.first, times.second});
  }
  return latency + seconds;
}

} // namespace gantry
