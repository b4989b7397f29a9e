#include "BenchOps.h"

#include "gantry/Device/CostModel.h"
#include "gantry/Machine/Calibrate.h"
#include "gantry/Plan/CommandClock.h"
#include "gantry/Plan/PlanTopology.h"

#include <algorithm>
#include <map>
#include <optional>

namespace gantry::tool {

namespace {

namespace fb = plan::fb;

double medianOf(std::vector<double> &values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

uint64_t operandBytes(const fb::Command &command) {
  uint64_t bytes = 0;
  for (const fb::BufferRef *buffer : plan::each(command.buffers()))
    bytes += buffer->size();
  return bytes;
}

/// What is read and written by a launch or fill, and what a copy moves.
uint64_t trafficOf(const fb::Command &command) {
  if (command.opcode() == fb::Opcode::copy)
    return plan::bytesCopied(command);
  return command.bytes() ? command.bytes() : operandBytes(command);
}

/// Of one command over the runs.
struct Samples {
  std::vector<double> seconds;
  uint64_t calls = 0; ///< in all runs
};

} // namespace

std::vector<Roof> roofsFor(const Execution &execution) {
  const fb::Plan &plan = execution.plan().metadata();
  const CostModel costs = CostModel::of(plan::topologyOf(plan));
  const bool isVirtual = execution.plan().hasVirtualClock();
  std::optional<machine::HostRates> host;
  std::vector<Roof> roofs;
  for (uint32_t i = 0; i < plan.devices()->size(); ++i) {
    const fb::Device &device = *plan.devices()->Get(i);
    const bool isGiven = device.peak_flops() > 0 && device.bandwidth() > 0;
    Roof roof{costs.flopRate(i), costs.byteRate(i),
              isGiven ? "the plan's topology" : "assumed, as the plan gives no rates"};
    if (!isGiven && !isVirtual && device.type() == fb::DeviceType::cpu) {
      if (!host)
        host = machine::measureHostBriefly(execution.machine().threadPool().size());
      roof = {host->flops, host->bandwidth, "measured now"};
    }
    roofs.push_back(std::move(roof));
  }
  return roofs;
}

Expected<OpTimes> measureOps(Execution &execution, size_t runs) {
  const fb::Plan &plan = execution.plan().metadata();
  OpTimes times{&plan, show::CommandNames(plan, *execution.function().source)};
  times.function = execution.function().source;
  times.isVirtual = execution.plan().hasVirtualClock();
  times.runs = times.isVirtual ? 1 : runs;
  times.roofs = roofsFor(execution);

  std::map<const fb::Command *, Samples> samples;
  for (size_t run = 0; run < times.runs; ++run) {
    auto events = execution.runTraced();
    if (!events)
      return events.status();
    std::map<const fb::Command *, double> inRun;
    for (const runtime::CommandEvent &event : *events) {
      inRun[event.command] += event.end - event.start;
      ++samples[event.command].calls;
    }
    for (const auto &[command, seconds] : inRun)
      samples[command].seconds.push_back(seconds);
  }

  const plan::CommandClock clock(*times.plan, *times.function);
  for (auto &[command, sample] : samples) {
    const uint64_t calls = sample.calls / sample.seconds.size();
    times.commands.push_back({command, calls, medianOf(sample.seconds),
                              *std::min_element(sample.seconds.begin(), sample.seconds.end()),
                              double(calls) * clock.duration(*command), calls * command->flops(),
                              calls * trafficOf(*command)});
  }
  std::stable_sort(
      times.commands.begin(), times.commands.end(),
      [](const CommandCost &a, const CommandCost &b) { return a.seconds > b.seconds; });
  return times;
}

} // namespace gantry::tool
