// What would have to change for an op to be on a device (spec P10).
//
// Only the op's class matters; what it reads stays where it is. Two ways are tried, dropping what
// stands in the way with and without a request for the device, each once by moving the whole class
// and once by taking the op out of its groups. The shortest that works is made minimal by leaving
// out one change after the other.
//
// Classes can be the whole graph, and all of their ops may be asked about. Ops that are alike are
// one to the solver, so an answer costs as much as the class has ops that differ.
#include "Groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>

namespace gantry::placement {

namespace {

/// What the solver sees of an op, but for what it reads.
using Likeness =
    std::tuple<uint32_t, std::vector<uint32_t>, std::vector<std::tuple<Kind, Softness, uint32_t>>>;

Likeness likenessOf(const Op &op) {
  Likeness likeness{op.kernels, op.groups, {}};
  for (const Constraint &c : op.constraints)
    std::get<2>(likeness).emplace_back(c.kind, c.softness, c.name);
  return likeness;
}

/// Ops of a class that are alike.
struct Alike {
  struct Reads {
    uint64_t operands = 0, bytes = 0;
  };
  std::vector<uint32_t> ops;       ///< of the whole, ascending
  std::map<uint32_t, Reads> reads; ///< by the device where it is
};

/// The class of one op as a problem of its own: first the op in question, then one op for all
/// others that are alike.
struct Part {
  static constexpr uint32_t asked = 0;

  Problem problem;
  uint32_t op;                                      ///< of the whole, the one in question
  std::vector<std::span<const uint32_t>> standsFor; ///< of the whole, by op; `op` is left out

  size_t count(const Member &member) const {
    std::span<const uint32_t> ops = standsFor[member.op];
    return ops.size() - (member.op != asked && std::ranges::binary_search(ops, op));
  }
  uint32_t lastOf(uint32_t other) const {
    std::span<const uint32_t> ops = standsFor[other];
    return ops.back() == op ? ops[ops.size() - 2] : ops.back();
  }
};

/// What all questions about a problem have in common.
class Whole {
public:
  explicit Whole(const Problem &problem) : problem(problem), withoutOps(problem) {
    withoutOps.ops.clear();
  }

  bool isOn(uint32_t op, uint32_t device) const {
    auto fails = [&](const Failure &failure) { return failure.op() == op; };
    return std::ranges::none_of(now.failures, fails) && now.decisions[op].device == device;
  }
  bool hasKernel(uint32_t op, uint32_t device) const {
    return problem.kernelSets[problem.ops[op].kernels][device];
  }
  Part takeClass(uint32_t op);

private:
  void countReads(uint32_t op, std::map<uint32_t, Alike::Reads> &reads) const;
  const std::vector<Alike> &sortClass(uint32_t which);

