// Adds up what a plan copies. Nothing is derived here that the plan does not say: a copy's kind and
// ends come from its buffers, a constant's home from the constant.
#include "gantry/Plan/Ledger.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/Validate.h"
#include "gantry/Plan/Views.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace gantry::plan {

namespace {

void collect(const fb::Function &function, uint32_t block, bool inside, double rounds,
             std::vector<PlacedCommand> &commands) {
  for (const fb::Command *command : each(function.blocks()->Get(block)->commands())) {
    commands.push_back({command, inside, rounds});
    // The condition of a loop is computed once more than its body.
    uint64_t times = command->trips() ? command->trips() + 1 : 1;
    for (uint32_t inner : each(command->blocks())) {
      collect(function, inner, true, rounds * static_cast<double>(times), commands);
      times = command->trips() ? command->trips() : 1;
    }
  }
}

fb::CopyKind kindBetween(const fb::Plan &plan, uint32_t from, uint32_t to) {
  const auto type = [&](uint32_t device) { return plan.devices()->Get(device)->type(); };
  return copyKindBetween(from, type(from), to, type(to));
}

/// The GPU of the two, of two GPUs the target: whose copy queue does the work.
uint32_t countedOn(fb::CopyKind kind, uint32_t from, uint32_t to) {
  return kind == fb::CopyKind::deviceToHost ? from : to;
}

std::string_view stringAt(const fb::Plan &plan, uint32_t index) {
  return index < countOf(plan.strings()) ? textOf(plan.strings()->Get(index)) : std::string_view();
}

/// The copy that uploads a constant; none where the graph does not want it on another device.
bool copyOf(const fb::Plan &plan, const fb::Constant &constant, LedgerCopy &copy) {
  const uint32_t device = plan.arenas()->Get(constant.arena())->device();
  if (constant.home() == nothingSaid || constant.home() == device)
    return false;
  copy.time = CopyTime::load;
  copy.kind = kindBetween(plan, constant.home(), device);
  copy.from = constant.home(), copy.to = device;
  copy.bytes = constant.size();
  copy.name = textOf(constant.name());
  copy.cause = stringAt(plan, constant.cause());
  copy.countedOn = countedOn(copy.kind, copy.from, copy.to);
  return true;
}

/// Constants that commands of a function read, found by where they lie.
class UsedConstants {
public:
  UsedConstants(const fb::Plan &plan, const std::vector<PlacedCommand> &commands)
      : used(countOf(plan.constants())) {
    for (uint32_t c = 0; c < used.size(); ++c)
      order.push_back({placeOf(*plan.constants()->Get(c)), c});
    std::sort(order.begin(), order.end());
    for (const PlacedCommand &placed : commands)
      for (const fb::BufferRef *buffer : each(placed.command->buffers()))
        if (buffer->space() == fb::Space::arena)
          mark(plan, *buffer);
  }
  bool operator[](uint32_t constant) const { return used[constant]; }

private:
  using Place = std::tuple<uint32_t, uint64_t, uint64_t>; ///< arena, offset, size
  static Place placeOf(const fb::Constant &constant) {
    return {constant.arena(), constant.offset(), constant.size()};
  }

  /// Marks the last constant that begins at or before the buffer, if it reaches that far.
  void mark(const fb::Plan &plan, const fb::BufferRef &buffer) {
    const std::pair<Place, uint32_t> place = {{buffer.index(), buffer.offset(), UINT64_MAX},
                                              nothingSaid};
    auto after = std::upper_bound(order.begin(), order.end(), place);
    if (after == order.begin())
      return;
    const uint32_t index = std::prev(after)->second;
    const fb::Constant &constant = *plan.constants()->Get(index);
    if (constant.arena() == buffer.index() &&
        buffer.offset() - constant.offset() < std::max<uint64_t>(constant.size(), 1))
      used[index] = true;
  }

