#include "DelayCopies.h"

#include "gantry/Analysis/Segments.h"
#include "gantry/Analysis/SharedBuffers.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

bool gantry::memory::comesIn(plan::ir::CopyOp copy, StringAttr device) {
  auto target = copy.getTargets().front().getDefiningOp<plan::ir::BufferDeclOp>();
  auto source = copy.getSources().front().getDefiningOp<plan::ir::BufferDeclOp>();
  // What shares bytes is written under other names, too.
  if ((target && shareOf(target)) || (source && shareOf(source)))
    return false;
  return target && target.getDeviceAttr().getAttr() == device &&
         !(source && source.getDeviceAttr() == target.getDeviceAttr());
}

static void separate(plan::ir::CopyOp copy, SmallVectorImpl<plan::ir::CopyOp> &single) {
  if (copy.getAlso().empty())
    return single.push_back(copy);
  OpBuilder b(copy);
  for (unsigned i = 0; i < copy.getSources().size(); ++i) {
    plan::ir::CopyOp::Copied value = copy.getCopied(i);
    single.push_back(plan::ir::CopyOp::create(
        b, copy.getLoc(), value.source, value.target, copy.getDeviceAttr(), value.name,
        value.location, copy.getQueueAttr(), value.cause, b.getArrayAttr({})));
  }
  copy.erase();
}

static bool writes(Operation *command, Value buffer) {
  bool found = false;
  if (schedule::isCommand(command))
    schedule::forEachBuffer(command,
                            [&](Value used, bool writes) { found |= writes && used == buffer; });
  return found;
}

/// The op in front of which `ahead` launches more are to run before `user`.
static Operation *goBack(Operation *user, unsigned ahead) {
  Operation *at = schedule::firstOfExchange(user);
  for (Operation *op = at; ahead > 0 && (op = op->getPrevNode());)
    if (isa<plan::ir::LaunchOp>(op)) {
      at = op;
      --ahead;
    }
  return at;
}

namespace {
/// Where an op stands in its block, without moving any: in front of the op that had number `before`
/// when we came, after all those with a smaller `turn` there.
struct Place {
  uint32_t before = 0;
  int32_t turn = 0; ///< of an op that stays, 0; what moves goes in front of it
  bool operator<(const Place &other) const {
    return std::pair(before, turn) < std::pair(other.before, other.turn);
  }
};

/// Asking MLIR for the order of ops between moves would number the block anew each time.
struct Delayer {
  DenseMap<Operation *, Place> places;
  DenseMap<Block *, SmallVector<Operation *>> ends; ///< of segments, in order
  SmallVector<plan::ir::CopyOp> moved;

  unsigned ahead;

  Delayer(Block &body, unsigned ahead) : ahead(ahead) { number(body); }

  void number(Block &block) {
    uint32_t next = 0;
    for (Operation &op : block) {
      places[&op] = {next++, 0};
      if (op.getNumRegions())
        ends[&block].push_back(&op);
      for (Region &region : op.getRegions())
        number(region.front());
    }
  }

  /// To be called from the last copy to the first: those behind make way.
  void delay(plan::ir::CopyOp copy) {
    Block *block = copy->getBlock();
    Place here = places.lookup(copy);
    std::optional<Place> limit;
    auto consider = [&](Operation *op) {
      if (!op)
        return;
      op = schedule::firstOfExchange(op);
      Place place = places.lookup(op);
      if (here < place && (!limit || place < *limit))
        limit = place;
    };
    ArrayRef<Operation *> joins = ends[block];
    auto join = llvm::partition_point(joins, [&](Operation *op) { return places[op] < here; });
    consider(join == joins.end() ? nullptr : *join);
    Value source = copy.getSources().front();
    for (Operation *user : copy.getTargets().front().getUsers()) {
      Operation *around = block->findAncestorOpInBlock(*user);
      Operation *before = around && here < places.lookup(around) ? goBack(around, ahead) : nullptr;
      if (before && !(here < places.lookup(before)))
        return; // it is no further ahead than that
      consider(before);
    }
    for (Operation *user : source.getUsers())
      if (writes(user, source))
        consider(block->findAncestorOpInBlock(*user));
    if (!limit)
      consider(&block->back());
    if (!limit || limit->before == here.before + 1)
      return; // it cannot go further
    moved.push_back(copy);
    places[copy] = {limit->before, -int32_t(moved.size())};
  }

