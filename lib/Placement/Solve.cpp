// The solver. Each class of ops that go together is decided by itself, but for `follow`, where a
// class waits for the classes that make what it reads.
//
// Within a class: strict constraints from assigned to lock must all hold, in any order; a lock must
// also leave soft requests what they would get without it. What is left is narrowed by the softer
// and the weaker ones, strongest kind first; at last the policy picks.
#include "Groups.h"
#include "Sets.h"

#include <algorithm>
#include <utility>

namespace gantry::placement {

Sets::Sets(const Problem &problem) : words((problem.devices.size() + 63) / 64) {
  auto add = [&](std::vector<uint64_t> &to, const DeviceSet &set) {
    size_t begin = to.size();
    to.resize(begin + words);
    for (size_t d = 0; d < set.size(); ++d)
      to[begin + d / 64] |= static_cast<uint64_t>(set[d]) << d % 64;
  };
  for (DeviceName name : problem.names) {
    add(names, matching(problem, name));
    name.id.reset();
    add(names, matching(problem, name));
    name.type.reset();
    add(names, matching(problem, name));
  }
  for (const DeviceSet &set : problem.kernelSets)
    add(kernelSets, set);
}

namespace {

class Solver {
public:
  explicit Solver(const Problem &problem)
      : problem(problem), groups(problem), sets(problem), order(preference(problem)),
        kernels(sets.width()), candidates(sets.width()) {
    outcome.decisions.resize(problem.ops.size());
  }

  Outcome run() {
    for (uint32_t which : problem.policy == Policy::follow ? inputsFirst() : inOrder())
      decide(which);
    std::ranges::sort(outcome.failures, {}, &Failure::op);
    return std::move(outcome);
  }

private:
  using Members = std::span<const uint32_t>;

  std::vector<uint32_t> inOrder() const;
  std::vector<uint32_t> inputsFirst();
  void decide(uint32_t which);
  bool applyStrict(Members members);
  bool checkRules(Members members);
  bool checkLocks(Members members);
  void applyKind(Members members, Kind kind);
  unsigned soften(const Constraint &constraint);
  uint32_t pick(Members members, uint32_t which, bool &followed);
  std::optional<uint32_t> largestInputs(Members members, uint32_t which) const;
  bool tieBreak(Members members, uint32_t &device);
  void record(Members members, uint32_t device, bool followed);
  void recordOwn(uint32_t op, Decision &decision) const;

  const Constraint &constraintOf(const Member &member) const {
    return problem.ops[member.op].constraints[member.index];
  }

  /// Calls `visit(op, index, constraint)` for each constraint of the members.
  template <typename Visit>
  void forEach(Members members, Visit visit) const {
    for (uint32_t op : members)
      for (uint32_t i = 0; i < problem.ops[op].constraints.size(); ++i)
        visit(op, i, problem.ops[op].constraints[i]);
  }

