// The loop of a warp, the turns of a block's warps, and what is set up for both.
#include "Runner.h"

#include "gantry/Support/Bytes.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <iterator>

using namespace gantry;
using namespace gantry::ptx;

namespace {

constexpr uint32_t noPc = ~uint32_t(0);
/// After so many ops a warp that does not wait lets the others run: they may be what it spins for.
constexpr int64_t sliceSteps = 1 << 16;
/// What an op that reads the clock takes of it.
constexpr uint64_t clockStep = 16;

char *allocateAligned(size_t bytes) {
  void *made = std::aligned_alloc(64, alignTo(std::max<size_t>(bytes, 64), 64));
  if (made)
    std::memset(made, 0, alignTo(std::max<size_t>(bytes, 64), 64));
  return static_cast<char *>(made);
}

void broadcast(char *registers, Slot slot, uint64_t value) {
  for (unsigned lane = 0; lane < warpSize; ++lane)
    std::memcpy(registers + slot.offset + lane * slot.bytes, &value, slot.bytes);
}

size_t axisOf(Special special, Special x) { return size_t(special) - size_t(x); }

/// What the lanes of any warp have.
std::optional<uint64_t> laneValue(Special special, unsigned lane) {
  const uint32_t bit = 1u << lane;
  switch (special) {
  case Special::laneId:
    return lane;
  case Special::lanemaskEq:
    return bit;
  case Special::lanemaskLe:
    return bit | (bit - 1);
  case Special::lanemaskLt:
    return bit - 1;
  case Special::lanemaskGe:
    return ~(bit - 1);
  case Special::lanemaskGt:
    return ~(bit | (bit - 1));
  default:
    return std::nullopt;
  }
}

} // namespace

Runner::Runner(const LaunchState &state)
    : state(state), program(state.program), compute(computeTable()), checks(state.launch.checks),
      checkMemory(checks != Checks::none), checkAll(checks == Checks::all),
      regionCache(program.ops.size()), patterns(2 * program.accesses.size()),
      matrixPatterns(program.matrices.size()), opCounts(program.ops.size()),
      runCounts(program.ops.size() + 1), barriers(16),
      steps(int64_t(std::min<uint64_t>(state.launch.stepLimit, uint64_t(1) << 62))) {
  size_t warpCount = size_t((state.threadsPerBlock + warpSize - 1) / warpSize);
  oneRegisterFile = !program.usesBarriers;
  size_t files = oneRegisterFile ? 1 : warpCount;
  registerStride = alignTo(program.registerBytes, 64) + 64;
  registerFiles.reset(allocateAligned(files * registerStride));
  shared.reset(allocateAligned(state.sharedBytes + 32));
  localStride = program.info.localBytes * warpSize;
  local.resize(files * localStride);
  if (checkAll) {
    localWritten.resize(local.size());
    sharedShadow.resize(state.sharedBytes + 16, program.sharedGranule);
  }
  warps.resize(warpCount);
  threadTable.resize(3 * warpCount * warpSize);
  for (uint64_t i = 0; i < warpCount * warpSize; ++i) {
    Index3 index = threadIndex(i);
    for (size_t axis = 0; axis < 3; ++axis)
      threadTable[axis * warpCount * warpSize + i] = index[axis];
  }
  for (size_t i = 0; i < warpCount; ++i) {
    warps[i].index = uint32_t(i);
    warps[i].registers = registerFiles.get() + (oneRegisterFile ? 0 : i * registerStride);
    if (i < files)
      setUpRegisters(warps[i].registers);
  }
}

/// What stays the same for the whole launch.
void Runner::setUpRegisters(char *registers) {
  for (const KernelProgram::Constant &constant : program.constants)
    broadcast(registers, constant.slot, constant.value);
  for (const KernelProgram::ParameterUse &use : program.parameters) {
    uint64_t value = 0;
    std::memcpy(&value, state.arguments.data() + use.offset, use.width);
    if (use.isSigned && use.width < 8 && value >> (8 * use.width - 1))
      value |= ~uint64_t(0) << (8 * use.width);
    broadcast(registers, use.slot, value);
  }
  for (const KernelProgram::SpecialUse &use : program.specials) {
    if (auto value = launchValue(use.special))
      broadcast(registers, use.slot, *value);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      if (auto value = laneValue(use.special, lane))
        std::memcpy(registers + use.slot.offset + lane * use.slot.bytes, &*value, use.slot.bytes);
  }
}