  /// Moves all of them, each in front of the op that it was sent to.
  void move() {
    DenseMap<std::pair<Block *, uint32_t>, Operation *> stays;
    for (auto [op, place] : places)
      if (place.turn == 0)
        stays[{op->getBlock(), place.before}] = op;
    llvm::sort(moved,
               [&](plan::ir::CopyOp a, plan::ir::CopyOp b) { return places[a] < places[b]; });
    for (plan::ir::CopyOp copy : moved)
      copy->moveBefore(stays.lookup({copy->getBlock(), places[copy].before}));
  }
};
} // namespace

SmallVector<plan::ir::CopyOp> gantry::memory::separateCopies(plan::ir::FuncOp func,
                                                             StringAttr device) {
  SmallVector<plan::ir::CopyOp> whole, single;
  func.walk([&](plan::ir::CopyOp copy) {
    if (comesIn(copy, device))
      whole.push_back(copy);
  });
  for (plan::ir::CopyOp copy : whole)
    separate(copy, single);
  return single;
}

bool gantry::memory::delayCopies(plan::ir::FuncOp func, StringAttr device, unsigned ahead) {
  const SmallVector<plan::ir::CopyOp> copies = separateCopies(func, device);
  Delayer delayer(func.getBody().front(), ahead);
  for (plan::ir::CopyOp copy : llvm::reverse(copies))
    delayer.delay(copy);
  delayer.move();
  return !delayer.moved.empty();
}

/// A copy to another device out of a buffer that Memory places on `device`.
static bool goesOut(plan::ir::CopyOp copy, StringAttr device) {
  auto target = copy.getTargets().front().getDefiningOp<plan::ir::BufferDeclOp>();
  auto source = copy.getSources().front().getDefiningOp<plan::ir::BufferDeclOp>();
  if (!copy.getAlso().empty() || (target && shareOf(target)) || (source && shareOf(source)))
    return false;
  return source && source.getDeviceAttr().getAttr() == device &&
         !(target && target.getDeviceAttr() == source.getDeviceAttr());
}

/// Whether the copy has to stay behind the op.
static bool mustFollow(plan::ir::CopyOp copy, Operation *op) {
  if (op->getNumRegions() != 0)
    return true;
  return llvm::any_of(op->getOperands(),
                      [&](Value used) {
                        return used == copy.getTargets().front() ||
                               (used == copy.getSources().front() && writes(op, used));
                      }) ||
         llvm::is_contained(
             {copy.getSources().front().getDefiningOp(), copy.getTargets().front().getDefiningOp()},
             op);
}

bool gantry::memory::hurryCopies(plan::ir::FuncOp func, StringAttr device) {
  constexpr unsigned most = 1; // one value is made while the one before it goes
  SmallVector<plan::ir::CopyOp> copies;
  func.walk([&](plan::ir::CopyOp copy) {
    if (goesOut(copy, device))
      copies.push_back(copy);
  });
  bool moved = false;
  for (plan::ir::CopyOp copy : copies) {
    SmallVector<Operation *> launches; // between, the last one first
    Operation *op = copy->getPrevNode();
    for (; op && !mustFollow(copy, op); op = op->getPrevNode())
      if (isa<plan::ir::LaunchOp>(op))
        launches.push_back(op);
    if (launches.size() <= most)
      continue;
    copy->moveAfter(launches[launches.size() - most]);
    moved = true;
  }
  return moved;
}
