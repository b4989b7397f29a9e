// What would have to change for an op to be on a device (spec P10).
//
// Only the op's class matters; what it reads stays where it is. Two ways are tried, dropping what
// stands in the way with and without a request for the device, each once by moving the whole class
// and once by taking the op out of its groups. The shortest that works is made minimal by leaving
// out one change after the other.
#include "Groups.h"

#include <algorithm>

namespace gantry::placement {

namespace {

/// The class of one op as a problem of its own.
struct Part {
  Problem problem;
  std::vector<uint32_t> ops; ///< of the whole
  uint32_t op = none;        ///< the one in question
};

/// What all questions about a problem have in common.
struct Whole {
  const Problem &problem;
  Outcome now = solve(problem);
  Groups groups{problem};
  Problem withoutOps = [this] {
    Problem copy = problem;
    copy.ops.clear();
    return copy;
  }();

  bool isOn(uint32_t op, uint32_t device) const {
    auto fails = [&](const Failure &failure) { return failure.op() == op; };
    return std::ranges::none_of(now.failures, fails) && now.decisions[op].device == device;
  }
};

Part takeClass(const Whole &whole, uint32_t op) {
  std::span<const uint32_t> members = whole.groups.members(whole.groups.classOf(op));
  Part part{whole.withoutOps, {members.begin(), members.end()}, none};
  for (uint32_t member : members) {
    if (member == op)
      part.op = static_cast<uint32_t>(part.problem.ops.size());
    Op copy = whole.problem.ops[member];
    for (Operand &operand : copy.operands)
      if (operand.op != none) {
        operand.device = whole.now.decisions[operand.op].device;
        operand.op = none;
      }
    part.problem.ops.push_back(std::move(copy));
  }
  return part;
}

/// The part after the changes.
Problem apply(const Part &part, const std::vector<Member> &drop, bool askFor, uint32_t device) {
  Problem changed = part.problem;
  for (uint32_t op = 0; op < changed.ops.size(); ++op) {
    auto isDropped = [&](Member::Type type, uint32_t index) {
      return std::ranges::find(drop, Member{type, op, index}) != drop.end();
    };
    std::vector<Constraint> kept;
    for (uint32_t i = 0; i < changed.ops[op].constraints.size(); ++i)
      if (!isDropped(Member::Type::constraint, i))
        kept.push_back(changed.ops[op].constraints[i]);
    changed.ops[op].constraints = std::move(kept);
    std::erase_if(changed.ops[op].groups,
                  [&](uint32_t group) { return isDropped(Member::Type::group, group); });
  }
  if (askFor)
    changed.ops[part.op].constraints.push_back(
        {Kind::requested, Softness::strict, changed.intern(changed.devices[device]), none});
  return changed;
}

bool works(const Part &part, const std::vector<Member> &drop, bool askFor, uint32_t device) {
  Outcome outcome = solve(apply(part, drop, askFor, device));
  return outcome.ok() && outcome.decisions[part.op].device == device;
}

/// Constraints that do not allow the device: the op's own, or those of the other ops.
std::vector<Member> inTheWay(const Part &part, uint32_t device, bool own) {
  std::vector<Member> found;
  for (uint32_t op = 0; op < part.problem.ops.size(); ++op) {
    const std::vector<Constraint> &constraints = part.problem.ops[op].constraints;
    for (uint32_t i = 0; i < constraints.size(); ++i)
      if ((op == part.op) == own &&
          !part.problem.names[constraints[i].name].matches(part.problem.devices[device]))
        found.push_back({Member::Type::constraint, op, i});
  }
  return found;
}

WhyNot whyNot(const Whole &whole, uint32_t op, uint32_t device) {
  WhyNot answer;
  if (whole.isOn(op, device)) {
    answer.isThere = true;
    return answer;
  }
  if (!whole.problem.kernelSets[whole.problem.ops[op].kernels][device]) {
    answer.hasKernel = false;
    return answer;
  }
  Part part = takeClass(whole, op);
  std::vector<Member> own = inTheWay(part, device, true), together = inTheWay(part, device, false);
  std::vector<Member> apart;
  for (uint32_t group : part.problem.ops[part.op].groups)
    apart.push_back({Member::Type::group, part.op, group});

  bool found = false;
  auto consider = [&](const std::vector<Member> &others, bool askFor) {
    std::vector<Member> drop = own;
    drop.insert(drop.end(), others.begin(), others.end());
    if (!works(part, drop, askFor, device))
      return;
    for (size_t i = drop.size(); i-- > 0;) {
      std::vector<Member> fewer = drop;
      fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
      if (works(part, fewer, askFor, device))
        drop = std::move(fewer);
    }
    if (found && drop.size() + askFor >= answer.drop.size() + answer.askFor)
      return;
    found = true;
    answer.drop = std::move(drop);
    answer.askFor = askFor;
  };
  for (bool askFor : {false, true}) {
    consider({}, askFor);
    // Of two answers that are as short, the one that moves nothing else.
    consider(apart, askFor);
    consider(together, askFor);
  }
  for (Member &member : answer.drop)
    member.op = part.ops[member.op];
  return answer;
}

} // namespace

std::vector<WhyNot> whyNot(const Problem &problem, std::span<const uint32_t> ops, uint32_t device) {
  const Whole whole{problem};
  std::vector<WhyNot> answers;
  for (uint32_t op : ops)
    answers.push_back(whyNot(whole, op, device));
  return answers;
}

WhyNot whyNot(const Problem &problem, uint32_t op, uint32_t device) {
  return whyNot(problem, std::span(&op, 1), device).front();
}

} // namespace gantry::placement
