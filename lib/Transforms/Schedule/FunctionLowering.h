// One function on its way from values to commands over buffers; LowerToPlan.cpp says what becomes
// of what.
#pragma once

#include "Declarations.h"

#include "gantry/Analysis/Homes.h"
#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Transforms/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace gantry::schedule {

class FunctionLowering {
public:
  FunctionLowering(Declarations &state, const Homes &homes, mlir::func::FuncOp func,
                   const LowerToPlanPassOptions &options)
      : state(state), homes(homes), func(func), builder(func.getContext()),
        inPlace(options.inPlace), messages(options.messages) {}

  mlir::LogicalResult lower();
  /// The ops that ran at load are ops of each function that reads what they gave.
  void addPlaced(plan::ir::FuncOp atLoad);
  /// The function of commands.
  plan::ir::FuncOp getTarget() const { return target; }

private:
  mlir::StringAttr text(llvm::StringRef s) { return builder.getStringAttr(s); }
  mlir::Type bufferType() { return plan::ir::BufferType::get(func.getContext()); }
  mlir::StringAttr nameOf(mlir::Operation *op);
  /// Of a copy without a name, that of what it brings.
  mlir::StringAttr nameOf(mlir::Value value);
  unsigned deviceOf(mlir::Operation *op) {
    return state.device(op->getAttrOfType<DeviceAttr>(kDeviceAttr));
  }
  unsigned inputDevice(unsigned i) { return makerDevice(func.getArgument(i)); }
  unsigned outputDevice(unsigned i);
  /// Device on which a value is made.
  unsigned makerDevice(mlir::Value value) { return state.device(homes.homeOf(value)); }

  //===--- The function, what goes in and out (FunctionLowering.cpp) ---===//

