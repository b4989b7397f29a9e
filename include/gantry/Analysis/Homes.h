// Where values live once ops have devices, and where uses need them: what the passes of Copy ask.
#pragma once

#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gantry::copy {

/// Precondition: placed IR. Devices are given by their full names, as `gantry.device` has them.
class Homes {
public:
  explicit Homes(mlir::ModuleOp module);

  /// CPU:0 of the first task: where ends of functions and conditions are (spec P16).
  DeviceAttr host() const { return hostDevice; }

  /// The device that has the bytes of `value`; null for a constant, which is put where it is used
  /// when the plan is loaded.
  DeviceAttr homeOf(mlir::Value value) const;

  /// The same, but a constant that asks for a device is there.
  DeviceAttr askedHomeOf(mlir::Value value) const;

  /// CPU:0 of the task that `device` is in.
  DeviceAttr hostOf(DeviceAttr device) const;

  /// "GPU:0" where there is one task, else the full name.
  std::string nameOf(DeviceAttr device) const;

  /// The device on which this use needs its value; null when any will do, as for views and copies.
  DeviceAttr neededBy(mlir::OpOperand &use) const;

private:
  DeviceAttr named(mlir::StringAttr spelling) const;
  DeviceAttr homeOfArgument(mlir::BlockArgument argument) const;
  DeviceAttr neededByTerminator(mlir::OpOperand &use) const;

  DeviceAttr hostDevice;
  bool severalTasks = false;
  llvm::DenseMap<mlir::Attribute, DeviceAttr> hosts; ///< of the topology's devices
};

/// A use in words, for causes and errors: "MatMul 'fc1' at model.mlir:3:8", "result 0 of '@main'".
std::string describeUse(mlir::OpOperand &use);

/// The name of a value in words: "'x'", "argument 0", "the result of MatMul 'fc1'".
std::string describeValue(mlir::Value value);

} // namespace gantry::copy
