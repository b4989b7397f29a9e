#include "PlanChoice.h"

#include <map>
#include <numeric>

using namespace mlir;
using namespace gantry;

/// Searches with ever less memory, where plans take more than the search believed.
static constexpr int kMostRounds = 4;
/// How far a plan may be below what the search believes: a little, or as far as another was.
static constexpr double kLeastBelow = 5e-4, kMostBelow = 0.1;
/// Plans that are made of candidates, for each unit of effort, and ops that count for one.
static constexpr size_t kPlansPerEffort = 3, kOpsPerPlan = 2000;
/// A plan within this of the one without limits is not worth a repair.
static constexpr double kGood = 1.0005;

namespace {
class PlanChoice {
public:
  PlanChoice(ModuleOp module, const CompileOptions &options, bool isPlanned,
             LoweredKernels &lowered, PlanModule plan, TellProgress tell)
      : module(module), options(options), isPlanned(isPlanned), lowered(lowered), plan(plan),
        tell(tell) {
    this->options.memory.fixOverLimit = false;
    uint64_t ops = 0;
    module.walk([&](Operation *) { ++ops; });
    mostPlans = std::max<size_t>(1, kPlansPerEffort * options.place.effort * kOpsPerPlan /
                                        std::max<uint64_t>(ops, kOpsPerPlan));
  }

  FailureOr<TriedPlan> run() {
    PlacementSearch search(options, lowered);
    if (failed(tryLevels(search, options)))
      return failure();
    if (!isPlanned)
      return std::move(best);
    CompileOptions eachRun = options;
    eachRun.copy.once = false;
    PlacementSearch searchOfAll(eachRun, lowered);
    // What is made at load takes room in each run, too.
    if (isShort(search) && options.copy.once && search.makesAtLoad() &&
        failed(tryLevels(searchOfAll, eachRun)))
      return failure();
    tryPolicies(search);
    if (isShort(search))
      repair(search);
    if (!search.isWithinLimits(PlacementSearch::unlimited))
      llvm::append_range(best.findings, search.pricesOfMemory());
    return std::move(best);
  }

private:
  /// Whether memory makes it slower than it could be, or is not enough.
  bool isShort(const PlacementSearch &search) const {
    return failed(best.ran) ? best.isOverLimit
                            : best.seconds > search.secondsOf(PlacementSearch::unlimited) * kGood;
  }

  /// On ever more of the devices, the first two first: so what is found is never slower than what
  /// is found for a machine without the last ones. Of many, half are left out at once.
  LogicalResult tryLevels(PlacementSearch &search, const CompileOptions &own) {
    constexpr uint32_t mostInTurn = 9;
    const auto all = static_cast<uint32_t>(getTopology(module).logical.size());
    SmallVector<uint32_t> levels{all};
    while (isPlanned && levels.back() > 2)
      levels.push_back(levels.back() > mostInTurn ? levels.back() / 2 : levels.back() - 1);
    for (uint32_t devices : llvm::reverse(levels))
      if ((search.begin(module, devices) || devices == all) && failed(tryRounds(search, own)))
        return failure();
    return success();
  }

  LogicalResult tryRounds(PlacementSearch &search, const CompileOptions &own) {
    plansLeft = mostPlans;
    for (int round = 0; round < kMostRounds; ++round) {
      if (failed(search.run()))
        return failure();
      const std::vector<int64_t> lacking = tryCandidates(search, own);
      // Copies in loops show only when they are there.
      if (failed(best.ran) && !best.isOverLimit && best.isPlaced && search.leaveLoops(*best.module))
        continue;
      if (plansLeft == 0 || (!search.tightenLimits(lacking) && !hasLearned))
        break;
    }
    return success();
  }

  /// Plans of candidates, as long as one may be better than the best so far. Gives what the first
  /// one lacks that has less room than the search believed, and would be better with it.
  std::vector<int64_t> tryCandidates(PlacementSearch &search, const CompileOptions &own) {
    std::vector<int64_t> lacking;
    double wished = 0; // what that one would take
    hasLearned = false;
    for (size_t i = 0; i < search.numCandidates(); ++i) {
      if (i > 0 && (plansLeft == 0 || !isPlanned))
        break;
      const double believed = search.secondsOf(i);
      if (succeeded(best.ran) && believed > best.seconds * (1 + below))
        break;
      OwningOpRef<ModuleOp> suggested = search.suggest(i);
      auto [known, isNew] = lacked.try_emplace({search.hashSuggested(), own.copy.once});
      if (isNew || !isPlanned) {
        plansLeft -= plansLeft > 0;
        TriedPlan tried = make(search, std::move(suggested), i, own);
        known->second = whatLacks(tried, believed);
        hasLearned |= tried.isLearnedFrom;
        offer(std::move(tried));
      }
      if (lacking.empty() && !known->second.empty()) {
        lacking = known->second;
        wished = believed;
      }
    }
    if (succeeded(best.ran) && wished > best.seconds * (1 - kLeastBelow))
      lacking.clear();
    return lacking;
  }

