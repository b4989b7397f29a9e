#include "DiffGroups.h"

#include "gantry/Show/Text.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <tuple>

namespace gantry::show {

std::vector<OpGroup> groupsOf(const std::vector<OpChange> &changes, const FunctionDiff &diff) {
  std::map<std::array<std::string, 3>, std::vector<std::string_view>> names;
  for (const OpChange &change : changes)
    names[{change.before, change.after, change.rule}].push_back(change.node);
  const std::vector<std::string_view> all(diff.nodes.begin(), diff.nodes.end());
  std::vector<OpGroup> groups;
  for (const auto &[way, ops] : names)
    groups.push_back({way[0], way[1], way[2], ops.size(), partsOf(ops, all)});
  std::stable_sort(groups.begin(), groups.end(),
                   [](const OpGroup &a, const OpGroup &b) { return a.ops > b.ops; });
  return groups;
}

std::vector<CopyGroup> groupsOf(const std::vector<CopyChange> &copies) {
  std::vector<CopyGroup> groups;
  std::vector<std::vector<std::string>> causes;
  std::map<std::tuple<bool, plan::CopyTime, std::string, std::string>, size_t> places;
  for (const CopyChange &copy : copies) {
    const auto [place, isNew] =
        places.try_emplace({copy.count > 0, copy.time, copy.from, copy.to}, groups.size());
    if (isNew) {
      groups.push_back({0, copy.time, copy.kind, copy.from, copy.to, 0, ""});
      causes.emplace_back();
    }
    CopyGroup &group = groups[place->second];
    group.count += copy.count;
    group.bytes += static_cast<uint64_t>(std::abs(copy.count)) * copy.bytes;
    causes[place->second].push_back(causeOf(copy.cause));
  }
  for (size_t i = 0; i < groups.size(); ++i)
    groups[i].causes = someOf(causes[i]);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CopyGroup &a, const CopyGroup &b) { return a.bytes > b.bytes; });
  return groups;
}

static void addOps(JSONWriter &json, const char *what, const std::vector<OpChange> &changes,
                   const FunctionDiff &diff) {
  for (const OpGroup &group : groupsOf(changes, diff))
    json.beginObject()
        .member("what", what)
        .member("ops", uint64_t(group.ops))
        .member("from", group.from)
        .member("to", group.to)
        .member("rule", group.rule)
        .member("which", group.which)
        .endObject();
}

std::string groupsAsJSON(const PlanDiff &diff) {
  JSONWriter json;
  json.beginArray();
  for (const FunctionDiff &function : diff.functions) {
    if (function.same())
      continue;
    json.beginObject().member("name", function.name).key("exists").beginArray();
    json.boolean(function.exists.before).boolean(function.exists.after).endArray();
    json.key("ops").beginArray();
    addOps(json, "moved", function.moved, function);
    addOps(json, "added", function.added, function);
    addOps(json, "gone", function.gone, function);
    json.endArray().key("copies").beginArray();
    for (const CopyGroup &group : groupsOf(function.copies))
      json.beginObject()
          .member("count", group.count)
          .member("when", timeOf(group.time))
          .member("from", group.from)
          .member("to", group.to)
          .member("bytes", group.bytes)
          .member("causes", group.causes)
          .endObject();
    json.endArray().endObject();
  }
  return json.endArray().text();
}

} // namespace gantry::show
