#include "gantry/Plan/CommandClock.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/PlanTopology.h"
#include "gantry/Plan/Tasks.h"

#include <algorithm>
#include <map>
#include <utility>

namespace gantry::plan {

CommandClock::CommandClock(const fb::Plan &plan, const fb::Function &function)
    : plan(plan), function(function), costs(CostModel::of(topologyOf(plan))) {
  if (countOf(plan.exchanges()) == 0)
    return;
  const Tasks all(plan);
  for (uint32_t device = 0; device < countOf(plan.devices()); ++device)
    tasks.push_back(all.of(device));
  Topology topology = topologyOf(plan);
  if (topology.tasks.empty()) { // nothing is said of hosts: one has them all
    topology.hosts.assign(1, "");
    for (const TaskName &task : all.names())
      topology.tasks.push_back({task, 0});
  }
  for (const JobTask &task : topology.tasks)
    hosts.push_back(task.host);
  network = NetworkModel::of(topology);
}

std::vector<uint32_t> CommandClock::tasksOf(const fb::Exchange &exchange) const {
  std::vector<uint32_t> list;
  for (uint32_t device : membersOf(plan, exchange))
    list.push_back(tasks[device]);
  return list;
}

double CommandClock::exchangeSeconds(const fb::Exchange &exchange) const {
  const std::vector<uint32_t> members = tasksOf(exchange);
  std::vector<uint64_t> sizes(exchange.sizes()->begin(), exchange.sizes()->end());
  switch (exchange.kind()) {
  case fb::ExchangeKind::message:
    return network.messageSeconds(members[0], members[1], sizes[0]);
  case fb::ExchangeKind::broadcast:
    sizes.resize(members.size(), sizes[0]);
    return network.collectiveSeconds(Collective::broadcast, members, sizes);
  case fb::ExchangeKind::allGather:
    return network.collectiveSeconds(Collective::allGather, members, sizes);
  case fb::ExchangeKind::allToAll:
    break;
  }
  // The model knows members that bring the same.
  const ExchangeBytes bytes(plan, exchange);
  for (uint32_t rank = 0; rank < sizes.size(); ++rank)
    sizes[rank] = bytes.destination(rank) / sizes.size();
  return network.collectiveSeconds(Collective::allToAll, members, sizes);
}

std::vector<CommandClock::Resource> CommandClock::waysOf(const fb::Command &command) const {
  constexpr uint32_t ofHosts = 1u << 31; // behind all devices
  enum Side : uint32_t { out, in, inside };
  const fb::Exchange &exchange = exchangeOf(plan, command);
  const ExchangeBytes bytes(plan, exchange);
  const std::vector<uint32_t> members = tasksOf(exchange);
  const uint32_t first = hosts[members[0]];
  if (std::all_of(members.begin(), members.end(),
                  [&](uint32_t task) { return hosts[task] == first; }))
    return {{ofHosts + first, inside}};
  std::vector<Resource> ways;
  for (uint32_t rank = 0; rank < members.size(); ++rank) {
    if (bytes.gives(rank))
      ways.emplace_back(ofHosts + hosts[members[rank]], out);
    if (bytes.gets(rank))
      ways.emplace_back(ofHosts + hosts[members[rank]], in);
  }
  return ways;
}

double CommandClock::duration(const fb::Command &command) const {
  uint64_t operandBytes = 0;
  for (const fb::BufferRef *buffer : each(command.buffers()))
    operandBytes += buffer->size();
  switch (command.opcode()) {
  case fb::Opcode::launch:
    // Every byte of the operands once is the least that an unknown kernel moves.
    return costs.seconds(command.device(),
                         {command.flops(), command.bytes() ? command.bytes() : operandBytes});
  case fb::Opcode::copy: {
    auto [from, to] = resource(command);
    return costs.copySeconds(from, to, bytesCopied(command));
  }
  case fb::Opcode::fill:
    return costs.seconds(command.device(), {0, operandBytes});
  case fb::Opcode::send:
  case fb::Opcode::receive:
  case fb::Opcode::part:
    return exchangeSeconds(exchangeOf(plan, command));
  default:
    return 0;
  }
}

CommandClock::Resource CommandClock::resource(const fb::Command &command) const {
  if (command.opcode() != fb::Opcode::copy)
    return {command.device(), command.device()};
  return {deviceOf(plan, function, *command.buffers()->Get(0)),
          deviceOf(plan, function, *command.buffers()->Get(1))};
}

namespace {

/// Times of everything that commands wait for.
struct Times {
  std::map<std::pair<uint32_t, uint32_t>, double> queues; ///< device, number: free from then on
  std::map<CommandClock::Resource, double> resources;
  double join = 0; ///< when all queues came together last

