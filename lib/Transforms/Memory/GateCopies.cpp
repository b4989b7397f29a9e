#include "GateCopies.h"

#include "DelayCopies.h"
#include "gantry/Analysis/Segments.h"
#include "gantry/Analysis/SharedBuffers.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

namespace {
/// A copy that can wait for room.
struct Incoming {
  plan::ir::CopyOp copy;
  uint32_t now, firstReader, end; ///< numbers
  uint64_t bytes;
};
} // namespace

/// Whether the host has it anyway: a constant, or what a copy has brought there.
static bool isKeptElsewhere(Value source) {
  if (isa<plan::ir::UseOp>(source.getDefiningOp()))
    return true;
  auto writes = [&](Operation *user) {
    bool found = false;
    schedule::forEachBuffer(
        user, [&](Value buffer, bool isWritten) { found |= isWritten && buffer == source; });
    return found;
  };
  return isa<plan::ir::BufferDeclOp>(source.getDefiningOp()) &&
         llvm::all_of(source.getUsers(), [&](Operation *user) {
           return !schedule::isCommand(user) || isa<plan::ir::CopyOp>(user) || !writes(user);
         });
}

/// Whether something that brings the value to the host stands behind the copy.
static bool comesBefore(plan::ir::CopyOp copy, Value source) {
  return llvm::any_of(source.getUsers(), [&](Operation *user) {
    auto other = dyn_cast<plan::ir::CopyOp>(user);
    return other && other != copy && llvm::is_contained(other.getTargets(), source) &&
           !other->isBeforeInBlock(copy);
  });
}

/// The copy, with all of its values, as what comes in and is read behind it in the same block;
/// nothing for others.
static std::optional<Incoming> incomingOf(plan::ir::CopyOp copy, const Timeline &time) {
  auto func = copy->getParentOfType<plan::ir::FuncOp>();
  Block &block = func.getBody().front();
  if (copy->getBlock() != &block)
    return std::nullopt;
  Incoming incoming{copy, time.at.lookup(copy), UINT32_MAX, 0, 0};
  for (auto [source, target] : llvm::zip(copy.getSources(), copy.getTargets())) {
    auto buffer = target.getDefiningOp<plan::ir::BufferDeclOp>();
    if (!buffer || shareOf(buffer) || !isKeptElsewhere(source) || comesBefore(copy, source))
      return std::nullopt;
    incoming.bytes += llvm::alignTo(uint64_t(buffer.getSize()), 64);
    for (Operation *user : target.getUsers()) {
      Operation *around = block.findAncestorOpInBlock(*user);
      if (user == copy)
        continue;
      if (!around || around->isBeforeInBlock(copy))
        return std::nullopt;
      incoming.firstReader = std::min(incoming.firstReader, time.at.lookup(around));
      incoming.end = std::max(incoming.end, time.end.lookup(around));
    }
  }
  return incoming.end ? std::optional(incoming) : std::nullopt;
}

namespace {
/// Bytes that live on a device at each number.
struct Room {
  std::vector<uint64_t> taken;
  uint64_t all;

  bool has(uint32_t number, uint64_t bytes) const { return taken[number] + bytes <= all; }
  void take(uint32_t first, uint32_t end, uint64_t bytes) {
    for (uint32_t number = first; number < end; ++number)
      taken[number] += bytes;
  }
};

/// All of one device.
class Gater {
public:
  Gater(plan::ir::FuncOp func, StringAttr device, uint64_t room, const Timeline &time)
      : func(func), device(device), time(time),
        room{std::vector<uint64_t>(time.ops.size() + 1), room} {}

  bool run() {
    SmallVector<plan::ir::CopyOp> copies;
    func.walk([&](plan::ir::CopyOp copy) {
      if (comesIn(copy, device))
        copies.push_back(copy);
    });
    for (plan::ir::CopyOp copy : copies)
      if (std::optional<Incoming> one = incomingOf(copy, time)) {
        incoming.push_back(*one);
        gated.insert(copy.getTargets().begin(), copy.getTargets().end());
        moving.insert(copy);
      }
    llvm::stable_sort(incoming, [](const Incoming &a, const Incoming &b) {
      return std::pair(a.firstReader, a.now) < std::pair(b.firstReader, b.now);
    });
    takeOthers();
    bool moved = false;
    uint32_t last = 0;
    for (const Incoming &one : incoming)
      moved |= gate(one, last);
    return moved;
  }

private:
  void takeOthers() {
    for (const Whole &whole : wholesOf(func)) {
      plan::ir::BufferDeclOp buffer = whole.buffer;
      if (buffer.getDeviceAttr().getAttr() != device || gated.contains(buffer))
        continue;
      LiveRange live = whole.live(time);
      room.take(live.first, live.last, llvm::alignTo(uint64_t(buffer.getSize()), 64));
    }
  }

  /// As early as there is room from then on, behind the one before.
  bool gate(const Incoming &one, uint32_t &last) {
    uint32_t first = one.firstReader;
    const uint32_t least = std::max(one.now, last);
    while (first > least && room.has(first - 1, one.bytes))
      --first;
    room.take(first, one.end, one.bytes);
    last = first;
    Operation *before = stayingFrom(first);
    const bool moves = before != stayingFrom(one.now);
    one.copy->moveBefore(before); // behind those that came there before
    one.copy->setAttr(schedule::kGatedAttr,
                      Builder(func.getContext()).getI64IntegerAttr(launchesBefore(before)));
    return moves;
  }

  /// How many launches the device has in front of the op, since the last branch or loop.
  int64_t launchesBefore(Operation *op) {
    int64_t count = 0;
    while ((op = op->getPrevNode()) && op->getNumRegions() == 0)
      if (auto launch = dyn_cast<plan::ir::LaunchOp>(op))
        count += launch.getDeviceAttr().getAttr() == device;
    return count;
  }

  /// The first op from that number on that stays where it is.
  Operation *stayingFrom(uint32_t number) {
    Block &block = func.getBody().front();
    Operation *op = block.findAncestorOpInBlock(*time.ops[number]);
    while (moving.contains(op))
      op = block.findAncestorOpInBlock(*time.ops[++number]);
    return op;
  }

  plan::ir::FuncOp func;
  StringAttr device;
  const Timeline &time;
  Room room;
  SmallVector<Incoming> incoming;
  DenseSet<Value> gated;
  DenseSet<Operation *> moving;
};
} // namespace

bool gantry::memory::gateCopies(plan::ir::FuncOp func, StringAttr device, uint64_t room,
                                const Timeline &time) {
  return Gater(func, device, room, time).run();
}

void gantry::memory::ungateCopies(plan::ir::FuncOp func) {
  func.walk([](plan::ir::CopyOp copy) { copy->removeAttr(schedule::kGatedAttr); });
}
