// One gantry.replicate on its way to the ops of its replicas: ExpandReplicas.cpp, and for branches,
// loops and gradients that are one for all replicas ExpandJoint.cpp.
#pragma once

#include "Replica.h"

#include "mlir/IR/Builders.h"

namespace gantry {

class Expansion {
public:
  explicit Expansion(ReplicateOp op) : op(op), builder(op) {}

  llvm::LogicalResult run();

private:
  /// A replica's part of what an op for all replicas carries or gives.
  struct Slot {
    Replica *replica;
    unsigned index; ///< among the results that the op has in the graph
  };

  void enter();
  void collectVarying();
  bool varies(mlir::Operation &inner);
  void collectJoint();
  void collectNeeded();
  void need(mlir::Value value, llvm::SmallVectorImpl<mlir::Value> &work);
  mlir::Operation *findUnit(mlir::Operation *inner);
  llvm::LogicalResult expandOps(mlir::Block &block);
  llvm::LogicalResult expand(mlir::Operation &inner);
  llvm::LogicalResult expandIf(IfOp branch);
  llvm::LogicalResult expandWhile(WhileOp loop);
  llvm::LogicalResult expandGradient(GradientOp op);
  llvm::LogicalResult finishJoint(mlir::Operation &inner, mlir::Operation *made,
                                  llvm::ArrayRef<Slot> slots);
  llvm::LogicalResult expandRegion(mlir::Region &from, mlir::Region &to,
                                   llvm::function_ref<llvm::SmallVector<mlir::Value>()> results);
  llvm::SmallVector<Slot> slotsOf(mlir::Operation &inner);
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<Slot> slots, mlir::ValueRange inside);
  llvm::LogicalResult expandAllReduce(AllReduceOp reduce);
  llvm::LogicalResult expandCommon(mlir::Operation &inner);
  llvm::LogicalResult cloneInto(Replica &replica, mlir::Operation &inner, bool isCommon = false);
  llvm::LogicalResult leave();
  llvm::FailureOr<mlir::Value> combine(size_t i, ReplicaModeAttr mode, mlir::Value yielded);
  mlir::Value addParts(llvm::ArrayRef<mlir::Value> parts, const llvm::Twine &name);
  double shareOf(const Replica &replica);
  mlir::Value weigh(const Replica &replica, mlir::Value value);

  /// Request for an op that no replica owns, on a device.
  void place(mlir::Operation *made, DeviceAttr device, const llvm::Twine &name) {
    if (device)
      made->setAttr(kDeviceAttr, device);
    made->setAttr(kOriginAttr, mlir::LocationAttr(op.getLoc()));
    if (std::string text = nameOf(name); !text.empty())
      made->setAttr(kNameAttr, builder.getStringAttr(text));
  }

  /// Name for an op of this gantry.replicate; empty when that has none.
  std::string nameOf(const llvm::Twine &suffix) {
    auto own = op->getAttrOfType<mlir::StringAttr>(kNameAttr);
    return own ? (own.getValue() + suffix).str() : "";
  }

  DeviceAttr gatherDevice(mlir::OpResult result);

  ReplicateOp op;
  mlir::OpBuilder builder;
  llvm::SmallVector<Replica> replicas;
  llvm::DenseSet<mlir::Operation *> joint; ///< that have a collective inside
  llvm::DenseSet<mlir::Value> varying;     ///< from part to part of a device
  // What replicas without a shard need: ops as a whole, of joint ones the results.
  llvm::DenseSet<mlir::Operation *> needed;
  llvm::DenseSet<std::pair<mlir::Operation *, unsigned>> neededResults;
  int64_t total = 0; ///< rows of all shards
};

} // namespace gantry
