// Gives every buffer an arena and an offset: the adapter between the plan dialect and the packing
// library. Commands are numbered in program order, nested ones in their place; a buffer lives from
// the first number that uses it to the end of the last, and commands of other queues that are
// predicted to run at that time lie between (docs/designs/memory.md).

#include "AliasConcatSlice.h"
#include "DelayCopies.h"
#include "GateCopies.h"
#include "gantry/Analysis/SharedBuffers.h"
#include "gantry/Device/StreamRoom.h"
#include "gantry/Dialect/Gantry/IR/FreshSymbols.h"
#include "gantry/Dialect/Plan/IR/Exchanges.h"
#include "gantry/Packing/Packing.h"
#include "gantry/Transforms/CoalesceCopies.h"
#include "gantry/Transforms/OrderByStart.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::memory;

namespace gantry {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

static constexpr uint64_t kAlignment = 64;
/// Of the room on a device: a bound that leaves next to nothing free, and a layout that a short
/// search seldom brings below it then.
static constexpr double kFull = 0.995, kFar = 1.03;
/// Of the effort of such a search, where the plan is one of many.
static constexpr unsigned kTrialShare = 8;

namespace {
/// An arena in the making.
struct ArenaSize {
  uint64_t size = 0, lowerBound = 0;
  uint64_t loadSize = 0; ///< of the function that runs at load
  uint64_t missing = 0;  ///< for what lives at the same time by the last predicted timeline
  /// Where copies wait for room: one part of it in so many is lost between buffers; 0: none.
  std::optional<unsigned> lost = {};
};

struct PlanMemory : gantry::impl::PlanMemoryPassBase<PlanMemory> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  llvm::MapVector<StringAttr, ArenaSize> transient; ///< by device; largest over the functions
  DenseMap<StringAttr, uint64_t> constants;         ///< by device
  DenseMap<StringAttr, uint64_t> variables;         ///< by device
  DenseMap<StringAttr, uint64_t> limits;            ///< by device; 0: none
  using ArenaKey = std::pair<plan::ir::ArenaKind, StringAttr>;
  DenseMap<ArenaKey, FlatSymbolRefAttr> arenas; ///< symbols, by kind and device

  void runOnOperation() override {
    transient.clear();
    nameArenas();
    placeInOrder<plan::ir::ConstantOp>(constants, plan::ir::ArenaKind::Constants);
    placeInOrder<plan::ir::VariableOp>(variables, plan::ir::ArenaKind::Variables);
    limits.clear();
    for (auto device : getOperation().getOps<plan::ir::DeviceOp>())
      limits[device.getSymNameAttr()] = device.getLimit();
    schedule::CommandCosts costs(getOperation());
    for (auto func : getOperation().getOps<plan::ir::FuncOp>())
      if (failed(placeBuffers(func, costs)))
        return signalPassFailure();
    declareArenas();
    // Whoever comes later asks what there is to run, not what it means.
    getOperation().walk([](plan::ir::LaunchOp launch) {
      launch->removeAttr(kJoinsAttr);
      launch->removeAttr(kCutsAttr);
    });
  }

  static SmallVector<plan::ir::VariableOp> inOrder(SmallVector<plan::ir::VariableOp> ops) {
    return ops;
  }
  /// What is computed at load comes last: what comes before it can be used where the file is
  /// mapped.
  static SmallVector<plan::ir::ConstantOp> inOrder(SmallVector<plan::ir::ConstantOp> ops) {
    llvm::stable_sort(ops, [](plan::ir::ConstantOp a, plan::ir::ConstantOp b) {
      return !a.getMade() && b.getMade();
    });
    return ops;
  }

  /// One after the other in the arena of their device.
  template <typename Op>
  void placeInOrder(DenseMap<StringAttr, uint64_t> &ends, plan::ir::ArenaKind kind) {
    ends.clear();
    Builder b(&getContext());
    for (Op op : inOrder(llvm::to_vector(getOperation().getOps<Op>()))) {
      uint64_t &end = ends[op.getDeviceAttr().getAttr()];
      op.setArenaAttr(arenaOf(kind, op.getDeviceAttr().getAttr()));
      op.setOffsetAttr(b.getI64IntegerAttr(end));
      end += llvm::alignTo(op.getSize(), kAlignment);
    }
  }

  /// What has bytes on each device.
  using Buffers = llvm::MapVector<StringAttr, SmallVector<Whole>>;

  static Buffers buffersOf(plan::ir::FuncOp func) {
    Buffers byDevice;
    for (Whole &whole : wholesOf(func)) {
      StringAttr device = whole.buffer.getDeviceAttr().getAttr();
      byDevice[device].push_back(std::move(whole));
    }
    return byDevice;
  }

