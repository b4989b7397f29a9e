// Steps whose number is known: recurrent ops, Scan, and Loop without a condition of its own.
//
// They stay one loop in the plan (gantry.while), so that compiling does not take longer the more
// steps there are: what a step reads of a value is gathered at its index, what it gives is written
// at its index into one value that the loop carries, in place. A few steps become one body after
// the other, and so does what needs to know the step when compiling. The ops on data are the same
// in both forms, and so are the bits (docs/decisions/0021).
#pragma once

#include "Handlers.h"

namespace gantry::onnx {

/// Most steps that are made one after the other: beyond, the module would only be large.
inline constexpr int64_t kMaxUnrolled = 4096;

/// The way in which steps go along a value.
enum class Order { forward, backward };

inline Order orderOf(int64_t isBackward) { return isBackward ? Order::backward : Order::forward; }

/// A step as its body sees it.
class Step {
public:
  virtual ~Step() = default;

  /// Where the step is along a value of as many elements as there are steps: a scalar i64.
  virtual Value index(Order order) = 0;

  /// What `v` has there along `axis`: of the other dimensions.
  virtual Value take(Value v, int64_t axis, Order order) = 0;
};

/// How the rows that steps give are put together: along a new dimension of the result, which may be
/// counted from its end.
struct Collect {
  int64_t axis = 0;
  Order order = Order::forward;
};

/// What a step gives: the next carried values, and a row for each Collect.
struct StepResult {
  Values carried, rows;
};

struct Steps {
  int64_t count;
  llvm::ArrayRef<Value> carried; ///< before the first step
  llvm::ArrayRef<Collect> collect;
  /// Null values, or nothing, after a failure.
  llvm::function_ref<std::optional<StepResult>(Step &, llvm::ArrayRef<Value> carried)> body;
};

/// The carried values after the last step and the rows, put together; nothing after a failure.
std::optional<Values> runSteps(NodeContext &n, const Steps &steps);

/// The same as a loop, or nothing where that cannot be or does not pay; nothing is reported then,
/// and `why` may tell.
std::optional<Values> runStepsAsLoop(NodeContext &n, const Steps &steps,
                                     std::string *why = nullptr);

} // namespace gantry::onnx