  const Problem &problem;
  Groups groups;
  Sets sets;
  std::vector<uint32_t> order;   ///< devices, best first
  std::vector<uint32_t> levels;  ///< of classes, for follow: their smallest
  std::vector<uint64_t> kernels; ///< of the class at hand
  std::vector<uint64_t> candidates;
  std::vector<Member> wishes;     ///< of one kind, scratch
  std::vector<Softened> softened; ///< what was applied of wishes, scratch
  Outcome outcome;
};

std::vector<uint32_t> Solver::inOrder() const {
  std::vector<uint32_t> all(groups.count());
  for (uint32_t i = 0; i < all.size(); ++i)
    all[i] = i;
  return all;
}

/// Classes by the longest way from the inputs to the first of their ops. A class then follows the
/// makers that are in classes before it, whatever the numbering.
std::vector<uint32_t> Solver::inputsFirst() {
  const size_t count = problem.ops.size();
  std::vector<uint32_t> waiting(count), level(count), begins(count + 1), readers, queue;
  for (const Op &op : problem.ops)
    for (const Operand &operand : op.operands)
      if (operand.op != none)
        ++begins[operand.op + 1];
  for (size_t i = 0; i < count; ++i)
    begins[i + 1] += begins[i];
  readers.resize(begins[count]);
  std::vector<uint32_t> next(begins.begin(), begins.end() - 1);
  for (uint32_t op = 0; op < count; ++op) {
    for (const Operand &operand : problem.ops[op].operands)
      if (operand.op != none) {
        readers[next[operand.op]++] = op;
        ++waiting[op];
      }
    if (!waiting[op])
      queue.push_back(op);
  }
  for (size_t i = 0; i < queue.size(); ++i)
    for (uint32_t r = begins[queue[i]]; r < begins[queue[i] + 1]; ++r) {
      uint32_t reader = readers[r];
      level[reader] = std::max(level[reader], level[queue[i]] + 1);
      if (!--waiting[reader])
        queue.push_back(reader);
    }
  levels.assign(groups.count(), none);
  for (uint32_t op = 0; op < count; ++op)
    levels[groups.classOf(op)] = std::min(levels[groups.classOf(op)], level[op]);
  std::vector<uint32_t> all = inOrder();
  std::ranges::sort(all, {}, [&](uint32_t which) { return std::pair(levels[which], which); });
  return all;
}

void Solver::decide(uint32_t which) {
  Members members = groups.members(which);
  std::ranges::fill(kernels, ~uint64_t(0));
  for (uint32_t op : members)
    narrow(kernels, sets.kernels(problem.ops[op].kernels));
  candidates = kernels;
  if (!applyStrict(members) || !checkRules(members) || !checkLocks(members))
    return;
  softened.clear();
  for (unsigned kind = 0; kind < numKinds; ++kind)
    applyKind(members, static_cast<Kind>(kind));
  bool followed = false;
  uint32_t device = pick(members, which, followed);
  record(members, device, followed);
}

/// Strict constraints down to locks, kernels and groups: what must hold or is an error.
bool Solver::applyStrict(Members members) {
  forEach(members, [&](uint32_t, uint32_t, const Constraint &c) {
    if (std::optional<unsigned> step = hardStep(c))
      narrow(candidates, sets.matches(c.name, *step));
  });
  if (!isEmpty(candidates))
    return true;
  outcome.failures.push_back(explainConflict(problem, sets, members));
  return false;
}

/// A strict rule gives way to what is stronger, but it must make sense alone.
bool Solver::checkRules(Members members) {
  bool fine = true;
  forEach(members, [&](uint32_t op, uint32_t i, const Constraint &c) {
    if (!fine || c.kind != Kind::rule)
      return;
    if (c.softness == Softness::any ||
        intersects(kernels, sets.matches(c.name, c.softness == Softness::prefer ? 2 : 0)))
      return;
    fine = false;
    Member rule{Member::Type::constraint, op, i};
    outcome.failures.push_back(explainConflict(problem, sets, members, &rule));
  });
  return fine;
}

/// A lock is no reason for a request to fall back (spec P13): each lock must leave something of
/// what the stronger kinds come to by themselves.
bool Solver::checkLocks(Members members) {
  bool isLocked = false;
  forEach(members, [&](uint32_t, uint32_t, const Constraint &c) {
    isLocked |= c.kind == Kind::lock && hardStep(c);
  });
  if (!isLocked)
    return true;
  std::vector<uint64_t> withLocks = std::exchange(candidates, kernels);
  auto apply = [&](bool locks) {
    forEach(members, [&](uint32_t, uint32_t, const Constraint &c) {
      if (std::optional<unsigned> step = hardStep(c); step && (c.kind == Kind::lock) == locks)
        narrow(candidates, sets.matches(c.name, *step));
    });
  };
  apply(false);
  softened.clear();
  for (Kind kind : {Kind::assigned, Kind::resource, Kind::requested})
    applyKind(members, kind);
  apply(true);
  bool fine = !isEmpty(candidates);
  if (!fine)
    outcome.failures.push_back(explainStaleLock(problem, sets, members, softened));
  // What is left with the locks from the start softens in the same steps.
  candidates = std::move(withLocks);
  return fine;
}

/// Several of a kind are taken in the order of their names, so that numbering does not matter.
void Solver::applyKind(Members members, Kind kind) {
  wishes.clear();
  forEach(members, [&](uint32_t op, uint32_t i, const Constraint &c) {
    if (c.kind == kind && c.softness != Softness::any && !isBinding(c))
      wishes.push_back({Member::Type::constraint, op, i});
  });
  std::ranges::sort(wishes, [&](const Member &left, const Member &right) {
    const Constraint &a = constraintOf(left), &b = constraintOf(right);
    return a.name != b.name ? problem.names[a.name] < problem.names[b.name]
                            : a.softness < b.softness;
  });
  for (const Member &wish : wishes)
    softened.push_back({wish, soften(constraintOf(wish))});
}

/// Narrows by what is left of a constraint that may be softened or may give way; how much of it
/// that was (Sets::matches), 3 for nothing.
unsigned Solver::soften(const Constraint &constraint) {
  unsigned steps = constraint.kind <= Kind::rule && constraint.softness == Softness::prefer ? 3 : 1;
  for (unsigned step = 0; step < steps; ++step) {
    Words set = sets.matches(constraint.name, step);
    // A rule softens for want of a device or kernel, and gives way to what is stronger.
    if (constraint.kind == Kind::rule && !intersects(kernels, set))
      continue;
    if (intersects(candidates, set)) {
      narrow(candidates, set);
      return step;
    }
    if (constraint.kind == Kind::rule)
      break;
  }
  return 3;
}

uint32_t Solver::pick(Members members, uint32_t which, bool &followed) {
  uint32_t device = none;
  for (uint32_t d : order)
    if (contains(candidates, d)) {
      device = d;
      break;
    }
  if (tieBreak(members, device))
    return device;
  if (problem.policy != Policy::follow)
    return device;
  bool asked = false;
  forEach(members, [&](uint32_t, uint32_t, const Constraint &c) {
    asked |= c.softness != Softness::any && intersects(candidates, sets.matches(c.name));
  });
  if (asked)
    return device;
  if (auto largest = largestInputs(members, which)) {
    followed = true;
    return *largest;
  }
  return device;
}

/// `any` decides between devices of the type that P6 takes; strongest kind first, then by name.
bool Solver::tieBreak(Members members, uint32_t &device) {
  wishes.clear();
  forEach(members, [&](uint32_t op, uint32_t i, const Constraint &c) {
    if (c.softness == Softness::any)
      wishes.push_back({Member::Type::constraint, op, i});
  });
  if (wishes.empty())
    return false;
  std::ranges::sort(wishes, [&](const Member &left, const Member &right) {
    const Constraint &a = constraintOf(left), &b = constraintOf(right);
    return a.kind != b.kind ? a.kind < b.kind : problem.names[a.name] < problem.names[b.name];
  });
  for (const Member &wish : wishes)
    for (uint32_t d : order)
      if (contains(candidates, d) && contains(sets.matches(constraintOf(wish).name), d) &&
          problem.devices[d].type == problem.devices[device].type) {
        device = d;
        return true;
      }
  return false;
}

/// The device that holds most bytes of what the members read, of those that are allowed.
std::optional<uint32_t> Solver::largestInputs(Members members, uint32_t which) const {
  std::vector<std::pair<uint32_t, uint64_t>> sums;
  for (uint32_t op : members)
    for (const Operand &operand : problem.ops[op].operands) {
      uint32_t device = operand.device;
      if (operand.op != none && levels[groups.classOf(operand.op)] < levels[which])
        device = outcome.decisions[operand.op].device;
      if (device == none || !contains(candidates, device))
        continue;
      auto it = std::ranges::find(sums, device, &std::pair<uint32_t, uint64_t>::first);
      if (it == sums.end())
        sums.emplace_back(device, operand.bytes);
      else
        it->second += operand.bytes;
    }
  std::optional<uint32_t> best;
  uint64_t most = 0;
  for (uint32_t d : order)
    for (auto [device, bytes] : sums)
      if (device == d && (!best || bytes > most)) {
        best = d;
        most = bytes;
      }
  return best;
}

void Solver::record(Members members, uint32_t device, bool followed) {
  uint32_t deciderOp = none, decider = none;
  auto better = [&](const Constraint &c) {
    if (decider == none)
      return true;
    const Constraint &best = problem.ops[deciderOp].constraints[decider];
    return c.kind < best.kind;
  };
  forEach(members, [&](uint32_t op, uint32_t i, const Constraint &c) {
    if (contains(sets.matches(c.name), device) && better(c)) {
      deciderOp = op;
      decider = i;
    }
  });
  for (uint32_t op : members) {
    Decision &decision = outcome.decisions[op];
    decision.device = device;
    decision.followed = followed;
    decision.deciderOp = deciderOp;
    decision.decider = decider;
    recordOwn(op, decision);
  }
}

/// What became of the op's own constraints, and which better devices have no kernel.
void Solver::recordOwn(uint32_t op, Decision &decision) const {
  const std::vector<Constraint> &own = problem.ops[op].constraints;
  uint32_t strongest = none;
  for (uint32_t i = 0; i < own.size(); ++i) {
    const Constraint &c = own[i];
    Words full = sets.matches(c.name);
    if (contains(full, decision.device)) {
      if (strongest == none || c.kind < own[strongest].kind)
        strongest = i;
      continue;
    }
    if (c.softness == Softness::any || c.kind > Kind::rule)
      continue;
    Why why = isEmpty(full)                ? Why::unknown
              : !intersects(kernels, full) ? Why::noKernel
                                           : Why::givesWay;
    decision.rejected.push_back({c.name, none, why});
    // A rule that gives way to a request was meant to.
    decision.fallBack |=
        c.softness == Softness::prefer && !(c.kind == Kind::rule && why == Why::givesWay);
  }
  if (strongest != none) {
    decision.deciderOp = op;
    decision.decider = strongest;
  }
  if (contains(kernels, order.front()) || decision.device == order.front())
    return;
  for (uint32_t d : order) {
    if (d == decision.device)
      break;
    if (!contains(kernels, d))
      decision.rejected.push_back({none, d, Why::noKernel});
  }
}

} // namespace

Outcome solve(const Problem &problem) { return Solver(problem).run(); }

} // namespace gantry::placement