  static bool hasExchanges(plan::ir::FuncOp func) {
    return func.walk([](plan::ir::PartOp) { return WalkResult::interrupt(); }).wasInterrupted();
  }

  LogicalResult placeBuffers(plan::ir::FuncOp func, const schedule::CommandCosts &costs) {
    if (reuse)
      aliasConcatSlice(func);
    Buffers byDevice = buffersOf(func);
    FailureOr<Packed> packed = packAll(func, byDevice, &costs);
    // What the host keeps comes in when there is room; not past exchanges, which stay where they
    // are.
    if (gate && succeeded(packed) && packed->missing > 0 && !hasExchanges(func))
      packed = packGated(func, byDevice, costs, std::move(*packed));
    // Rather wait for memory than not fit: values then go out shortly after they are made.
    if (succeeded(packed) && !packed->full.empty()) {
      bool moved = false;
      for (StringAttr device : packed->full)
        moved |= hurryCopies(func, device);
      if (moved)
        packed = packAll(func, byDevice, nullptr);
    }
    // And come in shortly before they are used.
    for (unsigned ahead : {64, 32, 16, 8, 4, 2, 1, 0}) {
      if (failed(packed) || packed->full.empty())
        break;
      bool moved = false;
      for (StringAttr device : packed->full)
        moved |= delayCopies(func, device, ahead);
      if (moved)
        packed = packAll(func, byDevice, nullptr);
    }
    if (failed(packed) || (!trial && failed(tighten(func, byDevice, costs, *packed))))
      return failure();
    for (auto [entry, solution] : llvm::zip(byDevice, packed->solutions))
      place(func, entry.first, entry.second, solution);
    return success();
  }

  /// Offsets by device, in the order of `byDevice`, and the devices that have no room for them.
  struct Packed {
    SmallVector<packing::Solution> solutions;
    SmallVector<bool> isTimed; ///< whether by the predicted timeline
    SmallVector<StringAttr> full;
    SmallVector<StringAttr> waiting; ///< fit, if at all, when commands wait for memory
    uint64_t missing = 0;            ///< bytes, on all of them

    bool isBetter(const Packed &other) const {
      return std::pair(full.size(), missing) < std::pair(other.full.size(), other.missing);
    }
  };

  /// Whether what does not fit is worth a search, where it could.
  enum class Packing { thorough, quick };

  FailureOr<Packed> packAll(plan::ir::FuncOp func, const Buffers &byDevice,
                            const schedule::CommandCosts *costs) {
    return packAll(func, byDevice, costs, trial ? Packing::quick : Packing::thorough);
  }

  /// With costs, by the predicted timeline where the device has the room for that.
  FailureOr<Packed> packAll(plan::ir::FuncOp func, const Buffers &byDevice,
                            const schedule::CommandCosts *costs, Packing packing) {
    Timeline concurrent(func, costs);
    Timeline oneQueue(func);
    Packed packed;
    for (auto &[device, buffers] : byDevice) {
      FailureOr<packing::Solution> solution = pack(func, device, buffers, concurrent, packing);
      const bool isFull = succeeded(solution) && solution->peak > room(device);
      if (costs && succeeded(solution))
        transient[device].missing = isFull ? solution->peak - room(device) : 0;
      if (isFull) {
        packed.waiting.push_back(device);
        packed.missing += solution->peak - room(device);
        solution = pack(func, device, buffers, oneQueue, packing);
      }
      if (failed(solution))
        return failure();
      if (solution->peak > room(device))
        packed.full.push_back(device);
      packed.solutions.push_back(std::move(*solution));
      packed.isTimed.push_back(costs && !isFull);
    }
    return packed;
  }

  /// Layouts are searched to the end once it is settled what lives when.
  LogicalResult tighten(plan::ir::FuncOp func, const Buffers &byDevice,
                        const schedule::CommandCosts &costs, Packed &packed) {
    std::optional<Timeline> concurrent, oneQueue;
    for (auto [entry, solution, isTimed] : llvm::zip(byDevice, packed.solutions, packed.isTimed)) {
      if (solution.peak <= solution.lowerBound || solution.peak > room(entry.first))
        continue;
      std::optional<Timeline> &time = isTimed ? concurrent : oneQueue;
      if (!time)
        time.emplace(func, isTimed ? &costs : nullptr);
      Expected<packing::Solution> better = packing::pack(problemOf(entry.second, *time));
      if (!better)
        return cannotPlan(func, entry.first, better.status());
      if (better->peak < solution.peak)
        solution = better.take();
    }
    return success();
  }

