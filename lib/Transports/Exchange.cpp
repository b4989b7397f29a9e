#include "Exchange.h"

#include <algorithm>

using namespace gantry;
using namespace gantry::runtime;

size_t runtime::placeIn(const Group &group, uint32_t rank) {
  return static_cast<size_t>(std::find(group.begin(), group.end(), rank) - group.begin());
}

Status runtime::checkGroups(std::span<const Group> groups, uint32_t ranks) {
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t place = 0; place < groups[i].size(); ++place) {
      const uint32_t rank = groups[i][place];
      if (rank >= ranks)
        return Status::invalidArgument("group " + std::to_string(i) + " has rank " +
                                       std::to_string(rank) + ", and there are " +
                                       std::to_string(ranks));
      if (placeIn(groups[i], rank) != place)
        return Status::invalidArgument("group " + std::to_string(i) + " has rank " +
                                       std::to_string(rank) + " twice");
    }
  return {};
}

namespace {

Status checkSizes(const Exchange &exchange, size_t wanted) {
  if (exchange.sizes.size() == wanted)
    return {};
  return Status::invalidArgument("an exchange needs " + std::to_string(wanted) +
                                 " sizes, and has " + std::to_string(exchange.sizes.size()));
}

} // namespace

Status runtime::checkExchange(const Exchange &exchange, uint32_t rank, uint32_t ranks,
                              std::span<const Group> groups) {
  if (exchange.movement == Movement::send || exchange.movement == Movement::receive) {
    if (exchange.peer >= ranks || exchange.peer == rank)
      return Status::invalidArgument("rank " + std::to_string(rank) + " of " +
                                     std::to_string(ranks) + " has no messages with rank " +
                                     std::to_string(exchange.peer));
    return checkSizes(exchange, 1);
  }
  if (exchange.group >= groups.size())
    return Status::invalidArgument("a lane of " + std::to_string(groups.size()) +
                                   " groups has no group " + std::to_string(exchange.group));
  const Group &group = groups[exchange.group];
  if (placeIn(group, rank) == group.size())
    return Status::invalidArgument("rank " + std::to_string(rank) + " is not in group " +
                                   std::to_string(exchange.group));
  if (exchange.movement != Movement::broadcast)
    return checkSizes(exchange, group.size());
  if (exchange.peer >= group.size())
    return Status::invalidArgument("a group of " + std::to_string(group.size()) + " has no place " +
                                   std::to_string(exchange.peer));
  return checkSizes(exchange, 1);
}