/// What all threads of the launch have in a register that is not 0.
std::optional<uint64_t> Runner::launchValue(Special special) const {
  switch (special) {
  case Special::ntidX:
  case Special::ntidY:
  case Special::ntidZ:
    return state.launch.block[axisOf(special, Special::ntidX)];
  case Special::nctaidX:
  case Special::nctaidY:
  case Special::nctaidZ:
    return state.launch.grid[axisOf(special, Special::nctaidX)];
  case Special::nwarpId:
    return warps.size();
  case Special::nsmId:
  case Special::one:
    return 1;
  case Special::dynamicSharedSize:
    return state.launch.dynamicShared;
  case Special::totalSharedSize:
    return state.sharedBytes;
  default:
    return std::nullopt;
  }
}

Index3 Runner::threadIndex(uint64_t linear) const {
  const Index3 &size = state.launch.block;
  return {uint32_t(linear % size[0]), uint32_t(linear / size[0] % size[1]),
          uint32_t(linear / size[0] / size[1])};
}

Index3 Runner::blockIndex(uint64_t linear) const {
  const Index3 &size = state.launch.grid;
  return {uint32_t(linear % size[0]), uint32_t(linear / size[0] % size[1]),
          uint32_t(linear / size[0] / size[1])};
}

/// The last warp of a block may have fewer than 32.
uint32_t Runner::lanesOf(const Warp &warp) const {
  uint64_t count = state.threadsPerBlock - uint64_t(warp.index) * warpSize;
  return count >= warpSize ? allLanes : (1u << count) - 1;
}

void Runner::startWarp(Warp &warp) {
  warp.live = lanesOf(warp);
  warp.waiting = warp.blocked = 0;
  warp.blockSync = warp.warpSync = 0;
  warp.copies.clear();
  std::memset(warp.group, 0, sizeof warp.group);
  if (checkAll && !program.watches.empty())
    warp.written.assign(program.registers.size(), 0);
  std::memset(warp.pcs, 0, sizeof warp.pcs);
  for (const KernelProgram::SpecialUse &use : program.specials) {
    char *at = warp.registers + use.slot.offset;
    switch (use.special) {
    case Special::tidX:
    case Special::tidY:
    case Special::tidZ: {
      size_t axis = axisOf(use.special, Special::tidX);
      const uint32_t *from = threadTable.data() + (axis * warps.size() + warp.index) * warpSize;
      if (use.slot.bytes == 4) {
        std::memcpy(at, from, sizeof(uint32_t) * warpSize);
        break;
      }
      for (unsigned lane = 0; lane < warpSize; ++lane) {
        uint64_t value = from[lane];
        std::memcpy(at + lane * use.slot.bytes, &value, use.slot.bytes);
      }
      break;
    }
    case Special::warpId:
      broadcast(warp.registers, use.slot, warp.index);
      break;
    case Special::ctaidX:
    case Special::ctaidY:
    case Special::ctaidZ:
      broadcast(warp.registers, use.slot, blockAt[axisOf(use.special, Special::ctaidX)]);
      break;
    default:
      break;
    }
  }
  if (checkAll && localStride)
    std::memset(localWritten.data() + (oneRegisterFile ? 0 : warp.index * localStride), 0,
                localStride);
}

void Runner::startBlock(uint64_t index) {
  block = index;
  blockAt = blockIndex(index);
  tick = 1;
  fenceTick = 0;
  acquired = false;
  std::fill(barriers.begin(), barriers.end(), BlockBarrier{});
  if (!checkAll)
    return;
  if (++sharedEpoch == record::epochs) {
    sharedShadow.clear();
    sharedEpoch = 1;
  }
}

bool Runner::runBlock(uint64_t index, uint64_t at) {
  position = at;
  startBlock(index);
  if (oneRegisterFile) {
    for (Warp &warp : warps) {
      startWarp(warp);
      while (warp.live && !stopped)
        runWarp(warp);
      if (stopped)
        return false;
    }
    return true;
  }
  for (Warp &warp : warps)
    startWarp(warp);
  return runWarps();
}

bool Runner::runWarps() {
  for (;;) {
    bool live = false, progress = false;
    for (Warp &warp : warps) {
      if (warp.live & ~warp.blocked) {
        runWarp(warp);
        progress = true;
        if (stopped)
          return false;
      }
      live |= warp.live != 0;
    }
    if (!live)
      return true;
    if (!progress)
      deadlock();
  }
}

