// Two ways to make room: constants come from the host in each step, and tasks go to devices that
// have room. Both go by estimates and ask the simulator what became of it.
#include "MakeRoom.h"

#include <algorithm>

namespace gantry::placement {

/// Rounds of asking for more, where what was asked for did not do.
static constexpr int kRounds = 8;
/// Clusters that may be moved off one after the other.
static constexpr int kMostSpilled = 256;

Score RoomMaker::play(const Assignment &decision) {
  budget.spend(graph.numTasks());
  return simulator.run(decision);
}

bool RoomMaker::mayStream() const {
  const std::vector<uint64_t> &limits = graph.problem.limits;
  return std::any_of(limits.begin(), limits.end(), [](uint64_t limit) { return limit != 0; }) &&
         std::any_of(graph.constants.begin(), graph.constants.end(), [&](uint32_t value) {
           return graph.home[value] != noIndex && graph.bytes[value] >= kLeastStreamed;
         });
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

std::vector<uint32_t> RoomMaker::streamable(const Assignment &decision, uint32_t device) const {
  std::vector<uint32_t> values;
  std::vector<char> isListed(graph.numValues());
  for (uint32_t place = 0; place < graph.numTasks(); ++place)
    if (decision.devices[place] == device)
      for (uint32_t value : graph.inputs[place])
        if (graph.isConstant[value] && !isListed[value] && graph.bytes[value] >= kLeastStreamed &&
            graph.home[value] != noIndex && graph.home[value] != device) {
          isListed[value] = 1;
          values.push_back(value);
        }
  return values;
}

/// Streams about so many bytes more of the constants on the device; false when none are left.
bool RoomMaker::streamMore(Assignment &decision, uint32_t device, uint64_t bytes) const {
  std::vector<uint32_t> candidates = streamable(decision, device);
  std::erase_if(candidates, [&](uint32_t value) { return decision.isStreamed(value); });
  const bool isAny = !candidates.empty();
  // As far along in what is taken as in what there is; again with what is left, as what is large is
  // passed over as long as it is more than is wanted by then.
  for (auto wanted = static_cast<double>(bytes); wanted > 0 && !candidates.empty();) {
    double all = 0, passed = 0, taken = 0;
    for (uint32_t value : candidates)
      all += static_cast<double>(graph.bytes[value]);
    auto take = [&](uint32_t value) {
      decision.streamed[value] = 1;
      taken += static_cast<double>(graph.bytes[value]);
    };
    for (uint32_t value : candidates) {
      auto size = static_cast<double>(graph.bytes[value]);
      passed += size;
      if (wanted * passed / all - taken >= size / 2)
        take(value);
    }
    if (taken == 0)
      take(candidates.back());
    std::erase_if(candidates, [&](uint32_t value) { return decision.isStreamed(value); });
    wanted -= taken;
  }
  return isAny;
}

Score RoomMaker::stream(Assignment &decision) {
  decision.streamed.resize(graph.numValues());
  Score score = play(decision);
  for (int round = 0; round < kRounds && score.overflow && !budget.isSpent(graph.numTasks());
       ++round) {
    bool isMore = false;
    for (uint32_t d = 0; d < graph.numDevices; ++d)
      // An eighth more: what comes in takes room, too.
      if (uint64_t over = simulator.overflow(d))
        isMore |= streamMore(decision, d, (over + over / 8) << (round / 3));
    if (!isMore)
      break;
    score = settleRoom(decision);
  }
  return score;
}

bool RoomMaker::streamMore(Assignment &decision, double part) {
  std::vector<uint64_t> streamed(graph.numDevices);
  std::vector<char> isSeen(graph.numDevices);
  for (uint32_t value : graph.constants) {
    if (!decision.isStreamed(value))
      continue;
    std::fill(isSeen.begin(), isSeen.end(), 0);
    for (uint32_t reader : graph.readers[value])
      if (char &seen = isSeen[decision.devices[reader]]; !seen) {
        seen = 1;
        streamed[decision.devices[reader]] += graph.bytes[value];
      }
  }
  bool isMore = false;
  for (uint32_t d = 0; d < graph.numDevices; ++d)
    if (streamed[d] && graph.problem.limits[d])
      isMore |=
          streamMore(decision, d, static_cast<uint64_t>(static_cast<double>(streamed[d]) * part));
  return isMore && settleRoom(decision).overflow == 0;
}

Score RoomMaker::settleRoom(Assignment &decision) {
  decision.spare.assign(graph.numDevices, 0);
  Score score = play(decision);
  for (uint32_t spare : kRoomLeftFree) {
    bool isLess = false;
    for (uint32_t d = 0; d < graph.numDevices; ++d)
      if (simulator.overflow(d)) {
        decision.spare[d] = spare;
        isLess = true;
      }
    if (!isLess)
      break;
    score = play(decision);
  }
  return score;
}

//===----------------------------------------------------------------------===//
// Spills
//===----------------------------------------------------------------------===//

/// Bytes under the limit after the last run.
uint64_t RoomMaker::room(uint32_t device) const {
  uint64_t limit = graph.problem.limits[device];
  if (!limit)
    return UINT64_MAX;
  return limit - std::min(limit, simulator.peak(device));
}

/// Bytes of constants that leave the device with the cluster.
uint64_t RoomMaker::constantsOf(const Cluster &cluster, const Assignment &decision,
                                uint32_t device) const {
  std::vector<uint32_t> values;
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom])
      for (uint32_t value : graph.inputs[place])
        if (graph.isConstant[value] && !decision.isStreamed(value))
          values.push_back(value);
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  auto isInside = [&](uint32_t place) {
    return std::binary_search(cluster.begin(), cluster.end(), graph.atom[place]);
  };
  uint64_t sum = 0;
  for (uint32_t value : values) {
    auto stays = [&](uint32_t reader) {
      return decision.devices[reader] == device && !isInside(reader);
    };
    std::span<const uint32_t> readers = graph.readers[value];
    if (std::none_of(readers.begin(), readers.end(), stays))
      sum += graph.bytes[value];
  }
  return sum;
}

