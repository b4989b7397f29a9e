// A kernel as the machine runs it: ops in the order of the text, with calls expanded in place, so
// that the lowest program counter is always the group of lanes that is furthest behind.
#pragma once

#include "Op.h"

#include "gantry/PTX/Machine.h"

namespace gantry::ptx {

/// Registers that the machine fills.
enum class Special : uint8_t {
  tidX,
  tidY,
  tidZ,
  ntidX,
  ntidY,
  ntidZ,
  ctaidX,
  ctaidY,
  ctaidZ,
  nctaidX,
  nctaidY,
  nctaidZ,
  laneId,
  warpId,
  nwarpId,
  warpSize,
  smId,
  nsmId,
  gridId,
  lanemaskEq,
  lanemaskLe,
  lanemaskLt,
  lanemaskGe,
  lanemaskGt,
  dynamicSharedSize,
  totalSharedSize,
  zero,
  one,
  clock,
  clock64,
  globalTimer, // read when they are used
};

/// What an op was made from.
struct Origin {
  const Function *function;
  const Instruction *instruction;
};

/// An op that reads or writes registers which may be read before they are written.
struct WatchedOp {
  std::vector<uint32_t> reads, writes; ///< indices into KernelProgram::registers
  bool moves = false;                  ///< hands the state on
};

class KernelProgram {
public:
  KernelInfo info;
  std::vector<Op> ops;
  /// For each op: how many from it on are computed by all lanes of the group, unguarded and
  /// unwatched, one after the other.
  std::vector<uint32_t> straight;
  std::vector<Origin> origins;
  std::vector<Access> accesses;
  std::vector<AtomicDetail> atomics;
  std::vector<SyncDetail> syncs;
  std::vector<MatrixDetail> matrices;
  std::vector<CopyDetail> copies;
  std::vector<BarrierDetail> barriers;
  std::vector<std::vector<uint32_t>> branchTables;

  /// Registers of functions, as they were expanded.
  struct RegisterUse {
    Slot slot;
    const Register *source;
  };
  std::vector<RegisterUse> registers;
  std::vector<WatchedOp> watches;

  uint32_t registerBytes = 0; ///< of a warp
  struct Constant {
    Slot slot;
    uint64_t value;
  };
  std::vector<Constant> constants;
  struct SpecialUse {
    Special special;
    Slot slot;
  };
  std::vector<SpecialUse> specials;
  /// A kernel's parameter as a constant.
  struct ParameterUse {
    Slot slot;
    uint64_t offset;
    uint8_t width;
    bool isSigned;
  };
  std::vector<ParameterUse> parameters;

  bool hasAddresses = false;                       ///< of the image's variables
  bool usesBarriers = false;                       ///< warps wait for each other
  unsigned sharedGranule = 16, globalGranule = 16; ///< the narrowest access, bytes
};

// Windows of the generic address space that are no global memory. The low bits are the address
// within.
inline constexpr uint64_t sharedWindow = uint64_t(1) << 56;
inline constexpr uint64_t localWindow = uint64_t(2) << 56;
inline constexpr uint64_t paramWindow = uint64_t(3) << 56;
inline constexpr uint64_t windowMask = uint64_t(0xff) << 56;

/// Decodes a kernel. Errors: UNSUPPORTED or INVALID_ARGUMENT with FILE:LINE:COLUMN.
Expected<std::unique_ptr<KernelProgram>> decode(const Image &image, const Function &kernel);

} // namespace gantry::ptx
