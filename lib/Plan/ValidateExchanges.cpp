// The rules of a job's plan: bytes cross tasks in exchanges alone, and each exchange stands where
// all of its members can come to it.
//
// The members of an exchange stand side by side in one block, in the order of its group, and every
// task does its commands in the plan's order. So the plan's order is one in which all can be done,
// even if no byte is ever buffered. That a branch or loop has a condition on each task with
// commands inside, and on no other, keeps members of one exchange together; no signal and no buffer
// of another task leaves a task anything else to wait for.
#include "Walk.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/Tasks.h"
#include "gantry/Support/Format.h"

#include <algorithm>
#include <set>
#include <vector>

namespace gantry::plan {

namespace {

/// The tables of groups and exchanges.
class ExchangeTableChecker : Walk {
public:
  explicit ExchangeTableChecker(const Walk &walk) : Walk(walk) {}

  Status run() {
    place = "groups";
    GANTRY_RETURN_IF_ERROR(visit(plan.groups()));
    place = "exchanges";
    GANTRY_RETURN_IF_ERROR(visit(plan.exchanges()));
    if (countOf(plan.groups()) == 0)
      return countOf(plan.exchanges()) == 0 ? Status() : fail("there are no groups of members");
    const Tasks tasks(plan);
    std::vector<uint32_t> last(tasks.count(), nothingSaid); // group that has a member there
    for (uint32_t i = 0; i < countOf(plan.groups()); ++i) {
      place = "groups[" + number(i) + "]";
      GANTRY_RETURN_IF_ERROR(checkGroup(*plan.groups()->Get(i), i, tasks, last));
    }
    for (uint32_t i = 0; i < countOf(plan.exchanges()); ++i) {
      place = "exchanges[" + number(i) + "]";
      GANTRY_RETURN_IF_ERROR(checkExchange(*plan.exchanges()->Get(i)));
    }
    return {};
  }

private:
  Status checkGroup(const fb::Group &group, uint32_t index, const Tasks &tasks,
                    std::vector<uint32_t> &last) {
    GANTRY_RETURN_IF_ERROR(visit(group.devices()));
    if (countOf(group.devices()) < 2)
      return fail(format("%llu members, expected two or more", Number(countOf(group.devices()))));
    for (uint32_t device : *group.devices()) {
      GANTRY_RETURN_IF_ERROR(checkDeviceIndex(device));
      if (std::exchange(last[tasks.of(device)], index) == index)
        return fail(format("two members in task '%s', expected each in a task of its own",
                           tasks.names()[tasks.of(device)].str().c_str()));
    }
    return {};
  }

  Status checkExchange(const fb::Exchange &exchange) {
    if (!inEnum(exchange.kind()))
      return fail(format("unknown kind %llu", Number(static_cast<uint8_t>(exchange.kind()))));
    GANTRY_RETURN_IF_ERROR(checkIndex(exchange.group(), countOf(plan.groups()), "group"));
    GANTRY_RETURN_IF_ERROR(visit(exchange.sizes()));
    GANTRY_RETURN_IF_ERROR(visit(exchange.rows()));
    const uint64_t members = membersOf(plan, exchange).size();
    const bool isMessage = exchange.kind() == fb::ExchangeKind::message;
    if (isMessage && members != 2)
      return fail(format("a message between %llu members, expected two", Number(members)));
    const uint64_t wanted = isMutual(exchange.kind()) ? members : 1;
    if (countOf(exchange.sizes()) != wanted)
      return fail(
          format("%llu sizes, expected %llu", Number(countOf(exchange.sizes())), Number(wanted)));
    const uint64_t rows = countOf(exchange.rows());
    if (rows != 0 && (exchange.kind() != fb::ExchangeKind::allToAll || rows != members))
      return fail("rows of " + number(rows) + " members, expected none" +
                  (exchange.kind() == fb::ExchangeKind::allToAll ? " or " + number(members) : ""));
    GANTRY_RETURN_IF_ERROR(
        checkIndex(exchange.cause(), std::max<uint64_t>(1, countOf(plan.strings())), "cause"));
    return checkSum(exchange);
  }

