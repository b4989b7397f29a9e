// Which registers may be read before they are written.
//
// A pass over the decoded kernel finds the reads that some way from the start reaches without a
// write; only those are watched when the kernel runs (Runner::watchRegisters), so that other
// kernels pay nothing. What only moves a value (mov, selp) hands its state on: compilers copy
// values that they know nobody will use.
#include "Undefined.h"

#include <algorithm>

using namespace gantry::ptx;

namespace {

template <class Read, class Write>
void slotsOfMatrices(const MatrixDetail &detail, OpKind kind, Read read, Write write) {
  auto readAll = [&](const std::vector<Slot> &slots) {
    for (const Slot &slot : slots)
      read(slot.offset);
  };
  if (kind == OpKind::multiplyMatrices) {
    readAll(detail.aRegs);
    readAll(detail.bRegs);
    readAll(detail.cRegs);
    for (const Slot &slot : detail.dRegs)
      write(slot.offset);
    return;
  }
  read(detail.access.base.offset);
  read(detail.stride.offset);
  for (const Slot &slot : detail.regs)
    kind == OpKind::loadMatrix ? write(slot.offset) : read(slot.offset);
}

/// Calls `read` and `write` with the slots of an op.
template <class Read, class Write>
void slotsOf(const KernelProgram &program, const Op &op, Read read, Write write) {
  auto readAll = [&](const auto &...slots) { (read(slots.offset), ...); };
  read(op.guard);
  switch (op.kind) {
  case OpKind::load:
  case OpKind::loadParameter:
  case OpKind::store: {
    const Access &access = program.accesses[op.detail];
    read(access.base.offset);
    for (unsigned i = 0; i < access.count; ++i)
      op.kind == OpKind::store ? read(access.values[i].offset) : write(access.values[i].offset);
    return;
  }
  case OpKind::atomic: {
    const AtomicDetail &detail = program.atomics[op.detail];
    readAll(detail.access.base, detail.swap);
    for (unsigned i = 0; i < detail.access.count; ++i) {
      read(detail.operands[i].offset);
      write(detail.access.values[i].offset);
    }
    return;
  }
  case OpKind::copyAsync: {
    const CopyDetail &detail = program.copies[op.detail];
    return readAll(detail.from.base, detail.to.base, detail.size);
  }
  case OpKind::barrier:
  case OpKind::warpBarrier:
  case OpKind::shuffle:
  case OpKind::vote:
  case OpKind::match:
  case OpKind::redux:
  case OpKind::elect: {
    const SyncDetail &detail = program.syncs[op.detail];
    readAll(detail.members, detail.a, detail.b, detail.c, detail.barrier, detail.threads);
    write(detail.dst.offset);
    write(detail.predicate.offset);
    return;
  }
  case OpKind::loadMatrix:
  case OpKind::storeMatrix:
  case OpKind::multiplyMatrices:
    return slotsOfMatrices(program.matrices[op.detail], op.kind, read, write);
  case OpKind::memoryBarrier: {
    const BarrierDetail &detail = program.barriers[op.detail];
    readAll(detail.access.base, detail.operand);
    write(detail.dst.offset);
    return;
  }
  default:
    for (uint32_t slot : op.src)
      read(slot);
    write(op.dst);
    write(op.dst2);
  }
}

bool moves(const Op &op) { return op.kind == OpKind::compute && op.opClass == OpClass::move; }

/// A set of registers as bits.
using Bits = std::vector<uint64_t>;

class Analysis {
public:
  explicit Analysis(KernelProgram &program) : program(program) {
    for (size_t i = 0; i < program.registers.size(); ++i)
      indexOf.push_back({program.registers[i].slot.offset, uint32_t(i)});
    std::sort(indexOf.begin(), indexOf.end());
    words = (program.registers.size() + 63) / 64;
  }

  void run() {
    findBlocks();
    // Memory for it is bounded; so large a kernel is run unwatched.
    if (words == 0 || starts.size() * words > (size_t(1) << 25))
      return;
    solve();
    mark();
  }

private:
  uint32_t index(uint32_t slot) const {
    auto found =
        std::lower_bound(indexOf.begin(), indexOf.end(), std::pair<uint32_t, uint32_t>{slot, 0});
    return found != indexOf.end() && found->first == slot ? found->second : noSlot;
  }
  /// Calls `use` with the registers that the op reads, or writes.
  template <class Use>
  void forReads(const Op &op, Use use) const {
    slotsOf(program, op, registersOf(use), [](uint32_t) {});
  }
  template <class Use>
  void forWrites(const Op &op, Use use) const {
    slotsOf(program, op, [](uint32_t) {}, registersOf(use));
  }
  template <class Use>
  auto registersOf(Use &use) const {
    return [this, &use](uint32_t slot) {
      if (uint32_t reg = index(slot); reg != noSlot)
        use(reg);
    };
  }
  static bool has(const Bits &bits, uint32_t at) { return bits[at / 64] >> (at % 64) & 1; }

