// By elements: a thread computes some neighbouring elements, each from all that it depends on.
//
// Neighbours are sixteen bytes where the elements are many. All of a thread's reads come before its
// writes, since the result may have taken an argument's place. An argument that is read at the
// result's own indices is read in line, without taking the number of the element apart.

#include "Kernel.h"

#include "gantry/Linalg/Emitter.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Bytes that a thread reads or writes at once, where it can.
static constexpr int64_t kAccessBytes = 16;

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

int64_t gantry::gpu::valuesAtOnce(Type element) { return kAccessBytes / bytesOf(element); }

namespace {
class ElementsStrategy : public LoweringStrategy {
public:
  using LoweringStrategy::LoweringStrategy;
  int64_t threads() const override { return threadsFor(output.count()); }
  void emit(KernelEmitter &kernel) override;

private:
  int64_t chooseValues(KernelEmitter &kernel) const;
  /// `values` elements, from number `first` on, at `indices` if these are known.
  void emitRun(KernelEmitter &kernel, Value first, int64_t values, ValueRange indices);
  void emitRest(KernelEmitter &kernel, Value first);

  Value linear; ///< number of the element that is being computed
};
} // namespace

/// As many as one access of the widest type has: two of one lane would leave a gap in each between
/// what neighbouring lanes read.
int64_t ElementsStrategy::chooseValues(KernelEmitter &kernel) const {
  Alignment reads(output.tensor);
  int64_t last = int64_t(output.shape().size()) - 1, bytes = bytesOf(output.element());
  for (BlockArgument argument : kernel.function().getBody().front().getArguments())
    if (isa<RankedTensorType>(argument.getType()))
      if (ArrayRef<int64_t> dims = reads.dimsOf(argument); !dims.empty() && dims.back() == last)
        bytes = std::max(bytes, bytesOf(elementOf(argument)));
  return std::max<int64_t>(1, kAccessBytes / bytes);
}

void ElementsStrategy::emitRun(KernelEmitter &kernel, Value first, int64_t values,
                               ValueRange indices) {
  ImplicitLocOpBuilder &b = kernel.builder();
  SmallVector<Value> computed;
  SmallVector<Indices> places;
  for (int64_t i = 0; i < values; ++i) {
    linear = addIndex(b, first, indexConstant(b, i));
    Indices at(indices.begin(), indices.end());
    if (indices.empty())
      at = delinearize(b, linear, output.shape());
    else if (i != 0)
      at.back() = addIndex(b, at.back(), indexConstant(b, i));
    computed.push_back(kernel.elements().at(output.tensor, at));
    places.push_back(at);
  }
  Value line = output.axis ? Value() : flat(b, kernel.launch().result(output.result));
  for (auto [i, value] : llvm::enumerate(computed))
    if (output.axis)
      kernel.write(output, places[i], value);
    else
      memref::StoreOp::create(b, value, line, addIndex(b, first, indexConstant(b, i)));
}

/// What is left behind the last whole run.
void ElementsStrategy::emitRest(KernelEmitter &kernel, Value first) {
  kernel.loops().loop(first, output.count(), 1,
                      [&](Value number) { emitRun(kernel, number, 1, {}); });
}

void ElementsStrategy::emit(KernelEmitter &kernel) {
  ImplicitLocOpBuilder &b = kernel.builder();
  Launch &launch = kernel.launch();
  int64_t count = output.count(), values = chooseValues(kernel);
  if (count == 0)
    return;
  kernel.provideInLine(output, linear);
  int64_t last = output.shape().empty() ? 1 : output.shape().back();
  // Few elements are better spread over many threads.
  if (count < values * launch.threads() * 8)
    values = 1;
  int64_t runs = (count + values - 1) / values;
  launch.needThreads(runs);
  Value run = launch.global();
  auto compareRun = [&](arith::CmpIPredicate predicate, int64_t with) {
    return arith::CmpIOp::create(b, predicate, run, indexConstant(b, with));
  };
  auto emitAll = [&] {
    Value first = mulIndex(b, run, values);
    if (values > 1 && last % values == 0) {
      // In runs, so that it is plain where they begin.
      SmallVector<int64_t> shape(output.shape());
      shape.back() /= values;
      Indices at = delinearize(b, run, shape);
      at.back() = mulIndex(b, at.back(), values);
      return emitRun(kernel, first, values, at);
    }
    if (count % values == 0)
      return emitRun(kernel, first, values, {});
    kernel.onlyIf(compareRun(arith::CmpIPredicate::ult, count / values),
                  [&] { emitRun(kernel, first, values, {}); });
    kernel.onlyIf(compareRun(arith::CmpIPredicate::eq, count / values),
                  [&] { emitRest(kernel, first); });
  };
  // Threads behind the last run have nothing to do.
  if (runs % launch.threads() == 0 && kernel.hasOneOutput())
    return emitAll();
  kernel.onlyIf(compareRun(arith::CmpIPredicate::ult, runs), emitAll);
}

std::unique_ptr<LoweringStrategy> gantry::gpu::findElements(const Output &output) {
  return std::make_unique<ElementsStrategy>(output);
}
