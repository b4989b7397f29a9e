// Runs blocks of a grid, one after the other, in one thread of the host.
//
// Lanes of a warp have program counters of their own. What runs is always the group with the lowest
// one, so groups that diverged meet again where their ways join. Instructions that need other lanes
// (shuffles, votes, barriers) wait while a lane that is named can still come. Warps of a block take
// turns when one waits at a barrier.
#pragma once

#include "Compute.h"
#include "KernelProgram.h"
#include "Shadow.h"

#include "gantry/PTX/Machine.h"

#include <bit>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>

namespace gantry::ptx {

/// What all runners of a launch share.
struct LaunchState {
  const KernelProgram &program;
  const Launch &launch;
  Image &image;
  uint64_t epoch = 0; ///< of global memory
  uint64_t blocks = 0, threadsPerBlock = 0;
  uint64_t sharedBytes = 0;
  std::vector<std::byte> arguments = {}; ///< with room behind for a vector that begins at the last
  uint64_t argumentBytes = 0;
};

/// A fault with its place in the order of the launch.
struct KeptFault {
  uint64_t position; ///< of the block
  uint32_t instruction;
  Fault fault;
};

/// The lanes of a mask, the lowest first.
struct Lanes {
  uint32_t left;
  Lanes begin() const { return *this; }
  std::default_sentinel_t end() const { return {}; }
  unsigned operator*() const { return unsigned(std::countr_zero(left)); }
  Lanes &operator++() {
    left &= left - 1;
    return *this;
  }
  bool operator==(std::default_sentinel_t) const { return left == 0; }
};

inline unsigned firstLane(uint32_t mask) { return unsigned(std::countr_zero(mask)); }

/// Those of `mask` for which `holds(lane)`.
template <class Holds>
uint32_t lanesWhere(uint32_t mask, Holds holds) {
  uint32_t found = 0;
  for (unsigned lane : Lanes{mask})
    found |= uint32_t(bool(holds(lane))) << lane;
  return found;
}

/// Whether all lanes have the same value.
inline bool areEqual(const uint32_t *values) {
  uint32_t differ = 0;
  for (unsigned lane = 1; lane < warpSize; ++lane)
    differ |= values[lane] ^ values[0];
  return differ == 0;
}

class Runner {
public:
  Runner(const LaunchState &state);
  /// Runs the block that is the `position`-th of the launch. False: the launch is over (a trap, too
  /// many steps).
  bool runBlock(uint64_t block, uint64_t position);
  /// Adds what it counted, and its faults in the order they came.
  void finish(Outcome &outcome, std::vector<KeptFault> &kept);

private:
  /// What a lane asked cp.async for and did not wait for yet.
  struct PendingCopy {
    uint64_t from; ///< of the host
    uint32_t to;   ///< in shared memory
    uint32_t group;
    uint8_t lane, bytes, read; ///< bytes behind `read` become zero
  };
  struct Warp {
    char *registers = nullptr;
    uint32_t index = 0;
    uint32_t live = 0;
    uint32_t waiting = 0; ///< lanes at an instruction that needs others
    uint32_t blocked = 0; ///< lanes at a barrier of the block
    uint32_t pcs[warpSize];
    uint8_t barrier[warpSize];            ///< of blocked lanes
    std::vector<uint32_t> written;        ///< lanes that wrote each register, where any is watched
    uint64_t blockSync = 0, warpSync = 0; ///< ticks of the last barriers
    std::vector<PendingCopy> copies;      ///< in the order they were asked for
    uint32_t group[warpSize];             ///< of cp.async: the one that is open
  };
  struct BlockBarrier {
    uint32_t arrived = 0, expected = 0;
    uint32_t popcount = 0;
    bool all = true, any = false;
  };
  struct CachedRegion {
    uint64_t begin = 1, end = 0;
    bool writable = false;
    Shadow *shadow = nullptr;

    /// Whether all bytes of an access are in it, and may be written if they are.
    bool holds(const AddressSummary &all, unsigned bytes, bool write) const {
      return all.low >= begin && all.high < end && end - all.high >= bytes && (writable || !write);
    }
  };
  struct RunCount {
    uint64_t warps = 0, lanes = 0;
  };
  /// The addresses of an access after checking.
  struct Addresses {
    alignas(64) uint64_t at[warpSize];
    AddressSummary summary;
    Layout layout = Layout::scattered;
    const Pattern *pattern = nullptr; ///< known for all that are active

    void summarised(const AddressSummary &made) {
      summary = made;
      layout = made.contiguous ? Layout::neighbours : Layout::scattered;
    }
    /// Some lanes are no longer meant.
    void scatter() {
      summary.contiguous = false;
      layout = Layout::scattered;
    }
  };
  /// What a check of a lane's cells needs to know of the access.
  struct Touch {
    const Op &op;
    const Access &access;
    const Addresses &addresses;
    uint32_t exec;
    unsigned bytes;
    bool write, read;
  };

