// What the functions of a plan refer to: devices, links, kernels and constants, declared in front
// of them while they are lowered.
#pragma once

#include "gantry/Device/CostModel.h"
#include "gantry/Device/Topology.h"
#include "gantry/Dialect/Gantry/IR/FreshSymbols.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Plan/IR/Exchanges.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

namespace gantry::schedule {

uint64_t byteSize(mlir::Type type);
ElementType elementTypeOf(mlir::Type type);

/// Devices are numbered as in the topology; their symbols are @d0, @d1, ... where the graph leaves
/// these free.
class Declarations {
public:
  explicit Declarations(mlir::ModuleOp module);

  /// The drivers that `gantry.targets` names stand in where they can.
  void declareDevices();
  void declareKernels();

  /// Number of the device of that name; the host's for null and for a name that is not known.
  unsigned device(DeviceAttr name);
  mlir::FlatSymbolRefAttr symbolOf(unsigned device) const { return symbols[device]; }
  const LogicalDevice &logical(unsigned device) const { return topology.logical[device]; }
  const PhysicalDevice &physical(unsigned device) const {
    return topology.physical[logical(device).physical];
  }

  /// Where buffers are that no op asks for: the first CPU.
  unsigned host() const { return hostDevice; }

  /// Number of the device's task, in the order of names.
  unsigned taskOf(unsigned device) const { return tasks[device]; }
  unsigned taskOf(mlir::FlatSymbolRefAttr symbol) const { return tasks[numbers.lookup(symbol)]; }
  /// The first CPU of a task.
  unsigned hostOfTask(unsigned task) const { return hosts[task]; }

  /// What members of several tasks exchange, sizes in bytes.
  mlir::FlatSymbolRefAttr declareExchange(mlir::Location loc, ExchangeKind kind,
                                          llvm::ArrayRef<unsigned> members,
                                          llvm::ArrayRef<int64_t> sizes,
                                          mlir::DenseI64ArrayAttr rows, llvm::StringRef cause,
                                          mlir::StringAttr name);

  /// The constant with this value on that device, in a layout or, for null, plain. The first use
  /// there is what made its copy at load, where it needs one.
  plan::ir::ConstantOp constantFor(ConstantOp op, unsigned device, llvm::StringRef use,
                                   mlir::Attribute layout);

  /// The constant that is this output of the function that runs at load.
  plan::ir::ConstantOp madeConstant(int64_t output, mlir::RankedTensorType type,
                                    mlir::StringAttr name, unsigned device, mlir::Location loc);

  /// The kernel that does a device's part of a collective, which the library alone has.
  mlir::FlatSymbolRefAttr kernelFor(AllReduceOp part);

  /// In which layout the kernel of a launch reads a constant; null for the plain one.
  mlir::Attribute layoutOf(mlir::OpOperand &operand) const;

  /// The plan's variable of that symbol, which lives on `device`.
  plan::ir::VariableOp variableFor(mlir::FlatSymbolRefAttr symbol, DeviceAttr device);

  /// Variables that no function uses are a part of the state, too.
  void declareOtherVariables();

  /// What is known of the work of a launch, whichever of its kernels runs; null when one of them is
  /// not lowered.
  WorkAttr workOf(LaunchOp launch) const;

  const CostModel &costs() const { return costModel; }
  mlir::ModuleOp getModule() const { return module; }

private:
  void declareLinks();
  void findTasks();

  mlir::ModuleOp module;
  FreshSymbols names;
  mlir::OpBuilder declarations;
  Topology topology;
  CostModel costModel;
  unsigned hostDevice = 0;
  llvm::SmallVector<mlir::FlatSymbolRefAttr> symbols;
  llvm::DenseMap<mlir::Attribute, unsigned> numbers; ///< of devices, by symbol
  llvm::SmallVector<unsigned> tasks;                 ///< by device
  llvm::SmallVector<unsigned> hosts;                 ///< by task
  unsigned numExchanges = 0;
  llvm::DenseMap<DeviceAttr, unsigned> devices; ///< by all names that were asked for
  llvm::MapVector<mlir::Attribute, mlir::func::FuncOp> kernels; ///< by symbol, lowered
  /// By value, layout and device.
  llvm::DenseMap<std::tuple<mlir::Attribute, mlir::Attribute, unsigned>, plan::ir::ConstantOp>
      constants;
  llvm::DenseMap<int64_t, plan::ir::ConstantOp> made; ///< by output
  /// All-reduces of a library, by devices and type of the values.
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, unsigned> collectives;
  llvm::DenseMap<std::pair<unsigned, unsigned>, mlir::FlatSymbolRefAttr>
      parts;                                                       ///< of these, by rank
  llvm::DenseMap<mlir::Attribute, VariableOp> variableOps;         ///< by name
  llvm::DenseMap<mlir::Attribute, plan::ir::VariableOp> variables; ///< by name
};

} // namespace gantry::schedule
