#include "Trace.h"

#include "OpTimes.h"
#include "Print.h"

#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/Ledger.h"
#include "gantry/Plan/Views.h"
#include "gantry/Show/CommandNames.h"
#include "gantry/Support/JSONWriter.h"

#include <cmath>
#include <set>

namespace gantry::tool {

namespace {

namespace fb = plan::fb;

/// Number of the process of the runs, and of a device's.
constexpr uint32_t ofRuns = 0;
uint32_t processOf(uint32_t device) { return device + 1; }

/// The format counts microseconds. Whole nanoseconds, so that what touches on the clock touches in
/// the file: ends are written as lengths, and a rounded sum could lie past the next beginning.
struct Span {
  int64_t start, end;

  Span(double from, double to) : start(std::llround(from * 1e9)), end(std::llround(to * 1e9)) {}
};

class TraceWriter {
public:
  TraceWriter(const fb::Plan &plan, const fb::Function &function)
      : plan(plan), function(function), clock(plan, function),
        numbers(plan::numbersOfCommands(function)), names(plan, function) {}

  std::string write(std::span<const TracedRun> runs) {
    json.beginObject().member("displayTimeUnit", "ms").key("otherData").beginObject();
    json.member("function", plan::textOf(function.name())).endObject().key("traceEvents");
    json.beginArray();
    name("process_name", ofRuns, 0, "runs of " + std::string(plan::textOf(function.name())));
    for (size_t number = 0; number < runs.size(); ++number) {
      const TracedRun &run = runs[number];
      beginSlice("run " + std::to_string(number + 1), "run", ofRuns, 0, {run.start, run.end});
      json.endObject();
      for (const runtime::CommandEvent &event : run.events)
        addEvent(event, run.start);
    }
    json.endArray().endObject();
    return json.text() + "\n";
  }

private:
  void addEvent(const runtime::CommandEvent &event, double runStart) {
    const fb::Command &command = *event.command;
    const uint32_t process = processOf(command.device());
    nameTracks(command.device(), event.queue);
    const std::string text(names.of(command));
    beginSlice(text.empty() ? kindOf(command) : text, fb::EnumNameOpcode(command.opcode()), process,
               event.queue, {runStart + event.start, runStart + event.end});
    json.key("args").beginObject();
    json.member("command", uint64_t(numbers.at(&command)))
        .member("location", plan::textOf(command.location()))
        .member("device", shortDeviceName(plan, command.device()))
        .member("predicted_us", clock.duration(command) * 1e6);
    if (command.opcode() == fb::Opcode::launch)
      addLaunch(command);
    if (command.opcode() == fb::Opcode::copy)
      addCopy(command);
    json.endObject().endObject();
  }

  void addLaunch(const fb::Command &command) {
    json.member("kernel", kernelOf(plan, command)).key("ops").beginArray();
    for (const auto *op : listOf(command.log_names()))
      json.value(textOf(op));
    json.endArray()
        .member("items", uint64_t(command.items()))
        .member("flops", uint64_t(command.flops()))
        .member("bytes", uint64_t(command.bytes()));
  }

  void addCopy(const fb::Command &command) {
    const plan::Copied first = plan::copiedBy(command, 0);
    json.member("from", deviceOf(first.source))
        .member("to", deviceOf(first.target))
        .member("values", uint64_t(plan::numCopied(command)))
        .member("bytes", plan::bytesCopied(command));
  }

  std::string deviceOf(const fb::BufferRef &buffer) const {
    return shortDeviceName(plan, plan::deviceOf(plan, function, buffer));
  }

  /// What a device and a queue are called, when they are met first.
  void nameTracks(uint32_t device, uint32_t queue) {
    if (devices.insert(device).second) {
      const std::string_view driver = plan::textOf(plan.devices()->Get(device)->driver());
      name("process_name", processOf(device), 0,
           shortDeviceName(plan, device) + " (" + std::string(driver) + ")");
    }
    if (queues.insert({device, queue}).second)
      name("thread_name", processOf(device), queue, "queue " + std::to_string(queue));
  }

  void name(const char *what, uint32_t process, uint32_t track, const std::string &text) {
    json.beginObject()
        .member("name", what)
        .member("ph", "M")
        .member("pid", process)
        .member("tid", track)
        .key("args")
        .beginObject()
        .member("name", text)
        .endObject()
        .endObject();
  }

  /// The slice's object stays open.
  void beginSlice(const std::string &title, const char *category, uint32_t process, uint32_t track,
                  Span span) {
    json.beginObject()
        .member("name", title)
        .member("cat", category)
        .member("ph", "X")
        .member("ts", static_cast<double>(span.start) * 1e-3)
        .member("dur", static_cast<double>(span.end - span.start) * 1e-3)
        .member("pid", process)
        .member("tid", track);
  }

  const fb::Plan &plan;
  const fb::Function &function;
  const plan::CommandClock clock;
  const std::unordered_map<const fb::Command *, size_t> numbers;
  const show::CommandNames names;
  JSONWriter json;
  std::set<uint32_t> devices;
  std::set<std::pair<uint32_t, uint32_t>> queues;
};

} // namespace

std::string traceAsJSON(const fb::Plan &plan, const fb::Function &function,
                        std::span<const TracedRun> runs) {
  return TraceWriter(plan, function).write(runs);
}

} // namespace gantry::tool