  mlir::FlatSymbolRefAttr variableOf(mlir::BlockArgument arg) {
    return func.getArgAttrOfType<mlir::FlatSymbolRefAttr>(arg.getArgNumber(), kVariableAttr);
  }
  mlir::FlatSymbolRefAttr variableOfResult(unsigned i) {
    return func.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, kVariableAttr);
  }
  mlir::IntegerAttr onceOf(mlir::BlockArgument arg) {
    return func.getArgAttrOfType<mlir::IntegerAttr>(arg.getArgNumber(), kOnceAttr);
  }
  /// The constant that an argument is which is computed at load.
  mlir::Value useMade(mlir::BlockArgument arg, int64_t output);
  /// Arguments are the caller's arrays, numbered without the others, variables, or constants that
  /// are computed at load.
  mlir::LogicalResult declareInputs();
  /// Outputs first: they may be what variables held before. Variables that get each other's values
  /// need all of these to be safe before any is overwritten.
  void returnValues(mlir::Operation *terminator, llvm::ArrayRef<mlir::Value> outputs);

  //===--- Where results are (FunctionLowering.cpp) ---===//

  /// New values of variables are computed where the old ones are, when nothing reads those later
  /// and no check that comes later may end the run.
  void updateInPlace(mlir::Operation *terminator);
  mlir::ArrayAttr bindings(mlir::TypeRange types, bool inputs);
  /// What is given away lies in an output from the first command on, which copies nothing where the
  /// two are one array.
  void layOverInputs(mlir::Operation *terminator, llvm::ArrayRef<mlir::Value> outputs);
  /// Whether the value that is returned is computed (or copied from its device, or the result of a
  /// branch or loop) in the first output that it is; only when a command of the function itself
  /// makes it.
  static bool isMadeInOutput(mlir::Value root);
  llvm::SmallVector<mlir::Value> declareOutputs(mlir::Operation *terminator);

  //===--- Buffers (FunctionLowering.cpp) ---===//

  mlir::Value makeBuffer(mlir::Type type, mlir::StringAttr name, mlir::Location loc,
                         unsigned device, uint64_t size);
  /// The buffer of a value; of a constant, the one on `device` in `layout`, which `use` made
  /// necessary.
  mlir::Value bufferOf(mlir::Value value, unsigned device, llvm::StringRef use,
                       mlir::Attribute layout = {});
  /// The result of the loop that `value` is the first one of, made for that and nothing else.
  mlir::OpResult onlyCarriedBy(mlir::Value value);
  /// At the top of the function, whatever region uses it first.
  mlir::Value useConstant(ConstantOp constant, unsigned device, llvm::StringRef use,
                          mlir::Attribute layout);
  /// The device whose queue a copy is on, and the number of the queue.
  std::pair<unsigned, unsigned> queueOf(unsigned from, unsigned to);
  void copyTo(mlir::Value source, mlir::Value target, mlir::Location loc, mlir::StringAttr name,
              llvm::StringRef cause);

  //===--- Ops (LowerCommands.cpp) ---===//

  mlir::LogicalResult lowerBlock(mlir::Block &block);
  mlir::LogicalResult lowerOp(mlir::Operation &op);
  /// A constant is read on the device that it was put on, else it is there already.
  mlir::LogicalResult lowerCopy(CopyOp copy);
  /// A run that ends here has changed no variable: none is written before.
  mlir::LogicalResult lowerCheck(AssertIndicesOp op);
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> readBuffers(LaunchOp launch, unsigned device);
  mlir::LogicalResult lowerLaunch(LaunchOp launch);
  /// Results without a place of their own are computed in those of operands that end here.
  void takePlace(LaunchOp launch, WorkAttr work);
  /// A device's part of what a library does for several: a launch of a kernel that only the library
  /// has, without any scratch memory of the plan's.
  mlir::LogicalResult lowerAllReduce(AllReduceOp part);
  mlir::ArrayAttr logNamesOf(LaunchOp launch);
  /// Lists the ops inside for the placement log; gives what the kernel does as a whole.
  Work describeOps(LaunchOp launch, unsigned device);
  mlir::Attribute describeOp(LaunchOp launch, LaunchedOpAttr op, unsigned device, const Work &work);

  //===--- Between tasks (LowerExchanges.cpp) ---===//

  /// Sends from the one buffer and receives in the other.
  void sendTo(mlir::Value source, mlir::Value target, mlir::Location loc, mlir::StringAttr name,
              llvm::StringRef cause);
  mlir::LogicalResult lowerExchange(ExchangeOp op);
  void makePart(mlir::Location loc, mlir::FlatSymbolRefAttr exchange, unsigned rank,
                mlir::Value source, mlir::Value target, mlir::StringAttr name);
  /// The tasks that have commands in the op, or branches and loops to decide, in order.
  llvm::SmallVector<unsigned> tasksIn(mlir::Operation *op);
  /// Gives a branch or loop the condition of each task that has commands inside. `copy` makes it
  /// on that device.
  void giveConditions(mlir::Operation *op, llvm::function_ref<mlir::Value(unsigned)> copy);

  //===--- Branches and loops (LowerControlFlow.cpp) ---===//

  /// Lowers a region in place; `finish` comes before its end.
  mlir::LogicalResult lowerRegion(mlir::Region &source, mlir::Region &target,
                                  llvm::function_ref<void(mlir::ValueRange)> finish);
  mlir::LogicalResult lowerIf(IfOp op);
  mlir::LogicalResult lowerWhile(WhileOp op);
  /// Whether a command of the block makes the value, and may do so in `buffer`.
  bool mayBeMadeIn(mlir::Value root, mlir::Block &block, mlir::Value buffer);
  /// What a region yields is made where it is wanted; nothing is there before.
  void makeIn(mlir::Region &region, llvm::ArrayRef<mlir::Value> wanted);
  /// The next values are made where the ones before are, when nothing of the body reads those
  /// later.
  void carryInPlace(mlir::Block &body, llvm::ArrayRef<mlir::Value> carried);
  /// Copies the next values into the carried ones; all of them must be safe before any is
  /// overwritten.
  void carry(WhileOp op, mlir::ValueRange yielded, llvm::ArrayRef<mlir::Value> carried);

  Declarations &state;
  const Homes &homes;
  mlir::func::FuncOp func;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, mlir::Value> buffers; ///< of values that are not constants
  /// Of constants, by symbol.
  llvm::DenseMap<std::pair<mlir::Attribute, unsigned>, mlir::Value> uses;
  llvm::DenseMap<mlir::Value, unsigned> places;                 ///< devices of buffers
  llvm::DenseMap<mlir::Attribute, mlir::Value> variables;       ///< buffers, by symbol
  llvm::DenseMap<mlir::Value, mlir::BlockArgument> argumentsOf; ///< of the function, by buffer
  llvm::SmallVector<mlir::Attribute> placed;
  llvm::SmallVector<mlir::Attribute> forms; ///< of those
  plan::ir::FuncOp target;
  bool inPlace;  ///< whether results may take the place of operands
  bool messages; ///< whether copies between tasks are messages
};

} // namespace gantry::schedule
