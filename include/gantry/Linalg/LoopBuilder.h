// Loops, branches and work items, for whoever emits code of kernels.
//
// Bodies are called with the builder inside of them, and end by themselves. With `elements`, what
// is known of elements in a body is forgotten behind it.
#pragma once

#include "gantry/Linalg/Elements.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <optional>

namespace gantry {

class LoopBuilder {
public:
  using Value = mlir::Value;
  using ValueRange = mlir::ValueRange;
  using Values = llvm::SmallVector<Value>;
  /// Gives what the next round gets.
  using Round = llvm::function_ref<Values(Value, ValueRange)>;

  LoopBuilder(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}
  explicit LoopBuilder(mlir::ImplicitLocOpBuilder &b, Elements *elements = nullptr)
      : b(b), loc(b.getLoc()), elements(elements) {}

  /// For `first`, `first + step`, ... below `end`.
  void loop(Value first, Value end, Value step, llvm::function_ref<void(Value)> body);
  void loop(Value first, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
    loop(first, end, index(step), body);
  }
  void loop(Value first, int64_t end, int64_t step, llvm::function_ref<void(Value)> body) {
    loop(first, index(end), index(step), body);
  }
  void loop(int64_t first, int64_t end, int64_t step, llvm::function_ref<void(Value)> body) {
    loop(index(first), index(end), index(step), body);
  }

  /// The same with values that rounds carry.
  Values loop(Value first, Value end, Value step, ValueRange carried, Round body);
  Values loop(Value first, Value end, int64_t step, ValueRange carried, Round body) {
    return loop(first, end, index(step), carried, body);
  }
  Values loop(int64_t first, int64_t end, int64_t step, ValueRange carried, Round body) {
    return loop(index(first), index(end), index(step), carried, body);
  }

  /// With one value.
  Value loop(Value first, Value end, Value step, Value carried,
             llvm::function_ref<Value(Value, Value)> body);

  /// From 0 on; a single round needs no loop.
  Values rounds(int64_t end, int64_t step, ValueRange carried, Round body) {
    return end == step ? body(index(0), carried) : loop(0, end, step, carried, body);
  }

  /// Loops over all indices of a shape, the last one innermost.
  Values nest(llvm::ArrayRef<int64_t> shape, ValueRange carried,
              llvm::function_ref<Values(ValueRange, ValueRange)> body);

  void onlyIf(Value condition, llvm::function_ref<void()> then);
  void choose(Value condition, llvm::function_ref<void()> then,
              llvm::function_ref<void()> otherwise);
  /// `then` gives where the condition holds, else `otherwise`.
  Value choose(Value condition, llvm::function_ref<Value()> then, Value otherwise);

  /// The work items of a kernel: one for each index of all of `sizes`.
  void forItems(llvm::ArrayRef<int64_t> sizes, llvm::function_ref<void(ValueRange)> body);

private:
  Value index(int64_t value);
  void fill(mlir::Block *block, llvm::function_ref<Values()> body);
  Values nest(llvm::ArrayRef<int64_t> shape, Values &at, ValueRange carried,
              llvm::function_ref<Values(ValueRange, ValueRange)> body);

  mlir::OpBuilder &b;
  mlir::Location loc;
  Elements *elements = nullptr;
};

} // namespace gantry
