// Times of real runs. The library is built without exceptions, so that nlohmann-json would abort on
// a wrong type: every access here asks for the type first.
#include "gantry/Show/Measured.h"

#include "gantry/Plan/Ledger.h"
#include "gantry/Show/CommandNames.h"
#include "gantry/Show/Reports.h"
#include "gantry/Support/Names.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace gantry::show {

using namespace plan;

namespace {

using JSON = nlohmann::json;

/// Of an object; null when there is none of that name, or this is no object.
const JSON *member(const JSON &object, const char *key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}

const JSON *arrayOf(const JSON &object, const char *key) {
  const JSON *array = member(object, key);
  return array && array->is_array() ? array : nullptr;
}

std::string textOf(const JSON &object, const char *key) {
  const JSON *text = member(object, key);
  return text && text->is_string() ? *text->get_ptr<const std::string *>() : "";
}

/// From 0 on and finite; nothing of other things.
std::optional<double> numberOf(const JSON &object, const char *key) {
  const JSON *number = member(object, key);
  const double value = number && number->is_number() ? number->get<double>() : -1;
  return value >= 0 && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> wholeOf(const JSON &object, const char *key) {
  const JSON *number = member(object, key);
  return number && number->is_number_unsigned() ? std::optional(number->get<uint64_t>())
                                                : std::nullopt;
}

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Status lacks(const char *what) {
  return Status::invalidArgument(std::string("an entry lacks ") + what +
                                 ", which `gantry bench --ops --json` and `gantry run --trace` "
                                 "write");
}

/// The function that a file is about, and its commands by number.
class Commands {
public:
  static Expected<Commands> of(const fb::Plan &plan, const std::string &name) {
    for (const fb::Function *function : each(plan.functions()))
      if (plan::textOf(function->name()) == name)
        return Commands(plan, *function);
    return Status::invalidArgument("it is of a function '" + printable(name) +
                                   "', which this plan does not have");
  }

  /// That of an entry, which has its number and its name.
  Expected<const fb::Command *> find(const JSON &entry, const JSON &numbered) const {
    const auto number = wholeOf(numbered, "command");
    if (!number)
      return lacks("the number of its command");
    if (*number >= all.size())
      return Status::invalidArgument("it is of another plan: it has a command " +
                                     std::to_string(*number) + ", this plan has " +
                                     std::to_string(all.size()));
    const fb::Command &command = *all[*number].command;
    const std::string there = textOf(entry, "name") + "' on " + textOf(numbered, "device");
    if (const std::string here = named(command, textOf(entry, "name")); there != here)
      return Status::invalidArgument("it is of another plan: command " + std::to_string(*number) +
                                     " is '" + printable(there) + " there and '" + printable(here) +
                                     " in this plan");
    return &command;
  }

private:
  Commands(const fb::Plan &plan, const fb::Function &function)
      : plan(plan), all(commandsOf(function)), names(plan, function) {}

  /// What a command is called and where it is done; one that only orders others is nowhere.
  std::string named(const fb::Command &command, const std::string &nameless) const {
    if (countOf(command.buffers()) == 0)
      return "order' nowhere";
    const std::string_view own = names.of(command);
    return (own.empty() ? nameless : std::string(own)) + "' on " +
           shortDeviceName(plan, command.device());
  }

  const fb::Plan &plan;
  std::vector<PlacedCommand> all;
  CommandNames names;
};

/// What `bench --ops` writes: a time for each command.
Expected<Measured> readBench(const JSON &json, const JSON &entries, const fb::Plan &plan) {
  Measured measured;
  measured.function = textOf(json, "function");
  auto commands = Commands::of(plan, measured.function);
  if (!commands)
    return commands.status();
  measured.runs = wholeOf(json, "timed_runs").value_or(1);
  measured.seconds = numberOf(json, "median_ms").value_or(0) * 1e-3;
  // Simulated devices take the host's time for their work; what is asked of them is their clock's.
  if (const auto onClock = numberOf(json, "virtual_ms"))
    measured.seconds = *onClock * 1e-3;
  for (const JSON &entry : entries) {
    auto command = commands->find(entry, entry);
    if (!command)
      return command.status();
    const auto milliseconds = numberOf(entry, "median_ms");
    if (!milliseconds)
      return lacks("its median_ms");
    measured.commands[*command].seconds = *milliseconds * 1e-3;
  }
  return measured;
}

/// What `run --trace` writes: slices of runs and of commands in them, in microseconds.
class TraceReader {
public:
  explicit TraceReader(const Commands &commands) : commands(commands) {}

  Status read(const JSON &events) {
    for (const JSON &event : events)
      if (textOf(event, "ph") == "X")
        GANTRY_RETURN_IF_ERROR(textOf(event, "cat") == "run" ? addRun(event) : addCommand(event));
    return runs.empty() ? Status::invalidArgument("it has no run") : Status();
  }

  void give(Measured &measured) const {
    std::vector<double> lengths;
    for (const Run &run : runs)
      lengths.push_back(run.seconds);
    measured.runs = runs.size();
    measured.seconds = medianOf(lengths);
    std::unordered_map<const fb::Command *, std::vector<double>> taken;
    for (const Run &run : runs)
      for (const auto &[command, time] : run.commands)
        taken[command].push_back(time.seconds);
    for (auto &[command, seconds] : taken)
      measured.commands[command].seconds = medianOf(seconds);
    const Run &example = *std::min_element(runs.begin(), runs.end(), [&](auto &a, auto &b) {
      return std::abs(a.seconds - measured.seconds) < std::abs(b.seconds - measured.seconds);
    });
    for (const auto &[command, time] : example.commands)
      measured.commands[command].moment = time.moment;
  }

private:
  struct Run {
    double start = 0, seconds = 0;
    std::unordered_map<const fb::Command *, MeasuredCommand> commands;
  };

  static Expected<std::pair<double, double>> spanOf(const JSON &event) {
    const auto start = numberOf(event, "ts"), length = numberOf(event, "dur");
    if (!start || !length)
      return lacks("its time");
    return std::pair(*start * 1e-6, *length * 1e-6);
  }

  Status addRun(const JSON &event) {
    const auto span = spanOf(event);
    if (!span)
      return span.status();
    runs.push_back({span->first, span->second, {}});
    return {};
  }

  /// A slice behind the one of its run.
  Status addCommand(const JSON &event) {
    const JSON *about = member(event, "args");
    const auto command = commands.find(event, about ? *about : event);
    if (!command)
      return command.status();
    const auto span = spanOf(event);
    if (!span)
      return span.status();
    if (runs.empty())
      return lacks("its run");
    MeasuredCommand &time = runs.back().commands[*command];
    time.seconds += span->second;
    const double start = std::max(0.0, span->first - runs.back().start);
    if (!time.moment)
      time.moment = {start, start + span->second};
    return {};
  }

  const Commands &commands;
  std::vector<Run> runs;
};

Expected<Measured> readTrace(const JSON &json, const JSON &events, const fb::Plan &plan) {
  Measured measured;
  const JSON *about = member(json, "otherData");
  measured.function = about ? textOf(*about, "function") : "";
  auto commands = Commands::of(plan, measured.function);
  if (!commands)
    return commands.status();
  TraceReader reader(*commands);
  GANTRY_RETURN_IF_ERROR(reader.read(events));
  reader.give(measured);
  return measured;
}

} // namespace

Expected<Measured> readMeasured(std::string_view text, const fb::Plan &plan) {
  const JSON json = JSON::parse(text, nullptr, /*allow_exceptions=*/false);
  if (const JSON *events = arrayOf(json, "traceEvents"))
    return readTrace(json, *events, plan);
  if (const JSON *commands = arrayOf(json, "commands"))
    return readBench(json, *commands, plan);
  return Status::invalidArgument("neither what `gantry bench --ops --json` writes nor a trace of "
                                 "`gantry run --trace`");
}

Measured measuredOf(const fb::Function &function, std::span<const Moment> moments) {
  Measured measured;
  measured.function = plan::textOf(function.name());
  for (const Moment &moment : moments) {
    MeasuredCommand &time = measured.commands[moment.command];
    time.seconds += moment.end - moment.start;
    if (!time.moment)
      time.moment = {moment.start, moment.end};
    measured.seconds = std::max(measured.seconds, moment.end);
  }
  return measured;
}

} // namespace gantry::show