  /// All bytes that any member has are fewer than 2^63.
  Status checkSum(const fb::Exchange &exchange) const {
    uint64_t total = 0, rows = 0, all = 0;
    bool isTooMuch = false;
    for (uint64_t size : each(exchange.sizes()))
      isTooMuch |= __builtin_add_overflow(total, size, &total);
    for (uint32_t each : each(exchange.rows()))
      rows += each;
    rows = std::max<uint64_t>({rows, membersOf(plan, exchange).size(), 1});
    isTooMuch |= __builtin_mul_overflow(total, rows, &all);
    return isTooMuch || all > INT64_MAX ? fail("over 2^63 bytes") : Status();
  }
};

/// The functions of a plan that has exchanges, each command of which is sound by itself.
class JobChecker : Walk {
public:
  explicit JobChecker(const Walk &walk)
      : Walk(walk), tasks(plan), isUsed(countOf(plan.exchanges())) {
    for (const fb::Exchange *exchange : each(plan.exchanges()))
      bytes.emplace_back(plan, *exchange);
  }

  Status run() {
    for (const fb::Function *each : allFunctions(plan)) {
      function = each;
      semaphores.assign(function->num_semaphores(), nothingSaid);
      std::set<uint32_t> inside;
      GANTRY_RETURN_IF_ERROR(checkBlock(0, inside));
    }
    const auto unused = std::ranges::find(isUsed, false);
    place = "exchanges[" + number(static_cast<uint64_t>(unused - isUsed.begin())) + "]";
    return unused == isUsed.end() ? Status() : fail("no command has a part in it");
  }

private:
  const Tasks tasks;
  std::vector<ExchangeBytes> bytes; ///< by exchange
  std::vector<bool> isUsed;         ///< by exchange
  // Of the function that is being checked.
  const fb::Function *function = nullptr;
  std::vector<uint32_t> semaphores; ///< task of the signal

  std::string taskName(uint32_t task) const { return "'" + tasks.names()[task].str() + "'"; }
  uint32_t taskOf(const fb::BufferRef &buffer) const {
    return tasks.of(deviceOf(plan, *function, buffer));
  }

  void setPlace(uint32_t block, uint32_t index, const fb::Command &command) {
    place = format("function '%s', block %u, command %u", function->name()->c_str(), block, index) +
            titleOf(command);
  }

  /// Recursive; blocks are a tree that is not deep. `inside` gets the tasks of its commands.
  Status checkBlock(uint32_t block, std::set<uint32_t> &inside) {
    const auto *commands = function->blocks()->Get(block)->commands();
    for (uint32_t i = 0; i < countOf(commands); ++i) {
      const fb::Command &command = *commands->Get(i);
      setPlace(block, i, command);
      if (command.condition()) {
        GANTRY_RETURN_IF_ERROR(checkNested(command, block, i, inside));
        continue;
      }
      inside.insert(tasks.of(command.device()));
      GANTRY_RETURN_IF_ERROR(checkOwn(command));
      if (!isExchange(command))
        continue;
      if (i == 0 || !isNext(*commands->Get(i - 1), command))
        GANTRY_RETURN_IF_ERROR(checkFirst(command));
      if (command.rank() + 1 < members(command).size() &&
          (i + 1 == countOf(commands) || !isNext(command, *commands->Get(i + 1))))
        return fail(format("member %llu of exchange %llu does not stand behind it",
                           Number(command.rank() + 1), Number(command.exchange())));
      GANTRY_RETURN_IF_ERROR(checkMember(command));
    }
    return {};
  }

  const flatbuffers::Vector<uint32_t> &members(const fb::Command &command) const {
    return membersOf(plan, exchangeOf(plan, command));
  }

  static bool isNext(const fb::Command &before, const fb::Command &command) {
    return isExchange(before) && isExchange(command) && before.exchange() == command.exchange() &&
           before.rank() + 1 == command.rank();
  }

  Status checkFirst(const fb::Command &command) {
    if (command.rank() != 0)
      return fail(format("member %llu of exchange %llu does not stand before it",
                         Number(command.rank() - 1), Number(command.exchange())));
    if (isUsed[command.exchange()])
      return fail(format("exchange %llu is there twice", Number(command.exchange())));
    isUsed[command.exchange()] = true;
    return {};
  }

  /// What a command uses is its own task's.
  Status checkOwn(const fb::Command &command) {
    const uint32_t task = tasks.of(command.device());
    for (const fb::BufferRef *buffer : each(command.buffers()))
      if (taskOf(*buffer) != task)
        return fail(format("a buffer is in task %s, the command in %s",
                           taskName(taskOf(*buffer)).c_str(), taskName(task).c_str()));
    if (command.opcode() == fb::Opcode::signal)
      semaphores[command.signal()] = task;
    if (command.opcode() == fb::Opcode::wait && semaphores[command.signal()] != task)
      return fail(format("semaphore %llu is signalled in task %s, the command is in %s",
                         Number(command.signal()), taskName(semaphores[command.signal()]).c_str(),
                         taskName(task).c_str()));
    return {};
  }

