// Why a class of ops has no device: the smallest story that is still true.
//
// Each constraint and each op's kernels leave a set of devices; the intersection is empty. First
// the few that take devices away are kept, at most one a device; then each of those is tried
// without. Where several ops are left, the group memberships on the ways between them belong to the
// story: the tree of these ways has only such ops as leaves, so that each edge is needed.
#include "Groups.h"
#include "Sets.h"

#include <algorithm>
#include <map>

namespace gantry::placement {

namespace {

struct Item {
  Member member;
  Words set;
};

std::vector<Item> itemsOf(const Problem &problem, const Sets &sets,
                          std::span<const uint32_t> members, const Member *rule,
                          std::span<const Softened> softened) {
  std::vector<Item> items;
  auto add = [&](const Member &member, unsigned step) {
    uint32_t name = problem.ops[member.op].constraints[member.index].name;
    items.push_back({member, sets.matches(name, step)});
  };
  if (rule)
    add(*rule, problem.ops[rule->op].constraints[rule->index].softness == Softness::prefer ? 2 : 0);
  for (uint32_t op : rule ? std::span<const uint32_t>() : members)
    for (uint32_t i = 0; i < problem.ops[op].constraints.size(); ++i)
      if (std::optional<unsigned> step = hardStep(problem.ops[op].constraints[i]))
        add({Member::Type::constraint, op, i}, *step);
  for (const Softened &each : softened)
    if (each.step < 3)
      add(each.wish, each.step);
  std::ranges::sort(items, {}, [&](const Item &item) {
    return std::pair(problem.ops[item.member.op].constraints[item.member.index].kind, item.member);
  });
  for (uint32_t op : members)
    items.push_back({{Member::Type::kernels, op, 0}, sets.kernels(problem.ops[op].kernels)});
  return items;
}

/// Whether the items but `without` leave no device.
bool isUnsatisfiable(const std::vector<Item> &items, size_t without, size_t width) {
  std::vector<uint64_t> left(width, ~uint64_t(0));
  for (size_t i = 0; i < items.size(); ++i)
    if (i != without)
      narrow(left, items[i].set);
  return isEmpty(left);
}

/// Those that take devices away, then without those that are not needed.
std::vector<Item> minimise(const std::vector<Item> &items, size_t width) {
  std::vector<Item> kept;
  std::vector<uint64_t> left(width, ~uint64_t(0));
  for (const Item &item : items)
    if (narrow(left, item.set))
      kept.push_back(item);
  for (size_t i = kept.size(); i-- > 0;)
    if (isUnsatisfiable(kept, i, width))
      kept.erase(kept.begin() + static_cast<ptrdiff_t>(i));
  return kept;
}

/// Memberships on the shortest ways from `root` to `targets`, over ops of the class.
std::vector<Member> waysBetween(const Problem &problem, std::span<const uint32_t> members,
                                uint32_t root, const std::vector<uint32_t> &targets) {
  std::map<uint32_t, std::vector<uint32_t>> opsOf;
  for (uint32_t op : members)
    for (uint32_t group : problem.ops[op].groups)
      opsOf[group].push_back(op);
  struct Step {
    uint32_t from, group;
  };
  std::map<uint32_t, Step> reached{{root, {none, none}}};
  std::vector<uint32_t> queue{root};
  for (size_t i = 0; i < queue.size(); ++i)
    for (uint32_t group : problem.ops[queue[i]].groups) {
      for (uint32_t op : opsOf[group])
        if (reached.try_emplace(op, Step{queue[i], group}).second)
          queue.push_back(op);
      opsOf[group].clear();
    }
  std::vector<Member> ways;
  for (uint32_t op : targets)
    for (Step step = reached[op]; step.from != none; op = step.from, step = reached[op]) {
      ways.push_back({Member::Type::group, step.from, step.group});
      ways.push_back({Member::Type::group, op, step.group});
    }
  std::ranges::sort(ways);
  ways.erase(std::ranges::unique(ways).begin(), ways.end());
  return ways;
}

Failure::Type classify(const Problem &problem, const std::vector<Member> &members) {
  auto isLock = [&](const Member &m) {
    return m.type == Member::Type::constraint &&
           problem.ops[m.op].constraints[m.index].kind == Kind::lock;
  };
  if (std::ranges::any_of(members, isLock))
    return Failure::Type::staleLock;
  if (members.size() == 1)
    return members[0].type == Member::Type::constraint ? Failure::Type::unknownDevice
                                                       : Failure::Type::noKernel;
  bool oneOp = std::ranges::all_of(members, [&](const Member &m) { return m.op == members[0].op; });
  return oneOp && members.size() == 2 && members[1].type == Member::Type::kernels
             ? Failure::Type::noKernel
             : Failure::Type::conflict;
}

} // namespace

static Failure explain(const Problem &problem, const Sets &sets, std::span<const uint32_t> members,
                       const std::vector<Item> &items) {
  Failure failure;
  std::vector<uint32_t> ops;
  for (const Item &item : minimise(items, sets.width())) {
    failure.members.push_back(item.member);
    ops.push_back(item.member.op);
  }
  std::vector<Member> ways = waysBetween(problem, members, ops.front(), ops);
  failure.members.insert(failure.members.end(), ways.begin(), ways.end());
  failure.type = classify(problem, failure.members);
  return failure;
}

Failure explainConflict(const Problem &problem, const Sets &sets, std::span<const uint32_t> members,
                        const Member *rule) {
  return explain(problem, sets, members, itemsOf(problem, sets, members, rule, {}));
}

Failure explainStaleLock(const Problem &problem, const Sets &sets,
                         std::span<const uint32_t> members, std::span<const Softened> softened) {
  return explain(problem, sets, members, itemsOf(problem, sets, members, nullptr, softened));
}

} // namespace gantry::placement