  std::vector<bool> used;
  std::vector<std::pair<Place, uint32_t>> order;
};

/// A value that comes from the caller goes by the caller's name where it has no other.
std::string_view nameOf(const fb::Function &function, const Copied &value) {
  if (!value.name.empty() || value.source.space() != fb::Space::input)
    return value.name;
  return textOf(function.inputs()->Get(value.source.index())->name());
}

LedgerCopy copyOf(const fb::Plan &plan, const fb::Function &function, const PlacedCommand &placed,
                  uint32_t index) {
  const Copied value = copiedBy(*placed.command, index);
  LedgerCopy copy;
  copy.time = placed.inside ? CopyTime::inside : CopyTime::run;
  copy.kind = placed.command->copy_kind();
  copy.from = deviceOf(plan, function, value.source);
  copy.to = deviceOf(plan, function, value.target);
  copy.bytes = value.target.size();
  copy.name = nameOf(function, value);
  copy.cause = stringAt(plan, value.cause);
  copy.location = value.location;
  copy.countedOn = placed.command->device();
  copy.command = placed.command;
  copy.joined = index > 0;
  copy.rounds = placed.rounds;
  return copy;
}

/// Adds up what commands copy and exchange.
class Adder {
public:
  Adder(const fb::Plan &plan, const fb::Function &function) : plan(plan), function(function) {}

  /// Calls take(copy) for each value that comes to a device by the command, and counts what it
  /// sends.
  template <typename Take>
  void add(const PlacedCommand &placed, std::vector<CopyTally> &devices, Take take) {
    const fb::Command &command = *placed.command;
    if (command.opcode() == fb::Opcode::copy)
      for (uint32_t value = 0; value < numCopied(command); ++value) {
        LedgerCopy copy = copyOf(plan, function, placed, value);
        take(copy);
        devices[copy.countedOn][copy.kind].add(copy);
      }
    if (!isExchange(command))
      return;
    if (exchange != command.exchange() || !bytes)
      bytes.emplace(plan, exchangeOf(plan, command));
    exchange = command.exchange();
    LedgerCopy copy = receivedBy(placed);
    if (bytes->gets(command.rank())) {
      take(copy);
      devices[copy.countedOn][copy.kind].add(copy);
    }
    if (!bytes->gives(command.rank()))
      return;
    copy.bytes = bytes->sent(command.rank());
    std::swap(copy.from, copy.to);
    devices[copy.countedOn].sent.add(copy);
    sent.push_back(copy);
  }

  std::vector<LedgerCopy> sent;

private:
  const fb::Plan &plan;
  const fb::Function &function;
  uint32_t exchange = 0; ///< the last one, whose members stand side by side
  std::optional<ExchangeBytes> bytes;

  LedgerCopy receivedBy(const PlacedCommand &placed) const {
    const fb::Command &command = *placed.command;
    const fb::Exchange &about = exchangeOf(plan, command);
    LedgerCopy copy;
    copy.time = placed.inside ? CopyTime::inside : CopyTime::run;
    copy.kind = fb::CopyKind::betweenTasks;
    copy.from = membersOf(plan, about)[command.rank() == 0];
    copy.to = copy.countedOn = command.device();
    copy.bytes = bytes->received(command.rank());
    copy.name = textOf(about.name());
    copy.cause = stringAt(plan, about.cause());
    copy.location = textOf(command.location());
    copy.command = &command;
    copy.rounds = placed.rounds;
    if (about.kind() != fb::ExchangeKind::message)
      copy.collective = &about;
    return copy;
  }
};

/// Whether some command reads what is computed at load.
bool readsMade(const fb::Plan &plan, const std::vector<PlacedCommand> &commands) {
  if (!plan.load())
    return false;
  const UsedConstants used(plan, commands);
  for (uint32_t c = 0; c < countOf(plan.constants()); ++c)
    if (used[c] && plan.constants()->Get(c)->made() != nothingSaid)
      return true;
  return false;
}

/// Copies of the function that runs at load; a list of them is filled where there is one.
void addCopiesOnce(const fb::Plan &plan, const std::vector<PlacedCommand> &commands,
                   std::vector<CopyTally> &devices, std::vector<LedgerCopy> *copies) {
  Adder adder(plan, *plan.load());
  for (const PlacedCommand &placed : commands)
    adder.add(placed, devices, [&](LedgerCopy &copy) {
      copy.time = CopyTime::load;
      if (copies && copy.kind != fb::CopyKind::sameDevice)
        copies->push_back(copy);
    });
}

CopyTally sum(const std::vector<CopyTally> &devices) {
  CopyTally total;
  for (const CopyTally &device : devices) {
    for (size_t kind = 0; kind < numCopyKinds; ++kind)
      total.kinds[kind] += device.kinds[kind];
    total.sent += device.sent;
  }
  return total;
}

} // namespace

