#include "LargestBatch.h"

#include "gantry/Dialect/Gantry/IR/Diagnostics.h"
#include "gantry/Search/Compile.h"
#include "gantry/Transforms/SpecializeShapes.h"

using namespace mlir;
using namespace gantry;

/// No batch is larger.
static constexpr int64_t kMost = int64_t(1) << 20;

namespace {
struct BatchSearch {
  const GraphFile &file;
  CompileOptions options;
  MLIRContext &context;
  std::string refusal;           ///< of the last size that did not fit
  std::vector<Diagnostic> heard; ///< of the last size that failed for another reason

  enum class Answer { fits, over, fails };
  using enum Answer;

  void setSize(int64_t size) {
    llvm::erase_if(options.graph.dims,
                   [&](const DimSize &dim) { return dim.first == options.memory.largestBatch; });
    options.graph.dims.push_back({options.memory.largestBatch, size});
  }

  Answer tryOut(int64_t size) {
    setSize(size);
    CompileOptions trial = options;
    trial.memory.largestBatch.clear();
    trial.debug.stopAfter = Phase::memory;
    trial.place.writeLock.clear();
    bool isOver = false;
    std::vector<Diagnostic> errors;
    ScopedDiagnosticHandler listener(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return success();
      if (statusCodeOf(diagnostic) == StatusCode::doesNotFit) {
        isOver = true;
        refusal = lineOf(diagnostic);
      }
      errors.push_back(std::move(diagnostic));
      return success();
    });
    if (succeeded(compileGraph(file, trial, {}, context)))
      return fits;
    heard = std::move(errors);
    return isOver ? over : fails;
  }

  LogicalResult fail(const Twine &why) {
    return emitError(UnknownLoc::get(&context))
           << "--largest-batch " << options.memory.largestBatch << ": " << why;
  }

  /// What another size has wrong is its own.
  LogicalResult tellErrors() {
    for (Diagnostic &diagnostic : heard)
      context.getDiagEngine().emit(std::move(diagnostic));
    return failure();
  }

  FailureOr<int64_t> find() {
    int64_t low = 0, high = 1; // low fits, high does not
    Answer answer = fits;
    while (answer == fits) {
      if (high > kMost)
        return fail("sizes up to 2^20 fit; give a device a limit, as in --devices=CPU:0@1GiB");
      answer = tryOut(high);
      if (answer == fits)
        low = std::exchange(high, high * 2);
    }
    if (answer == fails)
      return tellErrors();
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      answer = tryOut(middle);
      if (answer == fails)
        return tellErrors();
      (answer == fits ? low : high) = middle;
    }
    // Of the size after the largest, for the remark.
    if (low == 0 || tryOut(low + 1) == over)
      return low;
    return tellErrors();
  }
};
} // namespace

FailureOr<CompileOptions> gantry::withLargestBatch(const GraphFile &file,
                                                   const CompileOptions &options,
                                                   MLIRContext &context) {
  BatchSearch search{file, options, context, {}, {}};
  FailureOr<int64_t> largest = search.find();
  if (failed(largest))
    return failure();
  if (*largest == 0)
    return search.tellErrors();
  emitRemark(UnknownLoc::get(&context))
      << "the largest '" << options.memory.largestBatch << "' that fits is " << *largest
      << "; with " << *largest + 1 << ", " << search.refusal;
  search.setSize(*largest);
  search.options.memory.largestBatch.clear();
  return search.options;
}
