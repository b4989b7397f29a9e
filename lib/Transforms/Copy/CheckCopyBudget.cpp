// Holds a function to the bytes that a run may copy, by direction (spec X4).
//
// The budget is `gantry.max_copy` on the function, or the pass's option for those without:
// "d2h:0,h2d:1MiB". Of a branch the side that copies more counts. A copy inside a loop runs an
// unknown number of times, so that no budget for its direction can hold.

#include "gantry/Transforms/CheckCopyBudget.h"
#include "Words.h"
#include "gantry/Analysis/Copies.h"
#include "gantry/Analysis/Flow.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHECKCOPYBUDGETPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// Longest list of copies in an error; the rest is counted.
static constexpr size_t kListed = 8;

namespace {
struct CheckCopyBudget : gantry::impl::CheckCopyBudgetPassBase<CheckCopyBudget> {
  using CheckCopyBudgetPassBase::CheckCopyBudgetPassBase;
  explicit CheckCopyBudget(const CopyBudget &others) : others(others) {}

  /// The option is text for gantry-opt alone.
  LogicalResult initialize(MLIRContext *context) override {
    if (maxCopy.empty())
      return success();
    Expected<CopyBudget> budget = parseCopyBudget(maxCopy);
    if (!budget)
      return emitError(UnknownLoc::get(context)) << budget.status().message();
    others = *budget;
    return success();
  }

  void runOnOperation() override {
    Homes homes(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && !func->hasAttr(kAtLoadAttr) && failed(check(func, homes)))
        return signalPassFailure();
  }

  LogicalResult check(func::FuncOp func, const Homes &homes) {
    Expected<CopyBudget> budget = copyBudgetOf(func, others);
    if (!budget)
      return func.emitError() << budget.status().message();
    if (budget->isEmpty())
      return success();
    SmallVector<CountedCopy> copies = countCopies(func, homes);
    LogicalResult result = success();
    for (CopyDirection direction : {CopyDirection::h2d, CopyDirection::d2h, CopyDirection::d2d})
      if (std::optional<uint64_t> limit = budget->of(direction);
          limit && failed(checkDirection(func, homes, copies, direction, *limit)))
        result = failure();
    return result;
  }

  /// Bytes of one run of the region: of a branch the larger side, of a loop one pass.
  static uint64_t sumUp(Region &region, const DenseMap<Operation *, uint64_t> &bytesOf) {
    uint64_t bytes = 0;
    for (Operation &op : region.front()) {
      bytes += bytesOf.lookup(&op);
      auto branch = dyn_cast<RegionBranchOpInterface>(op);
      bool isChoice = branch && runsOneRegion(branch);
      uint64_t inside = 0;
      for (Region &inner : op.getRegions())
        inside =
            isChoice ? std::max(inside, sumUp(inner, bytesOf)) : inside + sumUp(inner, bytesOf);
      bytes += inside;
    }
    return bytes;
  }

  static LogicalResult checkDirection(func::FuncOp func, const Homes &homes,
                                      ArrayRef<CountedCopy> all, CopyDirection direction,
                                      uint64_t limit) {
    SmallVector<CountedCopy> copies;
    DenseMap<Operation *, uint64_t> bytesOf;
    bool inLoop = false;
    for (const CountedCopy &each : all)
      if (each.direction == direction) {
        copies.push_back(each);
        bytesOf[each.op] = each.bytes;
        inLoop |= each.inLoop;
      }
    uint64_t bytes = sumUp(func.getBody(), bytesOf);
    if (bytes <= limit && !inLoop)
      return success();
    llvm::stable_sort(copies,
                      [](const CountedCopy &a, const CountedCopy &b) { return a.bytes > b.bytes; });
    auto error = func.emitError() << "'@" << func.getSymName() << "' copies "
                                  << (inLoop ? "at least " : "") << formatBytes(bytes)
                                  << " per run " << copyDirectionNames[size_t(direction)]
                                  << ", the budget is " << formatBytes(limit)
                                  << (inLoop ? " and some copies are in a loop" : "")
                                  << "; place their ends on one device, or raise --max-copy";
    for (const CountedCopy &each : ArrayRef(copies).take_front(kListed))
      error.attachNote(each.loc()) << describe(each, homes);
    if (copies.size() > kListed)
      error.attachNote(func.getLoc()) << "and " << copies.size() - kListed << " smaller ones";
    return error;
  }

  static std::string describe(const CountedCopy &each, const Homes &homes) {
    CopyOp op = each.op;
    std::string text = formatBytes(each.bytes) + " from " +
                       homes.nameOf(homes.homeOf(op.getInput())) + " to " +
                       homes.nameOf(op.getDevice()) + ": " + copy::describeValue(op.getInput());
    if (op.getCause())
      text += ", for " + op.getCause()->str();
    return text + (each.inLoop ? ", in every pass of a loop" : "");
  }

  CopyBudget others;
};
} // namespace

std::unique_ptr<Pass> gantry::createCheckCopyBudgetPass(const CopyBudget &others) {
  return std::make_unique<CheckCopyBudget>(others);
}