  // Runner.cpp
  void setUpRegisters(char *registers);
  std::optional<uint64_t> launchValue(Special special) const;
  void startBlock(uint64_t block);
  uint32_t lanesOf(const Warp &warp) const;
  void startWarp(Warp &warp);
  bool runWarps();
  /// Lanes that run together: those at `pc`, up to where others are.
  struct Group {
    uint32_t pc, limit, mask;
  };
  static Group furthestBack(const Warp &warp, uint32_t candidates);
  static void parkAt(Warp &warp, uint32_t lanes, uint32_t pc);
  uint32_t straightRun(uint32_t pc, uint32_t limit) const;
  /// Where a group goes on after an op; parked: its lanes are at places of their own.
  enum class Next : uint8_t { follow, jump, parked, stop };
  void runWarp(Warp &warp);
  bool runGroup(Warp &warp, Group group, bool forced, int64_t sliceEnd);
  void runStraight(Warp &warp, const Group &group, uint32_t run);
  Next execute(Warp &warp, const Op &op, const Group &group, uint32_t exec, bool forced);
  Next executeOnLanes(Warp &warp, const Op &op, const Group &group, uint32_t exec, bool forced);
  Next passOver(const Op &op);
  Next branchIndexed(Warp &warp, const Op &op, uint32_t exec);
  void watchRegisters(Warp &warp, const Op &op, uint32_t mask, uint32_t exec);
  bool executeWaiting(Warp &warp, const Op &op, uint32_t mask, uint32_t exec, bool forced);
  void deadlock();

  // RunnerSync.cpp
  bool membersPresent(Warp &warp, const Op &op, Slot members, uint32_t mask, uint32_t exec,
                      bool forced);
  bool isFull(Warp &warp, Slot members);
  void shuffle(Warp &warp, const Op &op, uint32_t exec);
  void vote(Warp &warp, const Op &op, uint32_t exec);
  void match(Warp &warp, const Op &op, uint32_t exec);
  void redux(Warp &warp, const Op &op, uint32_t exec);
  void elect(Warp &warp, const Op &op, uint32_t exec);
  bool barrier(Warp &warp, const Op &op, uint32_t mask, uint32_t exec, bool forced);
  void release(unsigned barrier);
  void warpBarrier(Warp &warp);
  void memoryBarrier(Warp &warp, const Op &op, uint32_t exec);

  // RunnerMemory.cpp
  void load(Warp &warp, const Op &op, uint32_t exec);
  void store(Warp &warp, const Op &op, uint32_t exec);
  void loadParameter(Warp &warp, const Op &op, uint32_t exec);

  // RunnerCopy.cpp
  void copyAsync(Warp &warp, const Op &op, uint32_t exec);
  uint32_t checkCopySource(Warp &warp, const Op &op, const CopyDetail &copy, uint32_t exec,
                           const uint8_t *read, uint64_t *from);
  void commitCopies(Warp &warp, uint32_t exec);
  void finishCopies(Warp &warp, uint32_t exec, uint64_t groups);
  void noteCopy(Warp &warp, const PendingCopy &copy, bool finished);
  void computeAddresses(Warp &warp, const Access &access, uint32_t exec, Addresses &to);
  void locate(Warp &warp, const Access &access, uint32_t exec, Pattern &pattern, Addresses &to);
  void learn(Pattern &pattern, const Access &access, uint32_t exec, Addresses &addresses);
  template <class Use>
  void bySpace(const Access &access, uint32_t exec, Addresses &addresses, Use use);
  void refuse(FaultKind kind, Warp &warp, Touch &touch, Space space, uint32_t lanes);
  void checkRegions(Warp &warp, Touch &touch, Space space, CachedRegion &region);
  uint32_t resolve(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                   Addresses &addresses, bool write, bool read, uint64_t slot);
  void loadFrom(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
                Addresses &addresses);
  void storeTo(Warp &warp, const Op &op, const Access &access, Space space, uint32_t exec,
               Addresses &addresses);

  // RunnerChecks.cpp
  void countGlobal(Counts::Global &count, const Addresses &addresses, uint32_t exec,
                   unsigned bytes);
  void countShared(Counts::Shared &count, const Addresses &addresses, uint32_t exec,
                   unsigned bytes);
  bool isUnordered(const Warp &warp, unsigned lane, Record other) const;
  bool areUnordered(const Warp &warp, unsigned lane, Record reads) const;
  Record several(const Warp &warp, unsigned lane, Record reads) const;
  bool isOfThisBlock(Record other) const;
  void race(FaultKind kind, Warp &warp, const Touch &touch, unsigned lane, Record other,
            const char *did);
  CellCheck cellCheck(Warp &warp, const Touch &touch, const Shadow &shadow, uint64_t epoch,
                      uint64_t ofBlock) const;
  template <class Exact>
  void checkCells(Warp &warp, const Touch &touch, const CellCheck &check, uint64_t first,
                  Exact exact);
  void checkShared(Warp &warp, const Touch &touch);
  void checkSharedLane(Warp &warp, const Touch &touch, unsigned lane);
  void checkGlobal(Warp &warp, const Touch &touch, const CachedRegion &region);
  void checkGlobalLane(Warp &warp, const Touch &touch, const CachedRegion &region, unsigned lane);
  void checkLocal(Warp &warp, const Touch &touch);
  bool storesSame(Warp &warp, const Touch &touch, unsigned lane, Record other, const char *memory);
  void fault(FaultKind kind, Warp &warp, const Op &op, unsigned lane, std::string detail);
  std::string threadText(uint64_t linear) const;
  std::string blockText(uint64_t linear) const;
  Index3 threadIndex(uint64_t linear) const;
  Index3 blockIndex(uint64_t linear) const;
  std::string addressText(uint64_t address, unsigned bytes, Space space) const;

