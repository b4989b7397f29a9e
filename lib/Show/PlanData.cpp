#include "PlanData.h"

#include "ExplainText.h"
#include "LiveMemory.h"

#include "gantry/Show/CommandNames.h"
#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/Repeats.h"

#include "gantry/Placement/FoldNames.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace gantry::show {

namespace {

using namespace plan;

/// Which command wrote the bytes of a buffer last, in the order of the plan.
class LastWriters {
public:
  void write(const fb::BufferRef &buffer, size_t command) {
    last[{buffer.space(), buffer.index(), buffer.offset()}] = {buffer.offset() + buffer.size(),
                                                               command};
  }
  /// The range that begins last at or before the buffer, if it reaches that far.
  std::optional<size_t> find(const fb::BufferRef &buffer) const {
    auto after = last.upper_bound({buffer.space(), buffer.index(), buffer.offset()});
    if (after == last.begin())
      return std::nullopt;
    const auto &[place, written] = *std::prev(after);
    const bool sameSpace =
        std::get<0>(place) == buffer.space() && std::get<1>(place) == buffer.index();
    return sameSpace && buffer.offset() < written.first ? std::optional(written.second)
                                                        : std::nullopt;
  }

private:
  std::map<std::tuple<fb::Space, uint32_t, uint64_t>, std::pair<uint64_t, size_t>> last;
};

/// The values that a copy moves, each with why.
void addCopied(JSONWriter &json, const Subject &subject, const fb::Command &command) {
  json.key("copied").beginArray();
  for (uint32_t value = 0; value < numCopied(command); ++value) {
    const Copied copied = copiedBy(command, value);
    const auto *cause = copied.cause < countOf(subject.plan.strings())
                            ? subject.plan.strings()->Get(copied.cause)
                            : nullptr;
    json.beginObject()
        .member("name", copied.name)
        .member("bytes", uint64_t(copied.source.size()))
        .member("cause", causeOf(textOf(cause)))
        .endObject();
  }
  json.endArray();
}

/// The kernel, and the ops in it by their place in "ops"; titled by the main one.
void addLaunch(JSONWriter &json, const Subject &subject, const Launch &launch,
               const std::unordered_map<const fb::PlacedOp *, size_t> &places) {
  json.member("kernel", textOf(listOf(subject.plan.kernels())[launch.command->kernel()]->symbol()));
  if (launch.main)
    json.member("title", nodeOf(*launch.main)).member("type", typeOf(*launch.main));
  json.key("placed").beginArray();
  for (const fb::PlacedOp *op : launch.ops)
    json.value(uint64_t(places.at(op)));
  json.endArray();
}

void addCommand(JSONWriter &json, const Subject &subject, const fb::Function &function,
                const fb::Command &command, const CommandNames &names) {
  json.member("device", uint32_t(command.device()))
      .member("queue", uint32_t(command.queue()))
      .member("does", fb::EnumNameOpcode(command.opcode()))
      .member("name", names.of(command))
      .member("loc", subject.where(textOf(command.location())))
      .key("ops")
      .beginArray();
  for (const auto *name : listOf(command.log_names()))
    json.value(textOf(name));
  json.endArray();
  if (command.opcode() != fb::Opcode::copy)
    return;
  const Copied first = copiedBy(command, 0);
  json.member("from", deviceOf(subject.plan, function, first.source))
      .member("to", deviceOf(subject.plan, function, first.target))
      .member("values", numCopied(command))
      .member("bytes", bytesCopied(command));
  addCopied(json, subject, command);
}

void addMeasured(JSONWriter &json, const MeasuredCommand &time) {
  json.member("measured_seconds", time.seconds);
  if (time.moment)
    json.member("measured_start", time.moment->first).member("measured_end", time.moment->second);
}

/// The ends of the function that a command uses, by number.
void addEnds(JSONWriter &json, const char *key, const fb::Command &command, fb::Space space) {
  std::set<uint32_t> ends;
  for (const fb::BufferRef *buffer : each(command.buffers()))
    if (buffer->space() == space)
      ends.insert(buffer->index());
  json.key(key).beginArray();
  for (uint32_t end : ends)
    json.value(end);
  json.endArray();
}

/// What is alike in repeated layers: the device, the queue, and what is done there.
uint64_t kindOf(const fb::Command &command) {
  std::string text =
      std::to_string(command.device()) + "," + std::to_string(command.queue()) + "," +
      std::to_string(static_cast<int>(command.opcode())) + "," +
      (command.opcode() == fb::Opcode::launch ? "k" + std::to_string(command.kernel())
                                              : std::to_string(bytesCopied(command)));
  return std::hash<std::string>()(text);
}

/// "repeats": stretches of "commands", by their places in that list, that are several times the
/// same; named by the path that their commands have in common.
void addRepeats(JSONWriter &json, const std::vector<const fb::Command *> &commands,
                const CommandNames &commandNames) {
  constexpr size_t worthFolding = 6, mostFolded = 30000;
  std::vector<uint64_t> kinds;
  for (const fb::Command *command : commands)
    if (kinds.size() < mostFolded)
      kinds.push_back(kindOf(*command));
  json.key("repeats").beginArray();
  for (const Repeat &repeat : findRepeats(kinds, worthFolding)) {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < repeat.period * repeat.times; ++i)
      names.push_back(commandNames.of(*commands[repeat.first + i]));
    const std::vector<placement::Part> parts = placement::outlineNames(names, names);
    json.beginObject()
        .member("first", uint64_t(repeat.first))
        .member("period", uint64_t(repeat.period))
        .member("times", uint64_t(repeat.times))
        .member("name", parts.empty() ? std::string() : parts.front().pattern)
        .endObject();
  }
  json.endArray();
}

