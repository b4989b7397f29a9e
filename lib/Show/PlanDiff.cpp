#include "gantry/Show/PlanDiff.h"

#include "gantry/Show/Reports.h"

#include "gantry/Plan/CommandClock.h"
#include "gantry/Support/JSONWriter.h"

#include <algorithm>
#include <map>

namespace gantry::show {

using namespace plan;

namespace {

/// Elements of both lists by key, in the order of the first and then of the second.
template <typename Value>
struct Pairs {
  std::vector<std::pair<const Value *, const Value *>> pairs;
  std::map<std::string, size_t> places;

  void add(std::string key, const Value *value, bool isSecond) {
    auto [place, isNew] = places.try_emplace(std::move(key), pairs.size());
    if (isNew)
      pairs.emplace_back(nullptr, nullptr);
    (isSecond ? pairs[place->second].second : pairs[place->second].first) = value;
  }
};

/// Stable names are unique; ops without one are told apart by their kind and number.
Pairs<fb::PlacedOp> pairOps(const fb::Function *before, const fb::Function *after) {
  Pairs<fb::PlacedOp> ops;
  for (const bool isSecond : {false, true}) { // both may be one function of one plan
    const fb::Function *function = isSecond ? after : before;
    std::map<std::string, size_t> nameless;
    if (function)
      for (const auto *op : listOf(function->placed_ops())) {
        std::string key(textOf(op->name()));
        if (key.empty()) {
          key = "\n" + std::string(textOf(op->log_name()));
          key += std::to_string(nameless[key]++);
        }
        ops.add(std::move(key), op, isSecond);
      }
  }
  return ops;
}

using CopyKey = std::tuple<CopyTime, fb::CopyKind, std::string, std::string, uint64_t, std::string>;

void countCopies(const fb::Plan &plan, const Ledger &ledger, int64_t sign,
                 std::map<CopyKey, int64_t> &counts) {
  for (const LedgerCopy &copy : ledger.copies)
    counts[{copy.time, copy.kind, std::string(fullDeviceName(plan, copy.from)),
            std::string(fullDeviceName(plan, copy.to)), copy.bytes, std::string(copy.cause)}] +=
        sign;
}

uint64_t bytesOf(const Ledger &ledger, bool atLoad) {
  uint64_t bytes = 0;
  for (const LedgerCopy &copy : ledger.copies)
    if ((copy.time == CopyTime::load) == atLoad)
      bytes += copy.bytes;
  return bytes;
}

class Differ {
public:
  Differ(const fb::Plan &before, const fb::Plan &after) : before(before), after(after) {}

  FunctionDiff function(const fb::Function *first, const fb::Function *second) const {
    FunctionDiff diff;
    diff.name = textOf((first ? first : second)->name());
    diff.exists = {first != nullptr, second != nullptr};
    for (const auto &[a, b] : pairOps(first, second).pairs)
      compareOps(a, b, diff);
    const Ledger a = first ? Ledger::of(before, *first) : Ledger();
    const Ledger b = second ? Ledger::of(after, *second) : Ledger();
    std::map<CopyKey, int64_t> counts;
    countCopies(before, a, -1, counts);
    countCopies(after, b, +1, counts);
    for (const auto &[key, count] : counts)
      if (count) {
        const auto &[time, kind, from, to, bytes, cause] = key;
        diff.copies.push_back({count, time, kind, from, to, bytes, cause});
      }
    diff.bytesPerRun = {bytesOf(a, false), bytesOf(b, false)};
    diff.bytesAtLoad = {bytesOf(a, true), bytesOf(b, true)};
    diff.seconds = {first ? predictedSeconds(before, *first) : 0,
                    second ? predictedSeconds(after, *second) : 0};
    return diff;
  }

private:
  void compareOps(const fb::PlacedOp *a, const fb::PlacedOp *b, FunctionDiff &diff) const {
    const fb::PlacedOp &any = b ? *b : *a;
    OpChange change;
    change.name = textOf(any.name());
    change.op = textOf(any.log_name());
    change.node = nodeOf(any);
    change.type = typeOf(any);
    change.sourceOp = textOf(any.source_op());
    diff.nodes.push_back(change.node);
    change.rule = textOf(any.rule());
    if (a)
      change.before = fullDeviceName(before, a->device());
    if (b)
      change.after = fullDeviceName(after, b->device());
    if (!a)
      diff.added.push_back(std::move(change));
    else if (!b)
      diff.gone.push_back(std::move(change));
    else if (change.before != change.after)
      diff.moved.push_back(std::move(change));
  }

