// A job explained: who takes part and where, and the bytes that leave and enter each task.
#include "ExplainText.h"
#include "TaskRows.h"

#include "gantry/Device/NetworkModel.h"
#include "gantry/Device/Task.h"
#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/PlanTopology.h"
#include "gantry/Show/Text.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Support/Format.h"

#include <algorithm>
#include <map>
#include <set>

namespace gantry::show {

using namespace plan;

namespace {
/// "45 GB/s, 2.5 µs".
std::string ratesOf(double bandwidth, double latency) {
  return format("%.3g GB/s, ", bandwidth / 1e9) + formatSeconds(latency);
}

/// "64 tasks /job:worker/task:{0..63} on 64 hosts; network 45 GB/s, 2.5 µs, ..."
std::string jobLine(const Topology &topology, const std::vector<TaskName> &tasks) {
  std::string line = counted(tasks.size(), "task") + " " + foldTasks(tasks);
  if (topology.tasks.empty())
    return line + " on one host";
  line += " on " + counted(topology.hosts.size(), "host");
  if (topology.network) {
    const Network &network = *topology.network;
    line += "; network " +
            ratesOf(network.bandwidth > 0 ? network.bandwidth : StandInNetwork::bandwidth,
                    network.latency);
    if (topology.tasks.size() > topology.hosts.size())
      line += ", inside of a host " + ratesOf(network.insideBandwidth > 0
                                                  ? network.insideBandwidth
                                                  : StandInNetwork::insideBandwidth,
                                              network.insideLatency);
    line += network.joinsGPUs ? ", straight between GPUs" : "";
  }
  return line;
}

/// What was proven of a function: "12 exchanges in 1 group, 3 messages".
std::string describeExchanges(const fb::Plan &plan, const fb::Function &function) {
  std::set<uint32_t> groups;
  size_t messages = 0, exchanges = 0;
  for (const fb::Block *block : each(function.blocks()))
    for (const fb::Command *command : each(block->commands())) {
      messages += command->opcode() == fb::Opcode::send;
      if (command->opcode() != fb::Opcode::part || command->rank() != 0)
        continue;
      ++exchanges;
      groups.insert(exchangeOf(plan, *command).group());
    }
  return counted(exchanges, "exchange") + " in " + counted(groups.size(), "group") + ", " +
         counted(messages, "message");
}
} // namespace

std::map<TaskName, TaskTraffic> trafficOf(const Subject &subject, const fb::Function &function,
                                          const Ledger &ledger) {
  const Topology topology = topologyOf(subject.plan);
  std::map<TaskName, TaskTraffic> traffic;
  for (uint32_t d = 0; d < topology.logical.size(); ++d) {
    const TaskName task = taskOf(topology.logical[d].name);
    traffic[task].memory += subject.memoryOf(d).total() + boundBytes(function, d);
  }
  for (const LedgerCopy &copy : ledger.copies) {
    const TaskName from = taskOf(topology.logical[copy.from].name),
                   to = taskOf(topology.logical[copy.to].name);
    if (copy.time == CopyTime::load || from == to)
      continue;
    const auto bytes = static_cast<uint64_t>(static_cast<double>(copy.bytes) * copy.rounds);
    traffic[to].received += bytes;
    ++traffic[to].copies;
    if (copy.kind == fb::CopyKind::betweenTasks)
      continue;
    traffic[from].sent += bytes;
    ++traffic[from].copies;
  }
  for (const LedgerCopy &copy : ledger.sent) {
    TaskTraffic &own = traffic[taskOf(topology.logical[copy.countedOn].name)];
    own.sent += static_cast<uint64_t>(static_cast<double>(copy.bytes) * copy.rounds);
    // A member that receives as well was counted then.
    own.copies += !copy.collective || copy.collective->kind() == fb::ExchangeKind::broadcast;
  }
  return traffic;
}

void printTasks(Page &page, const Subject &subject, const fb::Function &function,
                const Ledger &ledger) {
  if (!isJob(subject.plan))
    return;
  const Topology topology = topologyOf(subject.plan);
  const std::vector<TaskName> tasks = tasksOf(topology);
  std::map<TaskName, uint32_t> firstOf; // a device of each
  for (uint32_t d = 0; d < topology.logical.size(); ++d)
    firstOf.try_emplace(taskOf(topology.logical[d].name), d);
  page.print("\n");
  page.paragraph(jobLine(topology, tasks));
  Table table({"task", ">memory", ">sent per run", ">received", ">in copies"});
  std::vector<TaskRow> rows;
  for (const auto &[task, own] : trafficOf(subject, function, ledger))
    rows.push_back({{firstOf[task]},
                    {},
                    {formatBytes(own.memory), formatBytes(own.sent), formatBytes(own.received),
                     std::to_string(own.copies)}});
  for (TaskRow &row : foldRows(subject.plan, std::move(rows))) {
    std::vector<TaskName> named;
    for (uint32_t device : row.devices)
      named.push_back(taskOf(topology.logical[device].name));
    row.cells.insert(row.cells.begin(), foldTasks(named));
    table.add(std::move(row.cells));
  }
  page.table(table, Long::cut);
  if (countOf(subject.plan.exchanges()) != 0)
    page.paragraph("  order proven: " + describeExchanges(subject.plan, function));
}

} // namespace gantry::show