/// "commands": launches, copies and fills by their number in the function, each with what it reads
/// from, when it runs as predicted, and what it took.
void addCommands(JSONWriter &json, const Subject &subject, const fb::Function &function,
                 const Measured *measured) {
  const Launches launches = subject.launchesOf(function, Ledger::of(subject.plan, function));
  std::unordered_map<const fb::Command *, const Launch *> launched;
  for (const Launch &launch : launches.all)
    launched.emplace(launch.command, &launch);
  std::unordered_map<const fb::PlacedOp *, size_t> places;
  for (const auto *op : listOf(function.placed_ops()))
    places.emplace(op, places.size());
  std::unordered_map<const fb::Command *, Moment> moments;
  for (const Moment &moment : predictRun(subject.plan, function))
    moments.emplace(moment.command, moment);
  const CommandNames names(subject.plan, function);
  LastWriters writers;
  json.key("commands").beginArray();
  const std::vector<PlacedCommand> commands = commandsOf(function);
  std::vector<const fb::Command *> drawn;
  for (size_t i = 0; i < commands.size(); ++i) {
    const fb::Command &command = *commands[i].command;
    const uint32_t buffers = countOf(command.buffers());
    if (buffers == 0)
      continue;
    drawn.push_back(&command);
    json.beginObject().member("at", uint64_t(i)).key("inside").boolean(commands[i].inside);
    addCommand(json, subject, function, command, names);
    if (auto launch = launched.find(&command); launch != launched.end())
      addLaunch(json, subject, *launch->second, places);
    if (auto moment = moments.find(&command); moment != moments.end())
      json.member("start", moment->second.start).member("end", moment->second.end);
    if (measured)
      if (auto time = measured->commands.find(&command); time != measured->commands.end())
        addMeasured(json, time->second);
    std::set<size_t> sources;
    for (uint32_t b = 0; b < buffers; ++b)
      if (auto writer = writers.find(*command.buffers()->Get(b));
          writer && !plan::writes(command, b))
        sources.insert(*writer);
    addEnds(json, "inputs", command, fb::Space::input);
    addEnds(json, "outputs", command, fb::Space::output);
    json.key("reads").beginArray();
    for (size_t source : sources)
      json.value(uint64_t(source));
    json.endArray().endObject();
    for (uint32_t b = 0; b < buffers; ++b)
      if (plan::writes(command, b))
        writers.write(*command.buffers()->Get(b), i);
  }
  json.endArray();
  addRepeats(json, drawn, names);
}

/// "peak": what is live of a transient arena at each command, most of it at `at`.
void addPeak(JSONWriter &json, const fb::Function &function, uint32_t arena) {
  const std::vector<PlacedCommand> commands = commandsOf(function);
  const LiveMemory memory = liveMemoryOf(function, arena, commands.size());
  if (memory.peak == 0)
    return;
  json.key("peak")
      .beginObject()
      .member("bytes", memory.peak)
      .member("at", uint64_t(memory.peakCommand))
      .member("name", textOf(commands[memory.peakCommand].command->name()))
      .key("live")
      .beginArray();
  for (uint64_t bytes : memory.live)
    json.value(bytes);
  json.endArray().endObject();
}

void addArenas(JSONWriter &json, const Subject &subject, const fb::Function &function) {
  json.key("arenas").beginArray();
  uint32_t index = 0;
  for (const auto *arena : listOf(subject.plan.arenas())) {
    json.beginObject()
        .member("device", uint32_t(arena->device()))
        .member("kind", fb::EnumNameArenaKind(arena->kind()))
        .member("bytes", uint64_t(arena->size()));
    if (arena->kind() == fb::ArenaKind::transient)
      addPeak(json, function, index);
    json.endObject();
    ++index;
  }
  json.endArray();
}

/// "reasons": why ops are where they are, with the ops in the tool's words.
void addReasons(JSONWriter &json, const Subject &subject, const fb::Function &function) {
  const std::vector<std::string_view> all = nodeNamesOf(function);
  json.key("reasons").beginArray();
  for (const Reason &reason : reasonsOf(subject, function, /*byRule=*/false))
    json.beginObject()
        .member("device", reason.devices.front())
        .member("why", reason.why)
        .member("ops", uint64_t(reason.ops.size()))
        .member("which", partsOf(reason.ops, all))
        .endObject();
  json.endArray();
}

} // namespace

std::string planData(const Reported &reported) {
  const auto &[subject, measured] = reported;
  return explanation(subject, [&](JSONWriter &json, const fb::Function &function) {
    const auto found = std::find_if(measured.begin(), measured.end(), [&](const Measured &times) {
      return times.function == textOf(function.name());
    });
    const Measured *times = found == measured.end() ? nullptr : &*found;
    json.member("summary",
                placementSummary(subject.plan, function, Ledger::of(subject.plan, function)));
    addValues(json, function);
    addReasons(json, subject, function);
    addArenas(json, subject, function);
    addCommands(json, subject, function, times);
    if (times)
      json.member("measured_seconds", times->seconds).member("measured_runs", times->runs);
  });
}

} // namespace gantry::show