/// An estimate: what its tasks take longer, and what is copied at its ends.
double RoomMaker::secondsMore(const Cluster &cluster, const Assignment &decision,
                              uint32_t to) const {
  auto isInside = [&](uint32_t place) {
    return std::binary_search(cluster.begin(), cluster.end(), graph.atom[place]);
  };
  double sum = 0;
  for (uint32_t atom : cluster)
    for (uint32_t place : graph.atoms[atom]) {
      uint32_t from = decision.devices[place];
      sum += graph.secondsOn(place, to) - graph.secondsOn(place, from);
      for (uint32_t value : graph.inputs[place]) {
        uint32_t maker = graph.maker[value];
        if (graph.isConstant[value] || (maker != noIndex && isInside(maker)))
          continue;
        uint32_t source = maker == noIndex ? graph.home[value] : decision.devices[maker];
        sum += graph.copySeconds(value, source, to) - graph.copySeconds(value, source, from);
      }
      for (uint32_t value : graph.outputs[place])
        for (uint32_t reader : graph.readers[value])
          if (!isInside(reader)) {
            uint32_t target = decision.devices[reader];
            sum += graph.copySeconds(value, to, target) - graph.copySeconds(value, from, target);
            break; // the others mostly share it
          }
    }
  return sum;
}

/// Of the clusters that are on the device as a whole, the one that is cheapest to have elsewhere.
RoomMaker::Offer RoomMaker::cheapest(const Assignment &decision, uint32_t device,
                                     const std::vector<char> &isKept) const {
  const uint64_t over = simulator.overflow(device);
  Offer best;
  for (const std::vector<Cluster> &level : levels)
    for (const Cluster &cluster : level) {
      auto isHere = [&](uint32_t atom) {
        const std::vector<uint32_t> &places = graph.atoms[atom];
        return !isKept[atom] && std::all_of(places.begin(), places.end(), [&](uint32_t place) {
          return decision.devices[place] == device;
        });
      };
      if (!std::all_of(cluster.begin(), cluster.end(), isHere))
        continue;
      uint64_t bytes = constantsOf(cluster, decision, device);
      if (bytes == 0)
        continue;
      for (uint32_t to = 0; to < graph.numDevices; ++to) {
        if (to == device || bytes > room(to))
          continue;
        double seconds = secondsMore(cluster, decision, to);
        if (!(seconds < notAllowed))
          continue;
        // More than is over is not worth more; what is faster there is better the more it is.
        double price = seconds > 0 ? seconds / static_cast<double>(std::min(bytes, over))
                                   : seconds * static_cast<double>(std::min(bytes, over));
        if (!best.cluster || price < best.price)
          best = {&cluster, to, price};
      }
    }
  return best;
}

Score RoomMaker::spill(Assignment &decision, const Cluster &stays) {
  std::vector<char> isKept(graph.atoms.size());
  for (uint32_t atom : stays)
    isKept[atom] = 1;
  Score score = play(decision);
  for (int moved = 0; moved < kMostSpilled && score.overflow && !budget.isSpent(graph.numTasks());
       ++moved) {
    uint32_t fullest = 0;
    for (uint32_t d = 1; d < graph.numDevices; ++d)
      if (simulator.overflow(d) > simulator.overflow(fullest))
        fullest = d;
    Offer offer;
    if (simulator.overflow(fullest))
      offer = cheapest(decision, fullest, isKept);
    if (!offer.cluster)
      break;
    for (uint32_t atom : *offer.cluster) {
      isKept[atom] = 1; // once is enough
      for (uint32_t place : graph.atoms[atom])
        decision.devices[place] = offer.to;
    }
    score = play(decision);
  }
  return score;
}

} // namespace gantry::placement
