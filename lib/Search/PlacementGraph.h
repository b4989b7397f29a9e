// A function as automatic placement sees it: kernels as Fuse will make them, with their predicted
// times on every device, and the values between them. Reads op interfaces only.
#pragma once

#include "gantry/Analysis/KernelGroups.h"
#include "gantry/AutoPlacement/AutoPlacement.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Allocator.h"

#include <map>

namespace gantry {

/// The devices that an op may run on, by number, ascending; what it gives stays there.
using DevicesOf = llvm::function_ref<llvm::ArrayRef<uint32_t>(mlir::Operation *op)>;

/// Lists of devices that stay where they are.
class DeviceLists {
public:
  llvm::ArrayRef<uint32_t> keep(llvm::ArrayRef<uint32_t> list) {
    llvm::MutableArrayRef<uint32_t> kept(allocator.Allocate<uint32_t>(list.size()), list.size());
    llvm::copy(list, kept.begin());
    return kept;
  }

private:
  llvm::BumpPtrAllocator allocator;
};

/// The topology of a module with what is asked of it again and again.
struct MachineModel {
  explicit MachineModel(mlir::ModuleOp module);

  uint32_t numDevices() const { return static_cast<uint32_t>(topology.logical.size()); }
  /// The device of that full name, or nothing.
  std::optional<uint32_t> find(DeviceAttr name) const;
  const DeviceName &nameOf(uint32_t device) const { return topology.logical[device].name; }
  /// Who makes the kernels of a device, as Fuse will ask it.
  const Target &targetOf(uint32_t device) const;

  Topology topology;
  CostModel costs;
  uint32_t host = 0; ///< where arguments and results are that do not say otherwise (spec P16)
  std::vector<uint32_t> all; ///< devices
  llvm::ArrayRef<uint32_t> listOf(uint32_t device) const {
    return llvm::ArrayRef(all).slice(device, 1);
  }

private:
  std::map<DeviceName, uint32_t> numbers;
};

/// Whether the kernel table has the op for that device.
bool hasKernelOn(const MachineModel &machine, mlir::Operation *op, uint32_t device);

class PlannedTimes;
class Probe;

struct PlacementGraph {
  /// Ops that may run on no common device stay apart; with `fuse` off, all do. `homes` is the
  /// function whose arguments and results say where they are: this one, or a copy that was placed.
  /// Where plans were probed, tasks take what their kernels take there, and what is made at load is
  /// a constant; else ops take what they take alone.
  PlacementGraph(const MachineModel &machine, mlir::func::FuncOp func, mlir::func::FuncOp homes,
                 DevicesOf devicesOf, bool fuse, const Probe *probe = nullptr);

  /// Takes over what tasks take in the plan of the placement, where that has them.
  void learn(const PlannedTimes &times, llvm::StringRef function,
             const placement::AutoPlacement &placement);

  placement::AutoProblem problem;
  std::vector<ConstantOp> constants; ///< by value; null for what is no constant of the graph
  std::vector<llvm::SmallVector<mlir::Operation *, 4>> tasks; ///< ops of each, in block order
};

} // namespace gantry