/// Every lane that lives waits at a barrier that nobody else will reach. It is reported once a
/// barrier, and released, so that the rest of the block runs and is checked.
void Runner::deadlock() {
  for (unsigned id = 0; id < barriers.size(); ++id) {
    Warp *first = nullptr;
    unsigned lane = 0;
    uint32_t waiting = 0, gone = 0;
    std::string missing;
    for (Warp &warp : warps) {
      uint32_t here =
          lanesWhere(warp.blocked, [&](unsigned each) { return warp.barrier[each] == id; });
      if (here && !first) {
        first = &warp;
        lane = firstLane(here);
      }
      waiting += uint32_t(std::popcount(here));
      uint64_t begin = uint64_t(warp.index) * warpSize;
      uint32_t all = lanesOf(warp);
      if (uint32_t absent = all & ~here; absent && missing.empty()) {
        unsigned each = firstLane(absent);
        missing =
            threadText(begin + each) + (warp.live >> each & 1 ? " waits elsewhere" : " has ended");
      }
      gone += uint32_t(std::popcount(all & ~warp.live));
    }
    if (!first)
      continue;
    const Op &op = program.ops[first->pcs[lane] - 1];
    if (checkMemory)
      fault(FaultKind::divergentBarrier, *first, op, lane,
            "barrier " + std::to_string(id) + " waits for " +
                std::to_string(barriers[id].expected) + " threads, " + std::to_string(waiting) +
                " are there and " + std::to_string(gone) + " have ended; thread " + missing);
    else
      spent = stopped = true;
    release(id);
  }
}

/// The lanes at the first place that one of `candidates` has, so that those ahead are met again.
Runner::Group Runner::furthestBack(const Warp &warp, uint32_t candidates) {
  const uint32_t alive = warp.live & ~warp.blocked;
  if ((candidates & alive) == allLanes && areEqual(warp.pcs))
    return {warp.pcs[0], noPc, allLanes};
  Group group{noPc, noPc, 0};
  for (unsigned lane : Lanes{candidates})
    group.pc = std::min(group.pc, warp.pcs[lane]);
  for (unsigned lane : Lanes{alive})
    if (warp.pcs[lane] == group.pc)
      group.mask |= 1u << lane;
    else if (warp.pcs[lane] > group.pc)
      group.limit = std::min(group.limit, warp.pcs[lane]);
  return group;
}

void Runner::parkAt(Warp &warp, uint32_t lanes, uint32_t pc) {
  if (lanes == allLanes)
    std::fill(warp.pcs, warp.pcs + warpSize, pc);
  else
    for (unsigned lane : Lanes{lanes})
      warp.pcs[lane] = pc;
}

/// How many ops from `pc` on only compute, for all lanes of the group, before another group waits.
uint32_t Runner::straightRun(uint32_t pc, uint32_t limit) const {
  return uint32_t(std::min<uint64_t>(std::min(program.straight[pc], limit - pc), uint64_t(steps)));
}

[[gnu::always_inline]] inline void Runner::runStraight(Warp &warp, const Group &group,
                                                       uint32_t run) {
  for (const Op *op = &program.ops[group.pc], *end = op + run; op != end; ++op)
    op->compute(warp.registers, group.mask, *op);
  RunCount &begin = runCounts[group.pc], &end = runCounts[group.pc + run];
  uint64_t lanes = group.mask == allLanes ? warpSize : uint64_t(std::popcount(group.mask));
  ++begin.warps;
  begin.lanes += lanes;
  --end.warps;
  end.lanes -= lanes;
  steps -= run;
}

/// Runs the warp until it has ended, waits for others, or has had its slice.
void Runner::runWarp(Warp &warp) {
  const int64_t sliceEnd = steps - sliceSteps;
  for (;;) {
    uint32_t ready = warp.live & ~warp.waiting & ~warp.blocked;
    bool forced = ready == 0;
    uint32_t candidates = forced ? warp.live & warp.waiting & ~warp.blocked : ready;
    if (!candidates || (steps <= sliceEnd && !oneRegisterFile && !forced))
      return;
    Group group = furthestBack(warp, candidates);
    warp.waiting &= ~group.mask;
    if (!runGroup(warp, group, forced, sliceEnd))
      return;
  }
}