  /// Bytes more that it would have to have, to be what is believed of it. None where it is, or
  /// where the search has learned why not.
  std::vector<int64_t> whatLacks(const TriedPlan &tried, double believed) {
    const bool fits = succeeded(tried.ran);
    if (fits && tried.seconds > 0)
      below = std::clamp(believed / tried.seconds - 1 + kLeastBelow, below, kMostBelow);
    if (fits ? tried.seconds > believed * (1 + PlacementSearch::kExplained) : tried.isOverLimit)
      return !fits ? tried.missing : tried.isLearnedFrom ? std::vector<int64_t>() : tried.waitedFor;
    return {};
  }

  TriedPlan make(PlacementSearch &search, size_t candidate, const CompileOptions &own) {
    return make(search, search.suggest(candidate), candidate, own);
  }

  /// `suggested`: the search's last suggestion, of that candidate.
  TriedPlan make(PlacementSearch &search, OwningOpRef<ModuleOp> suggested, size_t candidate,
                 const CompileOptions &own) {
    if (++numMade > 1)
      tell("compare placements: " + std::to_string(numMade));
    OwningOpRef<ModuleOp> kept = suggested->clone();
    TriedPlan tried = plan(std::move(suggested), own);
    tried.suggested = std::move(kept);
    const double believed = search.secondsSuggested();
    const double off = std::abs(tried.seconds / believed - 1);
    if (isPlanned && succeeded(tried.ran) && !own.memory.fixOverLimit &&
        off > PlacementSearch::kExplained) {
      search.learn(*tried.module, candidate, tried.seconds);
      tried.isLearnedFrom = search.secondsSuggested() != believed;
    }
    tried.findings = search.findings(candidate, tried.seconds, !tried.limitSteps.empty());
    return tried;
  }

  /// What the other policies do, planned as they do it: the result is no worse, whatever the search
  /// believed of them.
  void tryPolicies(PlacementSearch &search) {
    for (size_t candidate : {PlacementSearch::byDefault, PlacementSearch::byFollowing}) {
      if (candidate == PlacementSearch::byFollowing &&
          search.areAlike(candidate, PlacementSearch::byDefault))
        break;
      const bool mayFit = search.isWithinLimits(candidate) || failed(best.ran);
      if (mayFit &&
          (failed(best.ran) || search.secondsOf(candidate) <= best.seconds * (1 + kMostBelow)))
        offer(make(search, candidate, options));
    }
  }

  void offer(TriedPlan tried) {
    if (numOffered++ == 0 || tried.isBetter(best) || missesLess(tried))
      best = std::move(tried);
  }

  /// Of plans that do not fit, the one to tell of.
  bool missesLess(const TriedPlan &tried) const {
    auto sum = [](const std::vector<int64_t> &bytes) {
      return std::accumulate(bytes.begin(), bytes.end(), int64_t(0));
    };
    return failed(best.ran) && best.isOverLimit && tried.isOverLimit && tried.module &&
           sum(tried.missing) < sum(best.missing);
  }

  /// The repair's own answers: of what the default policy does, and of the best without limits.
  void repair(PlacementSearch &search) {
    CompileOptions fixing = options;
    fixing.memory.fixOverLimit = true;
    for (size_t candidate : {PlacementSearch::byDefault, PlacementSearch::unlimited}) {
      if (candidate == PlacementSearch::unlimited &&
          search.areAlike(candidate, PlacementSearch::byDefault))
        break;
      if (succeeded(best.ran))
        fixing.memory.secondsToBeat = best.seconds;
      TriedPlan tried = make(search, candidate, fixing);
      // Its errors say what the smallest plan would need.
      if (failed(tried.ran) && failed(best.ran) && tried.isOverLimit)
        best.heard = std::move(tried.heard);
      else
        offer(std::move(tried));
    }
  }

  ModuleOp module;
  CompileOptions options;
  bool isPlanned;
  LoweredKernels &lowered;
  PlanModule plan;
  TellProgress tell;
  size_t mostPlans, plansLeft = 0;
  size_t numMade = 0, numOffered = 0;
  /// By suggestion that was planned, and whether with results at load.
  std::map<std::pair<uint64_t, bool>, std::vector<int64_t>> lacked;
  bool hasLearned = false;    ///< in this round
  double below = kLeastBelow; ///< how far a plan may be below what is believed of it
  TriedPlan best;
};
} // namespace

FailureOr<TriedPlan> gantry::choosePlan(ModuleOp module, const CompileOptions &options,
                                        bool isPlanned, LoweredKernels &lowered, PlanModule plan,
                                        TellProgress tell) {
  return PlanChoice(module, options, isPlanned, lowered, plan, tell).run();
}