  void findBlocks() {
    std::vector<bool> starting(program.ops.size() + 1);
    starting[0] = true;
    for (size_t i = 0; i < program.ops.size(); ++i)
      forTargets(uint32_t(i), [&](uint32_t target) { starting[target] = true; });
    blockOf.resize(program.ops.size());
    for (uint32_t i = 0; i < program.ops.size(); ++i) {
      OpKind before = i ? program.ops[i - 1].kind : OpKind::nop;
      if (starting[i] || before == OpKind::branch || before == OpKind::branchIndexed ||
          before == OpKind::exit)
        starts.push_back(i);
      blockOf[i] = uint32_t(starts.size() - 1);
    }
  }

  template <class Use>
  void forTargets(uint32_t at, Use use) const {
    const Op &op = program.ops[at];
    if (op.kind == OpKind::branch)
      use(op.target);
    else if (op.kind == OpKind::branchIndexed)
      for (uint32_t target : program.branchTables[op.detail])
        use(target);
    bool ends = op.guard == noSlot && (op.kind == OpKind::branch ||
                                       op.kind == OpKind::branchIndexed || op.kind == OpKind::exit);
    if (!ends && at + 1 < program.ops.size())
      use(at + 1);
  }

  /// What an op does to the registers that may be undefined.
  void step(const Op &op, Bits &undefined) const {
    bool fromUndefined = false;
    forReads(op, [&](uint32_t reg) { fromUndefined |= has(undefined, reg); });
    if (op.guard != noSlot || (moves(op) && fromUndefined))
      return; // a lane that does not run writes nothing
    forWrites(op, [&](uint32_t reg) { undefined[reg / 64] &= ~(uint64_t(1) << (reg % 64)); });
  }
  uint32_t endOf(size_t block) const {
    return block + 1 < starts.size() ? starts[block + 1] : uint32_t(program.ops.size());
  }

  void solve() {
    atStart.assign(starts.size(), Bits());
    atStart[0] = Bits(words, ~uint64_t(0));
    std::vector<uint32_t> work{0};
    while (!work.empty()) {
      uint32_t block = work.back();
      work.pop_back();
      Bits now = atStart[block];
      for (uint32_t at = starts[block]; at < endOf(block); ++at)
        step(program.ops[at], now);
      forTargets(endOf(block) - 1, [&](uint32_t target) {
        Bits &there = atStart[blockOf[target]];
        bool changed = there.empty();
        there.resize(words);
        for (size_t i = 0; i < words; ++i) {
          changed |= (now[i] & ~there[i]) != 0;
          there[i] |= now[i];
        }
        if (changed)
          work.push_back(blockOf[target]);
      });
    }
  }

  /// The registers that an op may read undefined.
  std::vector<bool> readUndefined() const {
    std::vector<bool> made(program.registers.size());
    for (size_t block = 0; block < starts.size(); ++block) {
      if (atStart[block].empty())
        continue; // nothing leads there
      Bits now = atStart[block];
      for (uint32_t at = starts[block]; at < endOf(block); ++at) {
        forReads(program.ops[at], [&](uint32_t reg) {
          if (has(now, reg))
            made[reg] = true;
        });
        step(program.ops[at], now);
      }
    }
    return made;
  }

  /// A move hands on what it reads, so its result is watched with it.
  void followMoves(std::vector<bool> &watched) const {
    for (bool changed = true; changed;) {
      changed = false;
      for (const Op &op : program.ops) {
        bool isFrom = false;
        if (moves(op))
          forReads(op, [&](uint32_t reg) { isFrom |= watched[reg]; });
        if (isFrom)
          forWrites(op, [&](uint32_t reg) {
            changed |= !watched[reg];
            watched[reg] = true;
          });
      }
    }
  }

  /// Reads of what may be undefined are checked; writes of those registers are noted.
  void mark() {
    std::vector<bool> watched = readUndefined();
    followMoves(watched);
    for (Op &op : program.ops) {
      WatchedOp watch;
      forReads(op, [&](uint32_t reg) {
        if (watched[reg])
          watch.reads.push_back(reg);
      });
      forWrites(op, [&](uint32_t reg) {
        if (watched[reg])
          watch.writes.push_back(reg);
      });
      if (watch.reads.empty() && watch.writes.empty())
        continue;
      watch.moves = moves(op);
      op.watched = uint32_t(program.watches.size());
      program.watches.push_back(std::move(watch));
    }
  }

  KernelProgram &program;
  std::vector<std::pair<uint32_t, uint32_t>> indexOf;
  size_t words = 0;
  std::vector<uint32_t> starts, blockOf;
  std::vector<Bits> atStart;
};

} // namespace

void gantry::ptx::findUndefined(KernelProgram &program) { Analysis(program).run(); }