  const fb::Plan &before;
  const fb::Plan &after;
};

/// Bytes of arenas by device name and kind.
void addMemory(const fb::Plan &plan, bool isSecond, std::vector<MemoryDiff> &memory) {
  for (uint32_t d = 0; d < plan.devices()->size(); ++d) {
    const std::string name(fullDeviceName(plan, d));
    auto place = std::find_if(memory.begin(), memory.end(),
                              [&](const MemoryDiff &known) { return known.device == name; });
    if (place == memory.end())
      place = memory.insert(memory.end(), MemoryDiff{name, {}});
    for (const auto *arena : listOf(plan.arenas()))
      if (arena->device() == d) {
        Both<uint64_t> &size = place->sizes[static_cast<size_t>(arena->kind())];
        (isSecond ? size.after : size.before) += arena->size();
      }
  }
}

} // namespace

bool FunctionDiff::same() const {
  return !exists.differ() && moved.empty() && added.empty() && gone.empty() && copies.empty() &&
         !seconds.differ();
}

bool MemoryDiff::same() const {
  return std::none_of(std::begin(sizes), std::end(sizes),
                      [](const Both<uint64_t> &size) { return size.differ(); });
}

bool PlanDiff::same() const {
  const auto isSame = [](const auto &part) { return part.same(); };
  return std::all_of(functions.begin(), functions.end(), isSame) &&
         std::all_of(memory.begin(), memory.end(), isSame);
}

PlanDiff diffPlans(const fb::Plan &before, const fb::Plan &after) {
  PlanDiff diff;
  Pairs<fb::Function> functions;
  for (const bool isSecond : {false, true})
    for (const auto *function : listOf((isSecond ? after : before).functions()))
      functions.add(std::string(textOf(function->name())), function, isSecond);
  const Differ differ(before, after);
  for (const auto &[first, second] : functions.pairs)
    diff.functions.push_back(differ.function(first, second));
  addMemory(before, false, diff.memory);
  addMemory(after, true, diff.memory);
  return diff;
}

static void addOps(JSONWriter &json, const char *key, const std::vector<OpChange> &changes) {
  json.key(key).beginArray();
  for (const OpChange &change : changes) {
    json.beginObject()
        .member("name", change.name)
        .member("op", change.op)
        .member("node", change.node)
        .member("source_op", change.sourceOp);
    if (!change.before.empty())
      json.member("from", change.before);
    if (!change.after.empty())
      json.member("to", change.after);
    json.member("rule", change.rule).endObject();
  }
  json.endArray();
}

static void addCopies(JSONWriter &json, const std::vector<CopyChange> &copies) {
  constexpr const char *times[] = {"load", "run", "inside"};
  json.key("copies").beginArray();
  for (const CopyChange &copy : copies)
    json.beginObject()
        .member("count", copy.count)
        .member("time", times[static_cast<size_t>(copy.time)])
        .member("kind", plan::copyKindName(copy.kind))
        .member("from", copy.from)
        .member("to", copy.to)
        .member("bytes", copy.bytes)
        .member("cause", copy.cause)
        .endObject();
  json.endArray();
}

template <typename T>
static void addBoth(JSONWriter &json, const char *key, const Both<T> &both) {
  json.key(key).beginArray().value(both.before).value(both.after).endArray();
}

std::string diffAsJSON(const PlanDiff &diff) {
  JSONWriter json;
  json.beginObject().key("same").boolean(diff.same()).key("functions").beginArray();
  for (const FunctionDiff &function : diff.functions) {
    json.beginObject().member("name", function.name).key("same").boolean(function.same());
    addOps(json, "moved", function.moved);
    addOps(json, "added", function.added);
    addOps(json, "gone", function.gone);
    addCopies(json, function.copies);
    addBoth(json, "copied_bytes_per_run", function.bytesPerRun);
    addBoth(json, "copied_bytes_at_load", function.bytesAtLoad);
    addBoth(json, "predicted_seconds", function.seconds);
    json.endObject();
  }
  json.endArray().key("memory").beginArray();
  for (const MemoryDiff &device : diff.memory) {
    json.beginObject().member("device", device.device);
    addBoth(json, "constants", device.sizes[0]);
    addBoth(json, "variables", device.sizes[1]);
    addBoth(json, "transient", device.sizes[2]);
    json.endObject();
  }
  return json.endArray().endObject().text();
}

} // namespace gantry::show