  double &queue(const fb::Command &command) {
    return queues.try_emplace({command.device(), command.queue()}, join).first->second;
  }
  void joinAll() {
    for (auto &[name, free] : queues)
      join = std::max(join, free);
    for (auto &[name, free] : queues)
      free = join;
  }
  /// All queues have come together, and stay so for a while.
  void rest(double seconds) {
    join += seconds;
    joinAll();
  }
};

class Predictor {
public:
  Predictor(const fb::Plan &plan, const fb::Function &function)
      : plan(plan), function(function), clock(plan, function) {
    semaphores.resize(function.num_semaphores());
  }

  std::vector<Moment> run() {
    runBlock(0);
    times.joinAll();
    return std::move(moments);
  }

  /// When everything was done.
  double end() const { return times.join; }

private:
  void runBlock(uint32_t block) {
    for (const fb::Command *command : each(function.blocks()->Get(block)->commands()))
      run(*command);
  }

  void run(const fb::Command &command) {
    switch (command.opcode()) {
    case fb::Opcode::signal:
      semaphores[command.signal()] = times.queue(command);
      return;
    case fb::Opcode::wait:
      times.queue(command) = std::max(times.queue(command), semaphores[command.signal()]);
      return;
    case fb::Opcode::branch:
      return takeLonger(command.blocks()->Get(0), command.blocks()->Get(1));
    case fb::Opcode::loop:
      return goRound(command);
    case fb::Opcode::send:
    case fb::Opcode::receive:
    case fb::Opcode::part:
      return meet(command);
    default:
      perform(command);
    }
  }

  void perform(const fb::Command &command) {
    double &queue = times.queue(command), &resource = times.resources[clock.resource(command)];
    const double start = std::max(queue, resource), end = start + clock.duration(command);
    queue = resource = end;
    moments.push_back({&command, start, end});
  }

  /// All members together, when the last of them stands at hand.
  void meet(const fb::Command &command) {
    members.push_back(&command);
    if (members.size() < membersOf(plan, exchangeOf(plan, command)).size())
      return;
    double start = 0;
    for (const fb::Command *member : members)
      start = std::max(start, times.queue(*member));
    const std::vector<CommandClock::Resource> ways = clock.waysOf(command);
    for (const CommandClock::Resource &way : ways)
      start = std::max(start, times.resources[way]);
    const double end = start + clock.duration(command);
    for (const CommandClock::Resource &way : ways)
      times.resources[way] = end;
    for (const fb::Command *member : members) {
      times.queue(*member) = end;
      moments.push_back({member, start, end});
    }
    members.clear();
  }

  void runJoined(uint32_t block) {
    times.joinAll();
    runBlock(block);
    times.joinAll();
  }

  /// Once, and as long as all the rounds take that are known: nothing of one overlaps with another,
  /// so that all take the same time.
  void goRound(const fb::Command &loop) {
    times.joinAll();
    const double begin = times.join;
    runJoined(loop.blocks()->Get(0));
    const double tested = times.join;
    runJoined(loop.blocks()->Get(1));
    if (loop.trips() > 0) {
      const double round = times.join - begin, test = tested - begin;
      times.rest(static_cast<double>(loop.trips() - 1) * round + test);
    }
  }

  void takeLonger(uint32_t first, uint32_t second) {
    const Times before = times;
    const size_t count = moments.size();
    runJoined(first);
    const double asFirst = times.join;
    const auto begin = moments.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<Moment> kept(begin, moments.end());
    Times after = std::exchange(times, before);
    moments.erase(begin, moments.end());
    runJoined(second);
    if (times.join > asFirst)
      return;
    moments.erase(moments.begin() + static_cast<std::ptrdiff_t>(count), moments.end());
    moments.insert(moments.end(), kept.begin(), kept.end());
    times = std::move(after);
  }

  const fb::Plan &plan;
  const fb::Function &function;
  CommandClock clock;
  Times times;
  std::vector<const fb::Command *> members; ///< of an exchange, those that have come
  /// Those from before a branch count for nothing inside, where all has come together.
  std::vector<double> semaphores;
  std::vector<Moment> moments;
};

} // namespace

std::vector<Moment> predictRun(const fb::Plan &plan, const fb::Function &function) {
  return countOf(function.blocks()) ? Predictor(plan, function).run() : std::vector<Moment>();
}

double predictedSeconds(const fb::Plan &plan, const fb::Function &function) {
  if (!countOf(function.blocks()))
    return 0;
  Predictor predictor(plan, function);
  predictor.run();
  return predictor.end();
}

double lowerBoundSeconds(const fb::Plan &plan, const fb::Function &function) {
  const double predicted = predictedSeconds(plan, function);
  return predicted > 0 ? std::min(function.lower_bound_seconds(), predicted)
                       : function.lower_bound_seconds();
}

} // namespace gantry::plan