  /// The function as it was when `copy` was made of it, which goes.
  static void restore(plan::ir::FuncOp func, plan::ir::FuncOp copy, Buffers &byDevice) {
    func.getBody().takeBody(copy.getBody());
    copy.erase();
    byDevice = buffersOf(func);
  }

  /// With what the host keeps coming in as early as there is room, on the devices that lack some. A
  /// part of it may be lost between buffers. The commands then stand as for the best that was
  /// found.
  FailureOr<Packed> packGated(plan::ir::FuncOp func, Buffers &byDevice,
                              const schedule::CommandCosts &costs, Packed ungated) {
    plan::ir::FuncOp before = func.clone();
    const SmallVector<StringAttr> devices = ungated.waiting;
    for (StringAttr device : devices)
      separateCopies(func, device);
    Block &block = func.getBody().front();
    auto order = [&] {
      return llvm::map_to_vector(
          block, [](Operation &op) { return std::pair(&op, op.getAttr(schedule::kGatedAttr)); });
    };
    auto bestOrder = order();
    std::optional<unsigned> bestLost;
    Packed best = std::move(ungated);
    SmallVector<unsigned> losses{0};
    llvm::append_range(losses, kRoomLeftFree);
    for (unsigned lost : losses) {
      Timeline time(func, &costs);
      bool moved = false;
      for (StringAttr device : devices)
        moved |= gateCopies(func, device, room(device) - (lost ? room(device) / lost : 0), time);
      if (!moved)
        continue;
      // What comes later makes way for what was behind it.
      schedule::forEachSegment(
          block, [&](ArrayRef<Operation *> commands) { schedule::orderByStart(commands, costs); });
      FailureOr<Packed> packed = packAll(func, byDevice, &costs, Packing::quick);
      if (failed(packed)) {
        before.erase();
        return failure();
      }
      if (packed->isBetter(best)) {
        best = std::move(*packed);
        bestOrder = order();
        bestLost = lost;
      }
      if (best.missing == 0)
        break;
    }
    FailureOr<Packed> result = std::move(best);
    if (bestLost) {
      before.erase();
      for (auto [op, gate] : bestOrder) {
        op->moveBefore(&block, block.end());
        if (gate)
          op->setAttr(schedule::kGatedAttr, gate);
      }
      result = packJoined(func, byDevice, costs, std::move(*result));
      if (failed(result))
        return failure();
    } else {
      restore(func, before, byDevice);
    }
    ungateCopies(func);
    for (auto &[device, size] : transient)
      size.missing = llvm::is_contained(result->waiting, device) ? size.missing : 0;
    for (StringAttr device : devices)
      transient[device].lost = bestLost;
    return result;
  }

  /// With small copies whose gates are open at the same time as one, where that has the room.
  FailureOr<Packed> packJoined(plan::ir::FuncOp func, Buffers &byDevice,
                               const schedule::CommandCosts &costs, Packed single) {
    plan::ir::FuncOp before = func.clone();
    schedule::forEachSegment(func.getBody().front(), [&](ArrayRef<Operation *> commands) {
      schedule::coalesceCopies(commands, costs);
    });
    FailureOr<Packed> joined = packAll(func, byDevice, &costs, Packing::quick);
    if (succeeded(joined) && single.isBetter(*joined)) {
      restore(func, before, byDevice);
      return single;
    }
    before.erase();
    return joined;
  }

  /// Bytes for transient buffers under the device's limit.
  uint64_t room(StringAttr device) {
    uint64_t limit = limits.lookup(device);
    if (limit == 0)
      return UINT64_MAX;
    uint64_t taken = constants.lookup(device) + boundBytes(getOperation(), device);
    taken += variables.lookup(device);
    return limit - std::min(limit, taken);
  }

  packing::Problem problemOf(ArrayRef<Whole> buffers, const Timeline &time) const {
    packing::Problem problem;
    for (const Whole &whole : buffers) {
      auto [first, last] = reuse ? whole.live(time) : LiveRange{0, uint32_t(time.ops.size())};
      plan::ir::BufferDeclOp buffer = whole.buffer;
      problem.buffers.push_back(
          {uint64_t(buffer.getSize()), first, last, kAlignment, std::nullopt});
    }
    return problem;
  }

  static InFlightDiagnostic cannotPlan(plan::ir::FuncOp func, StringAttr device,
                                       const Status &status) {
    return func.emitError() << "memory of " << device
                            << " could not be planned: " << status.message();
  }

