// Liveness: what a block holds on a device while its ops run in order, an estimate, for passes that
// have to choose before there are kernels and buffers.
#pragma once

#include "gantry/Analysis/Homes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"

namespace gantry {

/// A value on the device, before views.
struct LiveValue {
  mlir::Value value;
  uint64_t bytes;
  uint32_t first, last; ///< numbers of ops, both included
};

/// Values in the order of the block, from the op that makes them to the last one that reads them,
/// elementwise results in the place of an operand. What the caller binds, and constants, are not
/// counted.
struct LivenessProfile {
  mlir::Block &block;
  DeviceAttr device;
  const Homes &homes;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
  llvm::SmallVector<LiveValue> values;
  llvm::SmallVector<uint64_t> bytes; ///< by op

  LivenessProfile(mlir::Block &block, DeviceAttr device, const Homes &homes);

  /// The op of the block that `user` is, or is in.
  uint32_t numberOf(mlir::Operation *user) const;
  /// Uses, those of views among them.
  void forEachUse(mlir::Value value, llvm::function_ref<void(mlir::OpOperand &)> visit) const;
  /// Those by op `first` and later ones.
  llvm::SmallVector<mlir::OpOperand *> usesFrom(mlir::Value value, uint32_t first) const;
  /// The bytes of an operand that ends at the op, whose place the result takes.
  uint64_t replaced(mlir::Operation *op) const;
  /// Bytes that are held both before op `cut` and by it or later.
  uint64_t across(uint32_t cut) const;

private:
  void add(mlir::Value value, bool isHere);
  void sumUp();
};

/// Of a tensor whose shape is known, else 0.
uint64_t bytesLiveFor(mlir::Value value);

/// Lets uses of a value and its views read what `mapping` has for it, by views that are made again.
void readInstead(llvm::ArrayRef<mlir::OpOperand *> uses, mlir::OpBuilder &b,
                 mlir::IRMapping &mapping);

/// For each function and each device that has to hold fewer bytes; `wanted` is by number of the
/// device in the topology.
void forEachWanted(
    mlir::ModuleOp module, llvm::ArrayRef<int64_t> wanted,
    llvm::function_ref<void(mlir::func::FuncOp, DeviceAttr, uint64_t, const Homes &)> visit);

/// Has `freeOne` change the block, a value after the other, until it holds so many bytes less at
/// its peak; that is given, with the number of the op at the peak, what the block holds now, and
/// says whether there was something to change.
void freeAtPeak(mlir::Block &block, DeviceAttr device, uint64_t wanted, const Homes &homes,
                llvm::function_ref<bool(const LivenessProfile &liveness, uint32_t peak)> freeOne);

} // namespace gantry
