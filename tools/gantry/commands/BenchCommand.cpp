// gantry bench: warm latency, measured run by run with the steady clock.
#include "BenchOps.h"
#include "Commands.h"
#include "Console.h"
#include "Execution.h"
#include "Print.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/JSONWriter.h"

#include <algorithm>
#include <cmath>

namespace gantry::tool {

namespace {

struct Measurement {
  double firstRun = 0;       ///< milliseconds, cold
  std::vector<double> times; ///< milliseconds, sorted

  double median() const {
    const size_t middle = times.size() / 2;
    return times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  }
  /// The time that 90 % of the runs do not exceed (nearest rank).
  double p90() const {
    const auto rank = static_cast<size_t>(std::ceil(0.9 * static_cast<double>(times.size())));
    return times[std::max<size_t>(rank, 1) - 1];
  }
};

Expected<Measurement> measure(const Options &options, Execution &execution) {
  Measurement result;
  Stopwatch first;
  GANTRY_RETURN_IF_ERROR(execution.run());
  result.firstRun = first.milliseconds();
  for (uint64_t i = 0; i < options.warmup; ++i)
    GANTRY_RETURN_IF_ERROR(execution.run());
  constexpr size_t fewest = 5;
  const Stopwatch total;
  while (options.runs ? result.times.size() < options.runs
                      : result.times.size() < fewest || total.seconds() < options.minTime) {
    const Stopwatch watch;
    GANTRY_RETURN_IF_ERROR(execution.run());
    result.times.push_back(watch.milliseconds());
  }
  std::sort(result.times.begin(), result.times.end());
  return result;
}

/// Nanoseconds are what the clock gives; more digits would be those of the arithmetic.
double rounded(double milliseconds) { return std::round(milliseconds * 1e6) / 1e6; }

void printJson(const Options &options, const Model &model, const Execution &execution,
               const Measurement &measured, const OpTimes *ops) {
  JSONWriter json;
  json.beginObject()
      .member("file", options.file)
      .member("function", execution.function().name)
      .member("median_ms", rounded(measured.median()))
      .member("min_ms", rounded(measured.times.front()))
      .member("p90_ms", rounded(measured.p90()))
      .member("runs", uint64_t(measured.times.size()))
      .member("threads", uint64_t(execution.machine().threadPool().size()));
  if (model.compileSeconds)
    json.member(model.isCached ? "compile_cached_ms" : "compile_ms",
                rounded(*model.compileSeconds * 1e3));
  if (const auto seconds = execution.virtualSeconds())
    json.member("virtual_ms", rounded(*seconds * 1e3));
  json.member("load_ms", rounded(execution.loadMilliseconds()))
      .member("first_run_ms", rounded(measured.firstRun));
  json.key("peak_bytes").beginObject();
  for (const runtime::Device *device : execution.machine().devices()) {
    const runtime::DeviceStats stats = device->stats();
    json.member(shortDeviceName(device->name()), stats.peakBytes + stats.mappedBytes);
  }
  json.endObject();
  if (ops)
    addOpTimes(json, *ops);
  json.endObject();
  std::puts(json.text().c_str());
}

void printForPeople(const Model &model, const Execution &execution, const Measurement &measured) {
  Table table({"", ">ms"});
  table.add({"median", format("%.4f", measured.median())});
  table.add({"minimum", format("%.4f", measured.times.front())});
  table.add({"90th percentile", format("%.4f", measured.p90())});
  table.add({"first run", format("%.4f", measured.firstRun)});
  table.add({"load", format("%.4f", execution.loadMilliseconds())});
  if (const auto seconds = execution.virtualSeconds())
    table.add({"virtual clock", format("%.4f", *seconds * 1e3)});
  if (model.compileSeconds)
    table.add({model.isCached ? "compiled before" : "compile",
               format("%.4f", *model.compileSeconds * 1e3)});
  std::printf("%s: %zu runs, %u threads, %.1f runs per second\n%s",
              execution.function().name.c_str(), measured.times.size(),
              execution.machine().threadPool().size(), 1e3 / measured.median(),
              linesOf(table).c_str());
  for (const runtime::Device *device : execution.machine().devices()) {
    const runtime::DeviceStats stats = device->stats();
    const std::string mapped = stats.mappedBytes ? ", of that " + formatBytes(stats.mappedBytes) +
                                                       " used in place from the plan"
                                                 : "";
    std::printf("  peak on %s: %s%s\n", shortDeviceName(device->name()).c_str(),
                formatBytes(stats.peakBytes + stats.mappedBytes).c_str(), mapped.c_str());
  }
}

} // namespace

int benchCommand(const Options &options) {
  if (Status status = checkStandardInput(options); !status.ok())
    return report(status);
  auto prepared = Prepared::from(options);
  if (!prepared)
    return report(prepared.status());
  auto &[model, execution] = *prepared;
  auto measured = measure(options, execution);
  if (!measured)
    return report(measured.status());
  std::optional<OpTimes> ops;
  if (options.ops) {
    auto times = measureOps(execution, measured->times.size());
    if (!times)
      return report(times.status());
    ops = times.take();
  }
  if (options.json) {
    printJson(options, model, execution, *measured, ops ? &*ops : nullptr);
  } else {
    printForPeople(model, execution, *measured);
    if (ops)
      std::fputs(("\n" + opTimesText(*ops, options.all)).c_str(), stdout);
  }
  if (options.verbose)
    std::fputs(memorySummary(model.plan()).c_str(), stderr);
  return exitSuccess;
}

} // namespace gantry::tool
