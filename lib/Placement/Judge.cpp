// The judge of placements. Shares no code with the solver: it asks names device by device, and
// walks groups by their numbers.
#include "gantry/Placement/Placement.h"

#include <algorithm>
#include <map>
#include <set>

namespace gantry::placement {

namespace {

Status wrong(uint32_t op, const std::string &what) {
  return Status::internal("placement: op " + std::to_string(op) + " " + what);
}

/// What must hold of an op whatever the policy.
class Judge {
public:
  Judge(const Problem &problem, const std::vector<Decision> &decisions)
      : problem(problem), decisions(decisions) {}

  Status run() {
    if (decisions.size() != problem.ops.size())
      return Status::internal("placement: " + std::to_string(decisions.size()) + " decisions for " +
                              std::to_string(problem.ops.size()) + " ops");
    std::map<uint32_t, uint32_t> deviceOfGroup;
    for (uint32_t op = 0; op < problem.ops.size(); ++op) {
      const Decision &decision = decisions[op];
      if (decision.device >= problem.devices.size())
        return wrong(op, "has no device");
      if (!problem.kernelSets[problem.ops[op].kernels][decision.device])
        return wrong(op, "has no kernel where it is");
      for (uint32_t group : problem.ops[op].groups)
        if (deviceOfGroup.try_emplace(group, decision.device).first->second != decision.device)
          return wrong(op, "is apart from its group " + std::to_string(group));
      for (const Constraint &constraint : problem.ops[op].constraints)
        GANTRY_RETURN_IF_ERROR(checkConstraint(op, constraint));
      GANTRY_RETURN_IF_ERROR(checkLocked(op));
      GANTRY_RETURN_IF_ERROR(checkFree(op));
    }
    return {};
  }

private:
  const DeviceName &deviceOf(uint32_t op) const { return problem.devices[decisions[op].device]; }

  Status checkConstraint(uint32_t op, const Constraint &constraint) const {
    DeviceName name = problem.names[constraint.name];
    if (name.matches(deviceOf(op)) || constraint.softness == Softness::any ||
        constraint.kind > Kind::rule)
      return {};
    if (constraint.kind == Kind::rule)
      return checkRule(op, constraint);
    if (constraint.softness == Softness::strict)
      return wrong(op, "is not where a strict constraint wants it");
    if (!decisions[op].fallBack)
      return wrong(op, "fell back and does not say so");
    name.type.reset();
    name.id.reset();
    return name.matches(deviceOf(op)) ? Status() : wrong(op, "fell back to another task");
  }

  /// A rule alone is in the way of nothing that is stronger: then it must have been followed.
  Status checkRule(uint32_t op, const Constraint &constraint) const {
    const Op &placed = problem.ops[op];
    bool alone = placed.groups.empty() && placed.constraints.size() == 1;
    bool possible = false;
    for (uint32_t d = 0; d < problem.devices.size(); ++d)
      possible |= problem.kernelSets[placed.kernels][d] &&
                  problem.names[constraint.name].matches(problem.devices[d]);
    return alone && (possible || !decisions[op].fallBack)
               ? wrong(op, "is not where its only rule wants it")
               : Status();
  }

  /// How little a device is what a name asks for: 0 in full, 1 but for the id, 2 but for the type.
  static unsigned distance(DeviceName name, const DeviceName &device) {
    if (name.matches(device))
      return 0;
    name.id.reset();
    return name.matches(device) ? 1 : 2;
  }

  /// A lock is no reason for a request to fall back: by itself it gets the nearest device that has
  /// a kernel.
  Status checkLocked(uint32_t op) const {
    const Op &placed = problem.ops[op];
    const Constraint *only = nullptr;
    bool isLocked = false, several = !placed.groups.empty();
    for (const Constraint &constraint : placed.constraints) {
      isLocked |= constraint.kind == Kind::lock;
      if (constraint.kind >= Kind::lock || constraint.softness == Softness::any)
        continue;
      several |= only != nullptr;
      only = &constraint;
    }
    if (!isLocked || several || !only)
      return {};
    const DeviceName &name = problem.names[only->name];
    for (uint32_t d = 0; d < problem.devices.size(); ++d)
      if (problem.kernelSets[placed.kernels][d] &&
          distance(name, problem.devices[d]) < distance(name, deviceOf(op)))
        return wrong(op, "follows a lock against its request");
    return {};
  }

  /// An op without anything to say is on the best device, or with its inputs.
  Status checkFree(uint32_t op) const {
    const Op &placed = problem.ops[op];
    if (!placed.constraints.empty() || !placed.groups.empty() || decisions[op].followed)
      return {};
    uint32_t chosen = decisions[op].device;
    for (uint32_t d = 0; d < problem.devices.size(); ++d) {
      if (!problem.kernelSets[placed.kernels][d])
        continue;
      bool better = problem.devices[d].type == problem.devices[chosen].type
                        ? problem.devices[d] < problem.devices[chosen]
                        : problem.devices[d].type == DeviceType::GPU;
      if (better)
        return wrong(op, "is free and not on the first device with a kernel");
    }
    return {};
  }

  const Problem &problem;
  const std::vector<Decision> &decisions;
};

} // namespace

Status validate(const Problem &problem, const std::vector<Decision> &decisions) {
  return Judge(problem, decisions).run();
}

} // namespace gantry::placement