std::string_view copyKindName(fb::CopyKind kind) {
  switch (kind) {
  case fb::CopyKind::sameDevice:
    return "same";
  case fb::CopyKind::hostToDevice:
    return "h2d";
  case fb::CopyKind::deviceToHost:
    return "d2h";
  case fb::CopyKind::deviceToDevice:
    return "d2d";
  case fb::CopyKind::betweenTasks:
    return "net";
  }
  return "";
}

CopyCount CopyTally::betweenDevices() const {
  CopyCount count;
  for (size_t kind = 0; kind < numCopyKinds; ++kind)
    if (kind != static_cast<size_t>(fb::CopyKind::sameDevice))
      count += kinds[kind];
  return count;
}

std::vector<PlacedCommand> commandsOf(const fb::Function &function) {
  std::vector<PlacedCommand> commands;
  if (countOf(function.blocks()) > 0)
    collect(function, 0, false, 1, commands);
  return commands;
}

std::unordered_map<const fb::Command *, size_t> numbersOfCommands(const fb::Function &function) {
  std::unordered_map<const fb::Command *, size_t> numbers;
  for (const PlacedCommand &placed : commandsOf(function))
    numbers.emplace(placed.command, numbers.size());
  return numbers;
}

Ledger Ledger::of(const fb::Plan &plan, const fb::Function &function) {
  Ledger ledger;
  ledger.atLoad.resize(plan.devices()->size());
  ledger.perRun.resize(plan.devices()->size());
  ledger.inside.resize(plan.devices()->size());
  const std::vector<PlacedCommand> commands = commandsOf(function);
  // What runs at load reads constants for all functions that read what it gives.
  std::vector<PlacedCommand> all = commands;
  const std::vector<PlacedCommand> atLoad =
      readsMade(plan, commands) ? commandsOf(*plan.load()) : std::vector<PlacedCommand>();
  all.insert(all.end(), atLoad.begin(), atLoad.end());
  const UsedConstants used(plan, all);
  LedgerCopy upload;
  for (uint32_t c = 0; c < countOf(plan.constants()); ++c)
    if (used[c] && copyOf(plan, *plan.constants()->Get(c), upload)) {
      ledger.atLoad[upload.countedOn][upload.kind].add(upload);
      ledger.copies.push_back(upload);
    }
  addCopiesOnce(plan, atLoad, ledger.atLoad, &ledger.copies);
  Adder adder(plan, function);
  for (const PlacedCommand &placed : commands)
    adder.add(placed, placed.inside ? ledger.inside : ledger.perRun, [&](const LedgerCopy &copy) {
      if (copy.kind != fb::CopyKind::sameDevice)
        ledger.copies.push_back(copy);
    });
  ledger.sent = std::move(adder.sent);
  return ledger;
}

CopyTally Ledger::totalAtLoad() const { return sum(atLoad); }
CopyTally Ledger::totalPerRun() const { return sum(perRun); }
CopyTally Ledger::totalInside() const { return sum(inside); }

std::vector<CopyTally> copiesAtLoad(const fb::Plan &plan) {
  std::vector<CopyTally> devices(plan.devices()->size());
  LedgerCopy upload;
  for (const fb::Constant *constant : each(plan.constants()))
    if (copyOf(plan, *constant, upload))
      devices[upload.countedOn][upload.kind].add(upload);
  if (plan.load())
    addCopiesOnce(plan, commandsOf(*plan.load()), devices, nullptr);
  return devices;
}

} // namespace gantry::plan
