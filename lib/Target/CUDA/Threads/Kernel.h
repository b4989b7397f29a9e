// A kernel while it becomes the code of threads, and the lowering strategies for what it gives.
//
// Each result, or each piece of a joined one, is an *output*, computed by one *lowering strategy*:
// by elements, by rows, ... A strategy is found by looking at the output alone
// (`kLoweringStrategies` in EmitThreads.cpp has them in order of preference); it says how many
// threads a block should have, and later emits its code. The threads of one launch compute the
// outputs one after the other. What a strategy needs of the output's operands it asks `Elements`
// for; what it has computed already it `provide`s.
#pragma once

#include "Launch.h"
#include "Sharing.h"
#include "gantry/Linalg/LoopBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <memory>
#include <optional>

namespace gantry::gpu {

/// Elements of a result, all of them or one piece of a joined one.
struct Output {
  Value tensor;                 ///< in front of reshapes at the end, so it has its own shape
  unsigned result;              ///< of the kernel
  std::optional<unsigned> axis; ///< along which it is a piece
  int64_t start = 0;            ///< of the piece
  bool isOnly = false;          ///< of its kernel
  int64_t arch = 75;            ///< what the GPUs have at least
  bool mayBeTF32 = false;       ///< products of f32
  /// Parts of products that copies bring to shared memory, 0 for none by copies; if not said, as
  /// many as are best.
  std::optional<int64_t> stages;

  llvm::ArrayRef<int64_t> shape() const {
    return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
  }
  mlir::Type element() const { return mlir::getElementTypeOrSelf(tensor.getType()); }
  int64_t count() const { return mlir::ShapedType::getNumElements(shape()); }
};

class KernelEmitter;

/// One way of computing an output, for threads.
class LoweringStrategy {
public:
  explicit LoweringStrategy(const Output &output) : output(output) {}
  virtual ~LoweringStrategy() = default;

  /// How many threads a block should have, a power of two and whole warps. A block has as many as
  /// the output that asks for most; `Launch::threads` says how many that are.
  virtual int64_t threads() const = 0;

  /// Emits code that computes the output and writes it, for all blocks and threads. Elements of the
  /// kernel's arguments are provided; nothing of other outputs is.
  virtual void emit(KernelEmitter &kernel) = 0;

protected:
  Output output;
};

/// In bytes.
inline constexpr int64_t kTableAlignment = 16;

class KernelEmitter {
public:
  KernelEmitter(mlir::func::FuncOp func, mlir::ModuleOp module) : func(func), module(module) {}
  mlir::LogicalResult run();

  Launch &launch() { return *theLaunch; }
  Elements &elements() { return *theElements; }
  mlir::ImplicitLocOpBuilder &builder() { return theLaunch->builder(); }
  mlir::func::FuncOp function() { return func; }
  /// Blocks and threads may be more than an output asked for when the kernel has several.
  bool hasOneOutput() const { return outputs.size() == 1; }

  /// A body that runs where the condition holds.
  void onlyIf(Value condition, llvm::function_ref<void()> emit) { loops().onlyIf(condition, emit); }
  LoopBuilder loops() { return LoopBuilder(builder(), &*theElements); }
  /// The body for 0 <= i < count, by this thread and those of its block in turns.
  void forMine(int64_t count, llvm::function_ref<void(Value)> emit);

  /// Forgets all elements and provides those of arguments and constants. Called before a strategy
  /// emits.
  void provideInputs();
  /// Memory of the module that has these elements; it begins at a multiple of `kTableAlignment`.
  Value makeTable(mlir::DenseElementsAttr elements);
  /// A buffer in place of the argument `i`.
  Value memoryOf(unsigned i);
  /// Arguments that the output reads at the place of each element and nowhere else are read in
  /// line from now on: at `linear`, the number of the element that is being computed.
  void provideInLine(const Output &output, const Value &linear);
  /// Writes one element, at indices of the output.
  void write(const Output &output, ValueRange indices, Value value);

private:
  mlir::LogicalResult checkOps();
  void findOutputs();
  void makeTables();
  void providePacked(mlir::BlockArgument argument, Value memory);
  void keepInPlace();
  void replaceArguments(unsigned count);

  mlir::func::FuncOp func;
  mlir::ModuleOp module;
  std::vector<Output> outputs;
  unsigned numTables = 0;
  llvm::SmallVector<std::pair<Value, Value>> tables; ///< constants and the memory that has them
  std::optional<Launch> theLaunch;
  std::optional<Elements> theElements;
};

// The lowering strategies. Null where one does not apply; the last one always does.

/// Two products and the rows between them.
std::unique_ptr<LoweringStrategy> findAttentionStrategy(const Output &output);
/// Products in tiles, on tensor cores or on lanes.
std::unique_ptr<LoweringStrategy> findTiles(const Output &output);
/// Rows and columns that are added up by teams of lanes.
std::unique_ptr<LoweringStrategy> findTeams(const Output &output);
/// All other reductions that elements share, by blocks.
std::unique_ptr<LoweringStrategy> findSharedRows(const Output &output);
/// Operands that are turned in shared memory.
std::unique_ptr<LoweringStrategy> findSharedTranspose(const Output &output);
/// Some neighbouring elements for each thread.
std::unique_ptr<LoweringStrategy> findElements(const Output &output);

/// How many neighbours of a type are read or written at once.
int64_t valuesAtOnce(mlir::Type element);

} // namespace gantry::gpu
