// To rematerialise: values are computed again where they are read late, instead of holding them
// until then.
//
// Which ones a library decides (gantry/Remat/Remat.h), of an estimate: the ops of the block are its
// steps, their tensors on the device its values; an op takes what the cost model says, as a kernel
// of its own. Pure ops give the same bits each time, products among them.

#include "HoistUpdates.h"
#include "LivenessProfile.h"
#include "gantry/Dialect/Gantry/IR/StepParts.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Remat/Remat.h"
#include "gantry/Target/TargetMap.h"
#include "gantry/Transforms/MemoryRepair/Passes.h"
#include "gantry/Transforms/MemoryRepair/Words.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_REMATERIALIZEVALUESPASS
#include "gantry/Transforms/MemoryRepair/Passes.h.inc"
} // namespace gantry

/// Repetitions that the solver may put in and take back.
static constexpr uint64_t kEffort = 20'000;

namespace {
/// The steps of a block on one device, as a problem, and the block as an answer has it.
class Rematerializer {
public:
  Rematerializer(const LivenessProfile &liveness, const TargetMap &targets)
      : liveness(liveness), targets(targets) {
    for (const LiveValue &held : liveness.values)
      if (liveness.homes.homeOf(held.value) == liveness.device)
        bytes[held.value] = held.bytes;
    for (Operation *op : liveness.ops)
      problem.steps.push_back(stepOf(op));
  }

  /// Holds so many bytes less at the peak, or as many less as can be. Fails where the solver does
  /// not do what it says.
  LogicalResult free(uint64_t wanted) {
    problem.limit = UINT64_MAX;
    const uint64_t peak = remat::solve(problem, 0).peak;
    problem.limit = peak - std::min(peak, wanted);
    const remat::Answer answer = remat::solve(problem, kEffort);
    if (std::string wrong = remat::check(problem, answer); !wrong.empty())
      return liveness.block.getParentOp()->emitError() << "internal error: " << wrong;
    for (const remat::Again &again : answer.again)
      agains[again.before].push_back(again.step);
    for (uint32_t i = 0; i < liveness.ops.size(); ++i) {
      for (uint32_t step : agains[i])
        runAgain(liveness.ops[step], liveness.ops[i]);
      readLatest(liveness.ops[i], liveness.ops[i]);
    }
    return success();
  }

private:
  uint32_t numberOf(Value value) {
    auto [known, isNew] = numbers.try_emplace(value, problem.bytes.size());
    if (isNew)
      problem.bytes.push_back(bytes.lookup(value));
    return known->second;
  }

  remat::Step stepOf(Operation *op) {
    remat::Step step;
    step.mayRepeat = false;
    if (isa<ConstantOp>(op) || isView(op))
      return step;
    llvm::SetVector<uint32_t> reads, replaces;
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands()) {
        Value value = skipViews(operand.get());
        if (value.getDefiningOp<ConstantOp>() || value.getParentBlock() != &liveness.block)
          continue;
        const uint32_t number = numberOf(value);
        reads.insert(number);
        if (inner == op && op->getNumResults() == 1 && isElementwiseUse(operand) &&
            problem.bytes[number] == bytes.lookup(op->getResult(0)))
          replaces.insert(number);
      }
    });
    for (Value result : op->getResults())
      step.makes.push_back(numberOf(result));
    step.reads.assign(reads.begin(), reads.end());
    step.replaces.assign(replaces.begin(), replaces.end());
    if (op->getAttr(kDeviceAttr) != liveness.device)
      return step;
    if (auto cost = dyn_cast<CostOpInterface>(op))
      step.seconds = targets.costs.seconds(targets.deviceNumberOf(op),
                                           {cost.getFlops(), cost.getBytes(), ElementType::f32});
    step.mayRepeat =
        isa<KernelOpInterface>(op) && op->getNumRegions() == 0 && isPure(op) && !isa<CopyOp>(op);
    return step;
  }

  void runAgain(Operation *op, Operation *before) {
    OpBuilder b(before);
    Operation *copy = b.clone(*op);
    copy->setLoc(computedAgain(ofStepPart(op->getLoc(), stepPartOf(before->getLoc()))));
    readLatest(copy, copy);
    // Ops of one name would be merged into one.
    auto name = op->getAttrOfType<StringAttr>(kNameAttr);
    copy->setAttr(kNameAttr, b.getStringAttr((name ? name.getValue() : "value") + kAgainSuffix +
                                             Twine(numAgain++)));
    for (auto [old, made] : llvm::zip(op->getResults(), copy->getResults()))
      latest[old] = made;
  }

  /// What was made last of all that an op reads; views are made again in front of `place`.
  void readLatest(Operation *op, Operation *place) {
    if (isView(op))
      return; // whoever reads it makes its own
    OpBuilder b(place);
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (auto made = latest.find(skipViews(operand.get())); made != latest.end()) {
          IRMapping mapping;
          mapping.map(made->first, made->second);
          readInstead({&operand}, b, mapping);
        }
    });
  }

  const LivenessProfile &liveness;
  const TargetMap &targets;
  remat::Problem problem;
  DenseMap<Value, uint64_t> bytes;                  ///< that are held for it on the device
  DenseMap<Value, uint32_t> numbers;                ///< in the problem, before views
  std::map<uint32_t, SmallVector<uint32_t>> agains; ///< by the step that they are in front of
  DenseMap<Value, Value> latest;
  unsigned numAgain = 0;
};

struct RematerializeValues : gantry::impl::RematerializeValuesPassBase<RematerializeValues> {
  using RematerializeValuesPassBase::RematerializeValuesPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    forEachWanted(getOperation(), bytes,
                  [&](func::FuncOp func, DeviceAttr device, uint64_t wanted, const Homes &homes) {
                    hoistUpdates(func);
                    LivenessProfile liveness(func.getBody().front(), device, homes);
                    if (failed(Rematerializer(liveness, targets).free(wanted)))
                      signalPassFailure();
                  });
  }
};
} // namespace
