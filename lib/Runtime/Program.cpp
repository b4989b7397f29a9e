#include "gantry/Runtime/Program.h"

#include "gantry/Plan/Exchanges.h"
#include "gantry/Plan/Tasks.h"
#include "gantry/Plan/Views.h"
#include "gantry/Support/BadIndex.h"
#include "gantry/Support/Bytes.h"

#include <cstring>

namespace gantry::runtime {

namespace fb = plan::fb;

Step::Kind copyBetween(const Device &giver, const Device &taker) {
  if (&giver == &taker || (giver.runsInline() && taker.runsInline()))
    return Step::Kind::copy;
  if (giver.runsInline())
    return Step::Kind::upload;
  return taker.runsInline() ? Step::Kind::download : Step::Kind::copyFrom;
}

const fb::BufferRef &Program::conditionOf(const Step &step) const {
  const Step *first = &step; // those of a command stand side by side
  while (first != allSteps.data() && first[-1].kind == Step::Kind::jumpIfFalse &&
         first[-1].command == step.command)
    --first;
  return plan::conditionsOf(commandOf(step))[static_cast<size_t>(&step - first)];
}

void Program::patch(BoundSlots &bound, uint8_t *address) {
  if (bound.address == address)
    return;
  for (const BoundSlots::Use &use : bound.uses)
    slots[use.slot] = address + use.offset;
  bound.address = address;
}

std::vector<Queue *> Program::queues() const {
  std::vector<Queue *> all;
  for (const OwnQueue &own : ownQueues)
    all.push_back(own.queue.get());
  return all;
}

Status Program::withStep(const Step &step, Status status) const {
  return withCommand(loaded.metadata(), commandOf(step), std::move(status));
}

/// A jump is no command of its own; its step names the one it belongs to.
Status Program::cancelledAt(const Step &step) const {
  return withStep(step, Status::cancelled("the run was cancelled before this"));
}

/// Counted on the device that the plan's ledger counts it on: the GPU, of two the target.
void Program::countCopies(const Step &step) const {
  const fb::Command &command = commandOf(step);
  if (command.opcode() != fb::Opcode::copy)
    return;
  Device &device = step.queue->device();
  const bool isAtLoad = source == loaded.metadata().load();
  bool isFirst = true;
  for (uint32_t i = 0; i < step.numBuffers; i += 2) {
    const uint64_t bytes = command.buffers()->Get(i)->size();
    if (bytes != 0 && step.buffers[i] == step.buffers[i + 1])
      continue; // an output that lies where its input did
    if (isAtLoad)
      device.countLoad(command.copy_kind(), bytes, isFirst);
    else
      device.countCopy(command.copy_kind(), bytes, isFirst);
    isFirst = false;
  }
}

/// `giver`: of copyFrom.
static Status enqueueBytes(Step::Kind kind, Queue &queue, Device *giver, void *target,
                           const void *source, uint64_t bytes) {
  switch (kind) {
  case Step::Kind::copy:
    return queue.copy(target, source, bytes);
  case Step::Kind::upload:
    return queue.upload(target, source, bytes);
  case Step::Kind::download:
    return queue.download(target, source, bytes);
  default:
    return queue.copyFrom(*giver, target, source, bytes);
  }
}

Status Program::enqueueCopy(const Step &step) const {
  const fb::Command &command = commandOf(step);
  for (uint32_t i = 0; i < step.numBuffers; i += 2) {
    const void *source = step.buffers[i];
    void *target = step.buffers[i + 1];
    if (source == target)
      continue; // an output that lies where its input did
    const uint64_t bytes = command.buffers()->Get(i)->size();
    GANTRY_RETURN_IF_ERROR(
        enqueueBytes(step.kind, *step.queue, step.source, target, source, bytes));
  }
  return {};
}

Expected<bool> Program::readCondition(const Step &step) const {
  Device &device = step.queue->device();
  if (device.runsInline())
    return *static_cast<const uint8_t *>(step.buffers[0]) != 0;
  uint8_t condition = 0;
  GANTRY_RETURN_IF_ERROR(device.download(&condition, step.buffers[0], 1));
  return condition != 0;
}

Status Program::performCheck(const Step &step) const {
  Device &device = step.queue->device();
  int64_t first[2]; // position and value
  if (device.runsInline()) {
    std::memcpy(first, step.buffers[0], sizeof(first));
  } else {
    GANTRY_RETURN_IF_ERROR(step.queue->finish().status);
    GANTRY_RETURN_IF_ERROR(device.download(first, step.buffers[0], sizeof(first)));
  }
  return judgeCheck(step, first[0], first[1]);
}

Status Program::judgeCheck(const Step &step, int64_t position, int64_t value) const {
  if (position < 0)
    return {};
  const fb::IndexCheck &about = *commandOf(step).index_check();
  if (about.says())
    return Status::invalidArgument(std::string(plan::textOf(about.says())));
  auto numbers = [](const flatbuffers::Vector<int64_t> *list) {
    return list ? std::span<const int64_t>(list->data(), list->size()) : std::span<const int64_t>();
  };
  return Status::invalidArgument(describeBadIndex({position, value}, plan::textOf(about.operand()),
                                                  numbers(about.shape()), numbers(about.sizes())));
}

Status Program::perform(const Step &step) const {
  if (step.kind == Step::Kind::check)
    return performCheck(step);
  if (step.kind == Step::Kind::exchange)
    return step.target + 1 == step.items ? performExchange(step) : Status();
  countCopies(step);
  return enqueue(step);
}

/// Between two members, or of one with itself.
Status Program::transfer(const Step &from, const Step &to, const void *source, void *target,
                         uint64_t bytes) const {
  if (bytes == 0)
    return {};
  Device &giver = from.queue->device();
  const Step::Kind kind = copyBetween(giver, to.queue->device());
  const Step &doing = kind == Step::Kind::download ? from : to;
  return enqueueBytes(kind, *doing.queue, &giver, target, source, bytes);
}

/// Counted on both ends.
Status Program::performExchange(const Step &last) const {
  const std::span<const Step> members = membersOf(last);
  const fb::Exchange &exchange = plan::exchangeOf(loaded.metadata(), commandOf(last));
  const plan::ExchangeBytes bytes(loaded.metadata(), exchange);
  std::vector<uint64_t> taken(members.size()); // by who gets it: bytes that are there
  for (uint32_t giver = 0; giver < members.size(); ++giver) {
    const auto *source = static_cast<const uint8_t *>(members[giver].buffers[0]);
    for (uint32_t taker = 0; taker < members.size(); ++taker) {
      const uint64_t size = bytes.between(giver, taker);
      if (!bytes.moves(giver, taker))
        continue;
      const Step &to = members[taker];
      auto *target = static_cast<uint8_t *>(to.buffers[to.numBuffers - 1]) + taken[taker];
      GANTRY_RETURN_IF_ERROR(transfer(members[giver], to, source, target, size));
      taken[taker] += size;
      if (exchange.kind() == fb::ExchangeKind::allToAll)
        source += size;
    }
  }
  const bool isAtLoad = this->source == loaded.metadata().load();
  for (uint32_t rank = 0; rank < members.size(); ++rank) {
    Device &device = members[rank].queue->device();
    if (bytes.gives(rank))
      device.countSent(bytes.sent(rank), isAtLoad);
    if (bytes.gets(rank))
      isAtLoad ? device.countLoad(fb::CopyKind::betweenTasks, bytes.received(rank))
               : device.countCopy(fb::CopyKind::betweenTasks, bytes.received(rank));
  }
  return {};
}

Status Program::enqueue(const Step &step) const {
  switch (step.kind) {
  case Step::Kind::launch:
    return step.queue->launch({step.kernel, step.buffers, step.numBuffers, step.items, step.grain,
                               sizes.data() + (step.buffers - slots.data())});
  case Step::Kind::copy:
  case Step::Kind::upload:
  case Step::Kind::download:
  case Step::Kind::copyFrom:
    return enqueueCopy(step);
  case Step::Kind::fill:
    return step.queue->fill(step.buffers[0], step.value, static_cast<uint64_t>(step.items));
  default:
    return {};
  }
}

} // namespace gantry::runtime
