// Where values live, and where uses need them: the one answer to both questions.
//
// What an op makes is on the op's device, or on those of its members (SeveralDevicesOpInterface);
// what a branch or a loop gives, and what it carries, is where `gantry.homes` says; ends of
// functions are where they say, else on the host (spec P16). A view is where the bytes are that it
// shows. Constants are put where they are used when the plan is loaded.
#pragma once

#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry {

/// Of placed IR: devices are given by their full names.
class Homes {
public:
  explicit Homes(mlir::ModuleOp module);

  /// CPU:0 of the first task: where ends of functions and conditions are.
  DeviceAttr host() const { return hostDevice; }

  /// The device that has the bytes of `value`; null for a constant.
  DeviceAttr homeOf(mlir::Value value) const;

  /// The same, but a constant that asks for a device is there.
  DeviceAttr askedHomeOf(mlir::Value value) const;

  /// The device on which this use needs its value; null when any will do, as for views and copies.
  DeviceAttr neededBy(mlir::OpOperand &use) const;

  /// The device that an op runs on; for one with regions that of its largest result, or else of the
  /// first op inside; that of the first member.
  DeviceAttr deviceOf(mlir::Operation *op) const;

  /// CPU:0 of the task that `device` is in.
  DeviceAttr hostOf(DeviceAttr device) const;

  /// "GPU:0" where there is one task, else the full name.
  std::string nameOf(DeviceAttr device) const;

  /// For Place, which finds the homes of results: these count for `op`, whatever its attribute
  /// says. Null is a home that is not known yet.
  void decide(mlir::Operation *op, llvm::ArrayRef<DeviceAttr> homes) { decided[op].assign(homes); }

private:
  DeviceAttr homeOfResult(mlir::OpResult result) const;
  DeviceAttr homeOfArgument(mlir::BlockArgument argument) const;

  DeviceAttr hostDevice;
  bool severalTasks = false;
  llvm::DenseMap<mlir::Attribute, DeviceAttr> hosts; ///< of the topology's devices
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<DeviceAttr>> decided;
};

//===----------------------------------------------------------------------===//
// Before Place
//===----------------------------------------------------------------------===//

/// The device that an end of a function asks for, or CPU:0, where it is when it asks for none.
DeviceAttr requestOfArgument(mlir::func::FuncOp func, unsigned index);
DeviceAttr requestOfResult(mlir::func::FuncOp func, unsigned index);

} // namespace gantry
