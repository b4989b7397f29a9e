// Union-find over ops and the tables that problems are made of.
#include "Groups.h"

#include <algorithm>
#include <numeric>

namespace gantry::placement {

std::string_view kindName(Kind kind) {
  static constexpr std::string_view names[numKinds] = {"assigned", "resource", "requested", "lock",
                                                       "rule",     "inferred", "default"};
  return names[static_cast<size_t>(kind)];
}

Problem::Problem(const Topology &topology) {
  for (const LogicalDevice &device : topology.logical)
    devices.push_back(device.name);
  intern(DeviceSet(devices.size(), true));
}

uint32_t Problem::intern(const DeviceName &name) {
  auto [it, fresh] = nameIndex.try_emplace(name, static_cast<uint32_t>(names.size()));
  if (fresh)
    names.push_back(name);
  return it->second;
}

uint32_t Problem::intern(const DeviceSet &kernels) {
  auto [it, fresh] = setIndex.try_emplace(kernels, static_cast<uint32_t>(kernelSets.size()));
  if (fresh)
    kernelSets.push_back(kernels);
  return it->second;
}

DeviceSet matching(const Problem &problem, const DeviceName &name) {
  DeviceSet set(problem.devices.size());
  for (size_t d = 0; d < set.size(); ++d)
    set[d] = name.matches(problem.devices[d]);
  return set;
}

std::vector<uint32_t> preference(const Problem &problem) {
  std::vector<uint32_t> order(problem.devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    return problem.devices[a].isPreferredTo(problem.devices[b]);
  });
  return order;
}

static uint32_t rootOf(std::vector<uint32_t> &parents, uint32_t x) {
  while (parents[x] != x)
    x = parents[x] = parents[parents[x]];
  return x;
}

Groups::Groups(const Problem &problem) {
  const auto count = static_cast<uint32_t>(problem.ops.size());
  std::vector<uint32_t> parents(count), firstOf;
  std::iota(parents.begin(), parents.end(), 0);
  for (uint32_t op = 0; op < count; ++op)
    for (uint32_t group : problem.ops[op].groups) {
      if (group >= firstOf.size())
        firstOf.resize(group + 1, none);
      if (firstOf[group] == none)
        firstOf[group] = op;
      // The smaller op stays the root, so that classes come in the order of their first ops.
      uint32_t a = rootOf(parents, firstOf[group]), b = rootOf(parents, op);
      parents[std::max(a, b)] = std::min(a, b);
    }
  classes.resize(count);
  uint32_t found = 0;
  std::vector<uint32_t> sizes;
  for (uint32_t op = 0; op < count; ++op) {
    uint32_t root = rootOf(parents, op);
    classes[op] = root == op ? found++ : classes[root];
    sizes.resize(found);
    ++sizes[classes[op]];
  }
  begins.assign(found + 1, 0);
  for (uint32_t c = 0; c < found; ++c)
    begins[c + 1] = begins[c] + sizes[c];
  items.resize(count);
  std::vector<uint32_t> next(begins.begin(), begins.end() - 1);
  for (uint32_t op = 0; op < count; ++op)
    items[next[classes[op]]++] = op;
}

} // namespace gantry::placement