  // RunnerAtomic.cpp
  void atomic(Warp &warp, const Op &op, uint32_t exec);

  // RunnerMatrix.cpp
  void moveMatrices(Warp &warp, const MatrixDetail &detail, const Addresses &addresses, bool store);
  void loadMatrix(Warp &warp, const Op &op, uint32_t exec, bool store);
  void loadFragment(Warp &warp, const Op &op, uint32_t exec, bool store);
  void moveGoodRows(Warp &warp, const MatrixDetail &detail, const Addresses &addresses,
                    uint32_t good, bool store);
  void countFragment(std::vector<uint64_t> &all, unsigned width, Space space, bool store);
  std::vector<double> readFragment(Warp &warp, const MatrixDetail &detail,
                                   MatrixDetail::Fragment fragment, Type type,
                                   const std::vector<Slot> &regs);
  void writeFragment(Warp &warp, const MatrixDetail &detail, const std::vector<double> &elements);
  void multiplyMatrices(Warp &warp, const Op &op, uint32_t exec);

  template <class T>
  T *slot(Warp &warp, uint32_t offset) {
    return reinterpret_cast<T *>(warp.registers + offset);
  }
  uint32_t &predicate(Warp &warp, uint32_t offset) { return *slot<uint32_t>(warp, offset); }
  uint64_t readLane(Warp &warp, Slot from, unsigned lane);
  void writeLane(Warp &warp, Slot to, unsigned lane, uint64_t value);

  const LaunchState &state;
  const KernelProgram &program;
  const ComputeTable &compute;
  Checks checks;
  bool checkMemory, checkAll;
  std::vector<Warp> warps;
  std::vector<uint32_t> threadTable; ///< %tid by axis, warp, lane
  struct Aligned {
    void operator()(char *p) const { std::free(p); }
  };
  std::unique_ptr<char, Aligned> registerFiles;
  size_t registerStride = 0;
  std::unique_ptr<char, Aligned> shared;
  std::vector<char> local;           ///< of the warp that runs, or of all
  std::vector<uint8_t> localWritten; ///< for each byte of local
  size_t localStride = 0;
  bool oneRegisterFile = false;
  Shadow sharedShadow;
  uint64_t sharedEpoch = 0;
  uint64_t tick = 0;
  uint64_t block = 0;
  Index3 blockAt = {};
  std::vector<CachedRegion> regionCache; ///< by op
  std::vector<Pattern> patterns;         ///< by access: of all lanes, and of some
  std::vector<Pattern> matrixPatterns;   ///< by matrix
  std::vector<RunCount> opCounts;
  std::vector<RunCount>
      runCounts; ///< of straight runs: added where they begin, less where they end
  std::vector<BlockBarrier> barriers;
  bool stopped = false;
  bool spent = false;
  int64_t steps = 0;
  uint64_t clockValue = 0;
  bool acquired = false;
  uint64_t fenceTick = 0;
  Counts counts;
  uint64_t faultCount = 0;
  std::vector<KeptFault> faults;
  uint64_t position = 0;
  std::map<std::pair<uint32_t, FaultKind>, size_t> faultOf;
  std::unordered_map<uint64_t, uint64_t> releasedBlocks; ///< block: tick of its last release
};

/// Calls `use` for each space that the addresses are in.
template <class Use>
void Runner::bySpace(const Access &access, uint32_t exec, Addresses &addresses, Use use) {
  if (access.space != Space::generic)
    return use(access.space, exec, addresses);
  if (!(addresses.summary.bits & windowMask))
    return use(Space::global, exec, addresses);
  struct Window {
    uint64_t base;
    Space space;
  };
  constexpr Window windows[] = {{0, Space::global},
                                {sharedWindow, Space::shared},
                                {localWindow, Space::local},
                                {paramWindow, Space::param}};
  uint32_t left = exec;
  for (const Window &window : windows) {
    uint32_t lanes = lanesWhere(
        left, [&](unsigned lane) { return (addresses.at[lane] & windowMask) == window.base; });
    if (!lanes)
      continue;
    left &= ~lanes;
    Addresses part = addresses;
    for (uint64_t &at : part.at)
      at &= ~windowMask;
    part.summarised(compute.summarise(part.at, lanes, uint64_t(access.width) * access.count));
    use(window.space, lanes, part);
  }
  if (left) // no window at all: as global memory, where nothing is found
    use(Space::global, left, addresses);
}

} // namespace gantry::ptx
