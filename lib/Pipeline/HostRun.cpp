// Op by op; see HostRun.h.

#include "HostRun.h"

#include "gantry/Dialect/Gantry/IR/Elements.h"
#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Views.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

/// Operations and launches of one run, those of loops included: some seconds.
static constexpr uint64_t kMaxFlops = uint64_t(1) << 37, kMaxLaunches = 1 << 17;

using Buffers = SmallVector<HostBuffer>;

static HostBuffer allocate(uint64_t bytes) {
  auto buffer = std::make_shared<AlignedBuffer>(AlignedBuffer::allocate(bytes));
  return buffer->data() ? buffer : nullptr;
}

HostBuffer gantry::bufferOf(ElementsAttr elements) {
  std::vector<uint8_t> made;
  std::optional<ArrayRef<uint8_t>> bytes = kernelBytes(elements, made);
  if (!bytes)
    return nullptr;
  auto buffer = std::make_shared<AlignedBuffer>(AlignedBuffer::copyOf(*bytes));
  return buffer->data() ? buffer : nullptr;
}

namespace {
class Run {
public:
  Run(const HostCode &code, std::string &why) : code(code), why(why) {}

  /// What the terminator gives; nothing after a failure.
  FailureOr<Buffers> runBlock(Block &block, ArrayRef<HostBuffer> arguments) {
    for (auto [argument, buffer] : llvm::zip_equal(block.getArguments(), arguments))
      buffers[argument] = buffer;
    for (Operation &op : block.without_terminator())
      if (failed(runOp(op)))
        return failure();
    return read(block.getTerminator()->getOperands());
  }

private:
  LogicalResult runOp(Operation &op) {
    if (isView(&op) || isa<CopyOp>(op))
      return give(op, read(op.getOperand(0)));
    return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
        .Case([&](ConstantOp constant) { return give(op, Buffers{bufferOf(constant.getValue())}); })
        .Case([&](LaunchOp launch) { return runLaunch(launch); })
        .Case([&](IfOp branch) { return runIf(branch); })
        .Case([&](WhileOp loop) { return runWhile(loop); })
        .Default(failure());
  }

  FailureOr<Buffers> read(ValueRange values) const {
    Buffers found = llvm::map_to_vector(values, [&](Value v) { return buffers.lookup(v); });
    if (llvm::is_contained(found, nullptr))
      return failure();
    return found;
  }

  LogicalResult give(Operation &op, const FailureOr<Buffers> &results) {
    if (failed(results) || results->size() != op.getNumResults() ||
        llvm::is_contained(*results, nullptr))
      return failure();
    for (auto [result, buffer] : llvm::zip_equal(op.getResults(), *results))
      buffers[result] = buffer;
    return success();
  }

  /// Whether there is time for one more launch, or step.
  LogicalResult spend(uint64_t operations) {
    flops += operations;
    if (flops <= kMaxFlops && ++launches <= kMaxLaunches)
      return success();
    why = "it takes more operations than are done when compiling";
    return failure();
  }

  LogicalResult runLaunch(LaunchOp launch) {
    uint64_t operations = 0;
    for (auto op : launch.getOps().getAsRange<LaunchedOpAttr>())
      operations += op.getFlops();
    StringRef kernel = launch.getKernelAttr().getLeafReference().getValue();
    WorkAttr work = code.works.lookup(kernel);
    FailureOr<Buffers> operands = read(launch->getOperands());
    if (!work || failed(operands) || failed(spend(operations)))
      return failure();
    Buffers results = llvm::map_to_vector(launch->getResultTypes(), [](Type type) {
      return allocate(getByteSize(cast<RankedTensorType>(type)));
    });
    Buffers all = *operands;
    llvm::append_range(all, results);
    all.push_back(allocate(work.getScratch()));
    if (llvm::is_contained(all, nullptr))
      return failure();
    auto pointers =
        llvm::map_to_vector(all, [](const HostBuffer &b) -> void * { return b->data(); });
    if (!code.kernels->run(kernel, pointers, work.getItems()))
      return failure();
    return give(*launch, results);
  }

  LogicalResult runIf(IfOp branch) {
    FailureOr<Buffers> condition = read(branch.getCondition());
    if (failed(condition))
      return failure();
    Region &chosen = *condition->front()->data() ? branch.getThenBody() : branch.getElseBody();
    return give(*branch, runBlock(chosen.front(), {}));
  }

  LogicalResult runWhile(WhileOp loop) {
    FailureOr<Buffers> carried = read(loop.getInits());
    while (succeeded(carried) && succeeded(spend(0))) {
      FailureOr<Buffers> goesOn = runBlock(loop.getConditionBody().front(), *carried);
      if (failed(goesOn) || goesOn->size() != 1)
        return failure();
      if (!*goesOn->front()->data())
        return give(*loop, carried);
      carried = runBlock(loop.getBody().front(), *carried);
    }
    return failure();
  }

  const HostCode &code;
  std::string &why;
  DenseMap<Value, HostBuffer> buffers;
  uint64_t flops = 0, launches = 0;
};
} // namespace

HostBuffer gantry::runMain(ModuleOp module, const HostCode &code, ArrayRef<HostBuffer> arguments,
                           std::string &why) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.getNumArguments() != arguments.size())
    return nullptr;
  FailureOr<Buffers> results = Run(code, why).runBlock(main.getBody().front(), arguments);
  return succeeded(results) && results->size() == 1 ? results->front() : nullptr;
}
