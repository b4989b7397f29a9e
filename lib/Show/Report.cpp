#include "gantry/Show/Report.h"

#include "LiveMemory.h"
#include "ReportPage.h"

#include "gantry/Show/PlacementLog.h"
#include "gantry/Show/Repeats.h"

#include "gantry/Placement/FoldNames.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/Names.h"

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

void addCommand(JSONWriter &json, const Subject &subject, const fb::Function &function,
                const fb::Command &command) {
  json.member("device", uint32_t(command.device()))
      .member("queue", uint32_t(command.queue()))
      .member("does", fb::EnumNameOpcode(command.opcode()))
      .member("name", textOf(command.name()))
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
void addRepeats(JSONWriter &json, const std::vector<const fb::Command *> &commands) {
  constexpr size_t worthFolding = 6, mostFolded = 4000;
  std::vector<uint64_t> kinds;
  for (const fb::Command *command : commands)
    if (kinds.size() < mostFolded)
      kinds.push_back(kindOf(*command));
  json.key("repeats").beginArray();
  for (const Repeat &repeat : findRepeats(kinds, worthFolding)) {
    std::vector<std::string_view> names;
    for (size_t i = 0; i < repeat.period * repeat.times; ++i)
      names.push_back(textOf(commands[repeat.first + i]->name()));
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
/// from and when it runs as predicted.
void addCommands(JSONWriter &json, const Subject &subject, const fb::Function &function) {
  std::unordered_map<const fb::Command *, Moment> moments;
  for (const Moment &moment : predictRun(subject.plan, function))
    moments.emplace(moment.command, moment);
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
    addCommand(json, subject, function, command);
    if (auto moment = moments.find(&command); moment != moments.end())
      json.member("start", moment->second.start).member("end", moment->second.end);
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
  addRepeats(json, drawn);
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

/// Inside of a script element "<" may begin its end.
std::string forScript(const std::string &json) {
  std::string data;
  for (char c : json)
    c == '<' ? data += "\\u003c" : data += c;
  return data;
}

/// Text in the page itself.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

void replace(std::string &page, std::string_view mark, const std::string &text) {
  page.replace(page.find(mark), mark.size(), text);
}

} // namespace

std::string reportData(const Subject &subject) {
  return explanation(subject, [&](JSONWriter &json, const fb::Function &function) {
    json.member("summary",
                placementSummary(subject.plan, function, Ledger::of(subject.plan, function)));
    addValues(json, function);
    addArenas(json, subject, function);
    addCommands(json, subject, function);
  });
}

std::string reportPage(const Subject &subject) {
  const std::string source = printable(textOf(subject.plan.source()));
  std::string page(reportTemplate);
  replace(page, "GANTRY_REPORT_DATA", forScript(reportData(subject)));
  // After the data, which may hold any text; this mark stands before them.
  replace(page, "GANTRY_REPORT_TITLE", escaped(source.empty() ? "Gantry plan" : source));
  return page;
}

} // namespace gantry::show