  /// A member's device, opcode and bytes.
  Status checkMember(const fb::Command &command) const {
    const fb::Exchange &exchange = exchangeOf(plan, command);
    const uint32_t rank = command.rank(), device = members(command)[rank];
    if (command.device() != device)
      return fail(format("it is on device %llu, member %llu of its group is device %llu",
                         Number(command.device()), Number(rank), Number(device)));
    fb::Opcode wanted = fb::Opcode::part;
    if (exchange.kind() == fb::ExchangeKind::message)
      wanted = rank == 0 ? fb::Opcode::send : fb::Opcode::receive;
    if (command.opcode() != wanted)
      return fail(format("member %llu of exchange %llu, expected a %s", Number(rank),
                         Number(command.exchange()), fb::EnumNameOpcode(wanted)));
    if (command.copy_kind() != fb::CopyKind::betweenTasks)
      return fail("the copy kind is not that between tasks");
    return checkBytes(command, exchange);
  }

  Status checkBytes(const fb::Command &command, const fb::Exchange &exchange) const {
    const ExchangeBytes &planned = bytes[command.exchange()];
    const uint32_t rank = command.rank();
    const bool isBoth = isMutual(exchange.kind());
    if (countOf(command.buffers()) != (isBoth ? 2 : 1))
      return fail(number(countOf(command.buffers())) + " buffers, expected " +
                  (isBoth ? "2" : "1"));
    for (uint32_t i = 0; i < countOf(command.buffers()); ++i) {
      const fb::BufferRef &buffer = *command.buffers()->Get(i);
      const uint64_t wanted = writes(command, i) ? planned.destination(rank) : planned.source(rank);
      if (buffer.size() != wanted)
        return fail(format("buffer %llu has %llu bytes, the exchange has %llu for it", Number(i),
                           Number(buffer.size()), Number(wanted)));
      if (const uint32_t device = deviceOf(plan, *function, buffer); device != command.device())
        return fail(format("a buffer is on device %llu, the command on device %llu", Number(device),
                           Number(command.device())));
    }
    return isBoth ? checkApart(*command.buffers()->Get(0), *command.buffers()->Get(1)) : Status();
  }

  Status checkApart(const fb::BufferRef &source, const fb::BufferRef &target) const {
    if (source.space() == target.space() && source.index() == target.index() &&
        rangesOverlap(source.offset(), source.size(), target.offset(), target.size()))
      return fail("source and destination overlap");
    return {};
  }

  Status failNested(std::set<uint32_t> inside, const std::vector<uint32_t> &there) const {
    for (uint32_t task : there)
      inside.erase(task);
    if (inside.empty())
      return fail("its conditions are not those of the tasks that have commands inside, in their "
                  "order");
    return fail(format("it has commands of task %s inside, and no condition there",
                       taskName(*inside.begin()).c_str()));
  }

  /// A condition for each task that has commands inside, and for no other.
  Status checkNested(const fb::Command &command, uint32_t block, uint32_t index,
                     std::set<uint32_t> &around) {
    std::set<uint32_t> inside;
    std::vector<uint32_t> there;
    for (uint32_t nested : each(command.blocks()))
      GANTRY_RETURN_IF_ERROR(checkBlock(nested, inside));
    setPlace(block, index, command);
    for (const fb::BufferRef &condition : conditionsOf(command))
      there.push_back(taskOf(condition));
    around.insert(there.begin(), there.end());
    if (inside.empty() && there.size() == 1)
      return {};
    if (!std::equal(there.begin(), there.end(), inside.begin(), inside.end()))
      return failNested(inside, there);
    if (inside.size() > 1 && !textOf(command.library()).empty())
      return fail(format("a library decides it, and it has commands of %llu tasks inside",
                         Number(inside.size())));
    return {};
  }
};

} // namespace

Status checkExchangeTables(const Walk &walk) { return ExchangeTableChecker(walk).run(); }

Status checkExchanges(const Walk &walk) { return JobChecker(walk).run(); }

} // namespace gantry::plan