  /// A layout that the device has room for, if one is found.
  FailureOr<packing::Solution> pack(plan::ir::FuncOp func, StringAttr device,
                                    ArrayRef<Whole> buffers, const Timeline &time, Packing effort) {
    const packing::Problem problem = problemOf(buffers, time);
    Expected<packing::Solution> solution = packing::pack(problem, {.rounds = 0});
    // What no layout has the room for is not worth a search; nor, where there are other plans to
    // try, what leaves nothing free at its fullest and is far from it.
    const auto exceeds = [&](double part, uint64_t bytes) {
      return static_cast<double>(bytes) > part * static_cast<double>(room(device));
    };
    if (effort == Packing::quick && solution && exceeds(kFull, solution->lowerBound) &&
        exceeds(kFar, solution->peak))
      return solution.take();
    for (unsigned rounds = 1; rounds <= (effort == Packing::thorough ? 2 : 1); ++rounds)
      if (solution && solution->peak > room(device) && solution->lowerBound <= room(device))
        solution = packing::pack(
            problem,
            {.capacity = room(device), .rounds = rounds, .share = trial ? kTrialShare : 1});
    if (!solution)
      return cannotPlan(func, device, solution.status());
    return solution.take();
  }

  void place(plan::ir::FuncOp func, StringAttr device, ArrayRef<Whole> buffers,
             const packing::Solution &solution) {
    Builder b(&getContext());
    FlatSymbolRefAttr arena = arenaOf(plan::ir::ArenaKind::Transient, device);
    auto placeAt = [&](plan::ir::BufferDeclOp op, uint64_t offset) {
      op.setArenaAttr(arena);
      op.setOffsetAttr(b.getI64IntegerAttr(offset));
    };
    for (auto [whole, offset] : llvm::zip(buffers, solution.offsets)) {
      placeAt(whole.buffer, offset);
      for (plan::ir::BufferDeclOp part : whole.parts)
        placeAt(part, offset + shareOf(part)->begin);
    }
    ArenaSize &size = transient[device];
    if (func.getAtLoad())
      size.loadSize = solution.peak;
    else if (solution.peak > size.size)
      size.size = solution.peak, size.lowerBound = solution.lowerBound;
  }

  /// The first device has an arena for constants even when there are none.
  void declareArenas() {
    OpBuilder b = OpBuilder::atBlockBegin(getOperation().getBody());
    SmallVector<plan::ir::DeviceOp> devices(getOperation().getOps<plan::ir::DeviceOp>());
    if (!devices.empty())
      b.setInsertionPointAfter(devices.back());
    for (auto [i, device] : llvm::enumerate(devices)) {
      // What has no bytes has a place nevertheless.
      uint64_t bytes = constants.lookup(device.getSymNameAttr());
      if (i == 0 || constants.contains(device.getSymNameAttr()))
        declareArena(b, device, plan::ir::ArenaKind::Constants, {bytes, bytes});
      if (auto it = variables.find(device.getSymNameAttr()); it != variables.end())
        declareArena(b, device, plan::ir::ArenaKind::Variables, {it->second, it->second});
      if (auto it = transient.find(device.getSymNameAttr()); it != transient.end())
        declareArena(b, device, plan::ir::ArenaKind::Transient, it->second);
    }
  }

  /// constants_d0 and so on.
  void nameArenas() {
    arenas.clear();
    FreshSymbols names(getOperation());
    for (auto device : getOperation().getOps<plan::ir::DeviceOp>())
      for (auto kind : {plan::ir::ArenaKind::Constants, plan::ir::ArenaKind::Variables,
                        plan::ir::ArenaKind::Transient})
        arenas[{kind, device.getSymNameAttr()}] = FlatSymbolRefAttr::get(
            names.take(plan::ir::stringifyArenaKind(kind) + "_" + device.getSymName()));
  }

  FlatSymbolRefAttr arenaOf(plan::ir::ArenaKind kind, StringAttr device) const {
    return arenas.lookup({kind, device});
  }

  void declareArena(OpBuilder &b, plan::ir::DeviceOp device, plan::ir::ArenaKind kind,
                    ArenaSize size) {
    auto arena = plan::ir::ArenaOp::create(
        b, device.getLoc(), arenaOf(kind, device.getSymNameAttr()).getAttr(),
        plan::ir::ArenaKindAttr::get(b.getContext(), kind),
        FlatSymbolRefAttr::get(device.getSymNameAttr()), b.getI64IntegerAttr(size.size),
        b.getI64IntegerAttr(size.lowerBound), b.getI64IntegerAttr(size.loadSize));
    if (size.missing)
      arena->setAttr(memory::kShortAttr, b.getI64IntegerAttr(int64_t(size.missing)));
    if (size.lost)
      arena->setAttr(memory::kLostAttr, b.getI64IntegerAttr(*size.lost));
  }
};
} // namespace
