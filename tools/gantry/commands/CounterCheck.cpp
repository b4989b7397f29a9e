#include "CounterCheck.h"
#include "Print.h"

#include "Console.h"

#include "gantry/Support/Bytes.h"

namespace gantry::tool {

using namespace plan;

namespace {

runtime::DeviceStats statsOf(const runtime::LoadedPlan &plan, uint32_t device) {
  const runtime::Device *used = plan.device(device);
  return used ? used->stats() : runtime::DeviceStats();
}

std::string text(const CopyCount &count) {
  return std::to_string(count.copies) + " of " + formatBytes(count.bytes) + " in " +
         std::to_string(count.transfers) + " transfers";
}

} // namespace

CounterCheck::CounterCheck(const Execution &execution)
    : plan(execution.plan()), ledger(Ledger::of(plan.metadata(), *execution.function().source)),
      load(copiesAtLoad(plan.metadata())) {
  for (uint32_t d = 0; d < load.size(); ++d)
    start.push_back(statsOf(plan, d).run);
}

/// Copies of a kind, or what is sent to other tasks: `of` picks it from a tally.
template <typename Of>
Status CounterCheck::compareCount(uint32_t device, uint64_t runs, const std::string &name,
                                  Of of) const {
  const runtime::DeviceStats stats = statsOf(plan, device);
  const CopyCount &all = of(stats.run), &before = of(start[device]);
  const CopyCount counted = {all.copies - before.copies, all.bytes - before.bytes,
                             all.transfers - before.transfers};
  const CopyCount &once = of(ledger.perRun[device]);
  const CopyCount planned = {once.copies * runs, once.bytes * runs, once.transfers * runs};
  // How often a loop copies shows only when it runs; what is outside of it is on top.
  const bool agree = of(ledger.inside[device]).copies
                         ? counted.copies >= planned.copies && counted.bytes >= planned.bytes
                         : counted == planned;
  const char *pattern = "%s counted %s copies in %llu runs: %s; the plan's ledger says %s";
  if (!agree)
    return Status::internal(format(pattern, shortDeviceName(plan.metadata(), device).c_str(),
                                   name.c_str(), static_cast<unsigned long long>(runs),
                                   text(counted).c_str(), text(planned).c_str()));
  if (of(stats.load) != of(load[device]))
    return Status::internal(shortDeviceName(plan.metadata(), device) + " counted " + name +
                            " copies at load: " + text(of(stats.load)) +
                            "; the plan's ledger says " + text(of(load[device])));
  return {};
}

Status CounterCheck::compareDevice(uint32_t device, uint64_t runs) const {
  for (const fb::CopyKind kind : fb::EnumValuesCopyKind())
    GANTRY_RETURN_IF_ERROR(
        compareCount(device, runs, std::string(copyKindName(kind)),
                     [&](const CopyTally &tally) -> const CopyCount & { return tally[kind]; }));
  return compareCount(device, runs, "sent",
                      [](const CopyTally &tally) -> const CopyCount & { return tally.sent; });
}

Status CounterCheck::compare(uint64_t runs) const {
  for (uint32_t device = 0; device < load.size(); ++device)
    GANTRY_RETURN_IF_ERROR(compareDevice(device, runs));
  return {};
}

std::string CounterCheck::summary(uint64_t runs) const {
  const CopyCount perRun = ledger.totalPerRun().betweenDevices();
  CopyCount uploads, counted;
  for (uint32_t d = 0; d < load.size(); ++d) {
    uploads += load[d].betweenDevices();
    counted += statsOf(plan, d).run.betweenDevices();
    counted.copies -= start[d].betweenDevices().copies;
    counted.bytes -= start[d].betweenDevices().bytes;
  }
  const std::string more =
      ledger.totalInside().betweenDevices().copies
          ? ", and in all " + std::to_string(counted.copies - runs * perRun.copies) +
                " in branches and loops, " + formatBytes(counted.bytes - runs * perRun.bytes)
          : "";
  return "copies counted as planned: " + std::to_string(perRun.copies) + " per run" +
         inTransfers(perRun) + ", " + formatBytes(perRun.bytes) +
         copiesPerKind(ledger.totalPerRun()) + more + "; " + std::to_string(uploads.copies) +
         " at load, " + formatBytes(uploads.bytes);
}

} // namespace gantry::tool