/// Runs a group until its lanes part, wait, end or come to where others are. False: the launch is
/// over. `forced`: who the first op waits for will not come.
bool Runner::runGroup(Warp &warp, Group group, bool forced, int64_t sliceEnd) {
  auto &[pc, limit, mask] = group;
  for (;; forced = false) {
    if (uint32_t run = straightRun(pc, limit)) {
      runStraight(warp, group, run);
      forced = false;
      pc += run;
      if (pc >= limit)
        break;
    }
    const Op &op = program.ops[pc];
    uint32_t exec = mask;
    if (op.guard != noSlot) {
      uint32_t guard = predicate(warp, op.guard);
      exec &= op.guardNegated ? ~guard : guard;
    }
    RunCount &count = opCounts[pc];
    ++count.warps;
    count.lanes += exec == allLanes ? warpSize : uint64_t(std::popcount(exec));
    if (--steps < 0) [[unlikely]] {
      fault(FaultKind::stepLimit, warp, op, firstLane(mask),
            "more than " + std::to_string(state.launch.stepLimit) +
                " instructions of warps; does it end?");
      spent = stopped = true;
      return false;
    }
    if (op.watched != noSlot && checkAll) [[unlikely]]
      watchRegisters(warp, op, mask, exec);
    Next next = execute(warp, op, group, exec, forced);
    if (next == Next::parked || next == Next::stop)
      return next == Next::parked;
    mask &= warp.live;
    pc = next == Next::jump ? op.target : pc + 1;
    if (pc >= limit || (next == Next::jump && (warp.waiting || steps <= sliceEnd)))
      break;
  }
  parkAt(warp, mask, pc);
  return true;
}

/// Ops that say where lanes go on; the others are executed on them.
[[gnu::always_inline]] inline Runner::Next
Runner::execute(Warp &warp, const Op &op, const Group &group, uint32_t exec, bool forced) {
  if (!exec)
    return passOver(op);
  switch (op.kind) {
  case OpKind::branch:
    ++counts.branches;
    if (exec == group.mask)
      return Next::jump;
    ++counts.divergedBranches;
    parkAt(warp, exec, op.target);
    parkAt(warp, group.mask & ~exec, group.pc + 1);
    return Next::parked;
  case OpKind::branchIndexed:
    ++counts.branches;
    parkAt(warp, group.mask & ~exec, group.pc + 1);
    return branchIndexed(warp, op, exec);
  case OpKind::exit:
    warp.live &= ~exec;
    return exec == group.mask ? Next::parked : Next::follow;
  case OpKind::trap:
    fault(FaultKind::trap, warp, op, firstLane(exec),
          op.constant ? "an assertion failed" : "the kernel trapped");
    stopped = true;
    return Next::stop;
  case OpKind::barrier:
    if (barrier(warp, op, group.mask, exec, forced))
      parkAt(warp, group.mask, group.pc);
    else
      parkAt(warp, group.mask, group.pc + 1);
    return Next::parked;
  default:
    return executeOnLanes(warp, op, group, exec, forced);
  }
}

/// An op whose guard holds for no lane: what counts all the same.
Runner::Next Runner::passOver(const Op &op) {
  counts.branches += op.kind == OpKind::branch || op.kind == OpKind::branchIndexed;
  clockValue += op.kind == OpKind::clock ? clockStep : 0;
  return Next::follow;
}

Runner::Next Runner::branchIndexed(Warp &warp, const Op &op, uint32_t exec) {
  const std::vector<uint32_t> &table = program.branchTables[op.detail];
  const uint32_t *index = slot<uint32_t>(warp, op.src[0]);
  for (unsigned lane : Lanes{exec}) {
    if (index[lane] >= table.size()) {
      fault(FaultKind::outOfBounds, warp, op, lane,
            "branch " + std::to_string(index[lane]) + " of a table of " +
                std::to_string(table.size()));
      stopped = true;
      return Next::stop;
    }
    warp.pcs[lane] = table[index[lane]];
  }
  return Next::parked;
}

[[gnu::always_inline]] inline Runner::Next
Runner::executeOnLanes(Warp &warp, const Op &op, const Group &group, uint32_t exec, bool forced) {
  switch (op.kind) {
  case OpKind::compute:
    op.compute(warp.registers, exec, op);
    break;
  case OpKind::nop:
    break;
  case OpKind::load:
    load(warp, op, exec);
    break;
  case OpKind::store:
    store(warp, op, exec);
    break;
  case OpKind::atomic:
    atomic(warp, op, exec);
    break;
  case OpKind::loadParameter:
    loadParameter(warp, op, exec);
    break;
  case OpKind::copyAsync:
    copyAsync(warp, op, exec);
    break;
  case OpKind::copyCommit:
    commitCopies(warp, exec);
    break;
  case OpKind::copyWait:
    finishCopies(warp, exec, op.constant);
    break;
  case OpKind::fence:
    fenceTick = op.constant ? tick + 1 : fenceTick;
    break;
  case OpKind::activeMask:
    for (unsigned lane : Lanes{exec})
      slot<uint32_t>(warp, op.dst)[lane] = exec;
    break;
  case OpKind::memoryBarrier:
    memoryBarrier(warp, op, exec);
    break;
  case OpKind::clock:
    clockValue += clockStep;
    for (unsigned lane : Lanes{exec})
      writeLane(warp, {op.dst, uint8_t(op.constant)}, lane, clockValue);
    break;
  default:
    if (!executeWaiting(warp, op, group.mask, exec, forced))
      break;
    parkAt(warp, group.mask, group.pc);
    warp.waiting |= group.mask;
    return Next::parked;
  }
  return Next::follow;
}