  const Problem &problem;
  Problem withoutOps;
  Outcome now = solve(problem);
  Groups groups{problem};
  std::map<uint32_t, std::vector<Alike>> classes; ///< those that were asked about
};

void Whole::countReads(uint32_t op, std::map<uint32_t, Alike::Reads> &reads) const {
  for (const Operand &operand : problem.ops[op].operands) {
    uint32_t device = operand.op == none ? operand.device : now.decisions[operand.op].device;
    ++reads[device].operands;
    reads[device].bytes += operand.bytes;
  }
}

const std::vector<Alike> &Whole::sortClass(uint32_t which) {
  auto [sorted, isNew] = classes.try_emplace(which);
  if (!isNew)
    return sorted->second;
  std::map<Likeness, Alike> found;
  for (uint32_t op : groups.members(which)) {
    Alike &alike = found[likenessOf(problem.ops[op])];
    alike.ops.push_back(op);
    countReads(op, alike.reads);
  }
  for (auto &[likeness, alike] : found)
    sorted->second.push_back(std::move(alike));
  return sorted->second;
}

Part Whole::takeClass(uint32_t op) {
  const std::vector<Alike> &alikes = sortClass(groups.classOf(op));
  Part part{withoutOps, op, {}};
  auto add = [&](std::span<const uint32_t> ops, const std::map<uint32_t, Alike::Reads> &reads) {
    Op made = problem.ops[ops.front()];
    made.operands.clear();
    for (const auto &[device, read] : reads)
      made.operands.push_back({none, device, read.bytes});
    part.problem.ops.push_back(std::move(made));
    part.standsFor.push_back(ops);
  };
  std::map<uint32_t, Alike::Reads> own;
  countReads(op, own);
  for (const Alike &alike : alikes)
    if (auto found = std::ranges::lower_bound(alike.ops, op);
        found != alike.ops.end() && *found == op)
      add({found, 1}, own);
  for (const Alike &alike : alikes) {
    if (!std::ranges::binary_search(alike.ops, op)) {
      add(alike.ops, alike.reads);
      continue;
    }
    if (alike.ops.size() == 1)
      continue;
    std::map<uint32_t, Alike::Reads> reads = alike.reads;
    for (const auto &[device, read] : own) {
      Alike::Reads &left = reads[device];
      left.operands -= read.operands;
      left.bytes -= read.bytes;
      if (!left.operands)
        reads.erase(device);
    }
    add(alike.ops, reads);
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
    changed.ops[Part::asked].constraints.push_back(
        {Kind::requested, Softness::strict, changed.intern(changed.devices[device]), none});
  return changed;
}

bool works(const Part &part, const std::vector<Member> &drop, bool askFor, uint32_t device) {
  Outcome outcome = solve(apply(part, drop, askFor, device));
  return outcome.ok() && outcome.decisions[Part::asked].device == device;
}

/// Constraints of an op of the part that do not allow the device.
std::vector<Member> inTheWay(const Part &part, uint32_t op, uint32_t device) {
  std::vector<Member> found;
  const std::vector<Constraint> &constraints = part.problem.ops[op].constraints;
  for (uint32_t i = 0; i < constraints.size(); ++i)
    if (!part.problem.names[constraints[i].name].matches(part.problem.devices[device]))
      found.push_back({Member::Type::constraint, op, i});
  return found;
}

/// Those of all ops but the one in question, in the order of the last ops that have them: what is
/// left out first is what stands last.
std::vector<Member> inTheWayOfOthers(const Part &part, uint32_t device) {
  std::vector<Member> found;
  for (uint32_t op = Part::asked + 1; op < part.problem.ops.size(); ++op)
    std::ranges::copy(inTheWay(part, op, device), std::back_inserter(found));
  std::ranges::sort(found, {}, [&](const Member &member) {
    return std::pair(part.lastOf(member.op), member.index);
  });
  return found;
}

/// How many changes of the whole these are.
size_t countOf(const Part &part, const std::vector<Member> &drop) {
  size_t count = 0;
  for (const Member &member : drop)
    count += part.count(member);
  return count;
}

/// The same changes in the whole: those of the op in question, then those of the others in order.
std::vector<Member> inTheWhole(const Part &part, const std::vector<Member> &drop) {
  std::vector<Member> own, others;
  for (const Member &member : drop)
    if (member.op == Part::asked)
      own.push_back({member.type, part.op, member.index});
    else
      for (uint32_t op : part.standsFor[member.op])
        if (op != part.op)
          others.push_back({member.type, op, member.index});
  std::ranges::sort(others);
  own.insert(own.end(), others.begin(), others.end());
  return own;
}

WhyNot whyNot(Whole &whole, uint32_t op, uint32_t device) {
  WhyNot answer;
  if (whole.isOn(op, device)) {
    answer.isThere = true;
    return answer;
  }
  if (!whole.hasKernel(op, device)) {
    answer.hasKernel = false;
    return answer;
  }
  const Part part = whole.takeClass(op);
  const std::vector<Member> own = inTheWay(part, Part::asked, device),
                            together = inTheWayOfOthers(part, device);
  std::vector<Member> apart;
  for (uint32_t group : part.problem.ops[Part::asked].groups)
    apart.push_back({Member::Type::group, Part::asked, group});

  std::optional<size_t> least;
  std::vector<Member> best;
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
    const size_t changes = countOf(part, drop) + askFor;
    if (least && changes >= *least)
      return;
    least = changes;
    best = std::move(drop);
    answer.askFor = askFor;
  };
  for (bool askFor : {false, true}) {
    consider({}, askFor);
    // Of two answers that are as short, the one that moves nothing else.
    consider(apart, askFor);
    consider(together, askFor);
  }
  answer.drop = inTheWhole(part, best);
  return answer;
}

} // namespace

std::vector<WhyNot> whyNot(const Problem &problem, std::span<const uint32_t> ops, uint32_t device) {
  Whole whole(problem);
  std::vector<WhyNot> answers;
  for (uint32_t op : ops)
    answers.push_back(whyNot(whole, op, device));
  return answers;
}

WhyNot whyNot(const Problem &problem, uint32_t op, uint32_t device) {
  return whyNot(problem, std::span(&op, 1), device).front();
}

} // namespace gantry::placement