/// Notes writes of registers that may be undefined, and reports reads of them.
void Runner::watchRegisters(Warp &warp, const Op &op, uint32_t mask, uint32_t exec) {
  const WatchedOp &watch = program.watches[op.watched];
  uint32_t undefined = 0;
  for (uint32_t reg : watch.reads) {
    const KernelProgram::RegisterUse &use = program.registers[reg];
    // A guard is read by all, other operands by lanes that run; what is chosen between is not
    // asked.
    uint32_t missing = (use.slot.offset == op.guard ? mask : exec) & ~warp.written[reg];
    undefined |= missing;
    if (!missing || watch.moves)
      continue;
    fault(FaultKind::uninitialisedRegister, warp, op, firstLane(missing),
          "register '" + registerName(*use.source) + "' was never written");
    warp.written[reg] |= missing; // once is enough
  }
  for (uint32_t reg : watch.writes)
    warp.written[reg] =
        watch.moves ? (warp.written[reg] & ~exec) | (exec & ~undefined) : warp.written[reg] | exec;
}

/// Instructions that a warp does together. True: wait for lanes that are named and can still come.
bool Runner::executeWaiting(Warp &warp, const Op &op, uint32_t mask, uint32_t exec, bool forced) {
  bool isMatrix = op.kind == OpKind::loadMatrix || op.kind == OpKind::storeMatrix ||
                  op.kind == OpKind::multiplyMatrices;
  Slot members = isMatrix ? Slot{} : program.syncs[op.detail].members;
  if (!membersPresent(warp, op, members, mask, exec, forced))
    return true;
  switch (op.kind) {
  case OpKind::warpBarrier:
    warpBarrier(warp);
    break;
  case OpKind::shuffle:
    shuffle(warp, op, exec);
    break;
  case OpKind::vote:
    vote(warp, op, exec);
    break;
  case OpKind::match:
    match(warp, op, exec);
    break;
  case OpKind::redux:
    redux(warp, op, exec);
    break;
  case OpKind::elect:
    elect(warp, op, exec);
    break;
  case OpKind::loadMatrix:
    loadMatrix(warp, op, exec, false);
    break;
  case OpKind::storeMatrix:
    loadMatrix(warp, op, exec, true);
    break;
  case OpKind::multiplyMatrices:
    multiplyMatrices(warp, op, exec);
    break;
  default:
    break;
  }
  return false;
}

uint64_t Runner::readLane(Warp &warp, Slot from, unsigned lane) {
  if (from.bytes == 0)
    return predicate(warp, from.offset) >> lane & 1;
  uint64_t value = 0;
  std::memcpy(&value, warp.registers + from.offset + lane * from.bytes, from.bytes);
  return value;
}

void Runner::writeLane(Warp &warp, Slot to, unsigned lane, uint64_t value) {
  if (to.offset == noSlot)
    return;
  if (to.bytes == 0) {
    uint32_t &bits = predicate(warp, to.offset);
    bits = (bits & ~(1u << lane)) | uint32_t(value & 1) << lane;
    return;
  }
  std::memcpy(warp.registers + to.offset + lane * to.bytes, &value, to.bytes);
}

void Runner::finish(Outcome &outcome, std::vector<KeptFault> &kept) {
  RunCount running; // of the straight runs that the op is in
  for (size_t i = 0; i < opCounts.size(); ++i) {
    running.warps += runCounts[i].warps;
    running.lanes += runCounts[i].lanes;
    counts.warpInstructions += opCounts[i].warps + running.warps;
    counts.laneInstructions += opCounts[i].lanes + running.lanes;
    counts.byClass[size_t(program.ops[i].opClass)] += opCounts[i].lanes + running.lanes;
  }
  outcome.counts += counts;
  outcome.faultCount += faultCount;
  std::move(faults.begin(), faults.end(), std::back_inserter(kept));
  outcome.completed = outcome.completed && !stopped;
}
