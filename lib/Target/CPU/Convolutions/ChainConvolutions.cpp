// Line-buffered fusion: which depthwise convolutions are computed row by row together with a
// convolution of one pixel in front of them, behind them, or both
// (docs/designs/cpu-contractions.md).
//
// From each of them it is looked backwards and forwards, through ops that make each element from
// the one at its place and at most from a number for each channel. A convolution belongs to one
// chain: two depthwise ones in a row share none. Of the chains that are possible around one, the
// one is taken that gains most.

#include "Chain.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/TargetMap.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_CHAINCONVOLUTIONSPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

/// A convolution of pictures of f32 in the form that has kernels.
static bool isOurs(ConvOp conv) {
  constexpr int64_t rank = 4;
  return isNHWC(conv) && typeOf(conv.getResult()).getNumElements() > 0 &&
         !givesAccumulators(conv) && typeOf(conv.getResult()).getRank() == rank &&
         typeOf(conv.getInput()).getElementType().isF32() &&
         typeOf(conv.getResult()).getElementType().isF32();
}

static bool isDepthwise(ConvOp conv) {
  const int64_t channels = typeOf(conv.getInput()).getShape().back();
  return isOurs(conv) && channels > 1 && int64_t(conv.getGroups()) == channels &&
         typeOf(conv.getResult()).getShape().back() == channels;
}

/// Whether each pixel of the result is computed from the one at its place.
static bool isOfPixels(ConvOp conv) {
  auto isOne = [](int64_t size) { return size == 1; };
  auto isNone = [](int64_t size) { return size == 0; };
  ArrayRef<int64_t> window = typeOf(conv.getFilter()).getShape().slice(1, 2);
  return isOurs(conv) && conv.getGroups() == 1 && llvm::all_of(window, isOne) &&
         llvm::all_of(conv.getStrides(), isOne) && llvm::all_of(conv.getPadsLow(), isNone) &&
         llvm::all_of(conv.getPadsHigh(), isNone);
}

namespace {
/// What is between two convolutions: ops on elements, all of them for the second one alone.
struct Between {
  ConvOp first; ///< null: there is no such thing
  SmallVector<Operation *> ops;
};
} // namespace

/// The convolution that what `second` reads is computed from.
static Between lookBackFrom(ConvOp second) {
  constexpr size_t mostOps = 8;
  const auto type = typeOf(second.getInput());
  llvm::SmallSetVector<Operation *, 8> ops;
  auto isForChain = [&](Operation *op) {
    return op->getBlock() == second->getBlock() && op->getNumResults() == 1 &&
           op->getAttr(kDeviceAttr) == second->getAttr(kDeviceAttr) &&
           op->getResult(0).getType() == type && llvm::all_of(op->getUsers(), [&](Operation *user) {
             return user == second || ops.contains(user);
           });
  };
  auto isOfChannels = [&](Value value) {
    RankedTensorType other = typeOf(value);
    return other.getNumElements() == 1 || (other.getNumElements() == type.getShape().back() &&
                                           other.getShape().back() == type.getShape().back());
  };
  Between found;
  // Each op once all that read it are there.
  SmallVector<Value> open{second.getInput()};
  for (size_t tries = 0; !open.empty();) {
    Value value = open.front();
    open.erase(open.begin());
    Operation *op = value.getDefiningOp();
    if (ops.contains(op) || (op && op == found.first) ||
        (value != second.getInput() && isOfChannels(value)))
      continue;
    if (!op || tries > mostOps)
      return {};
    if (!isForChain(op)) {
      open.push_back(value), ++tries;
      continue;
    }
    tries = 0;
    if (auto conv = dyn_cast<ConvOp>(op)) {
      if (found.first)
        return {};
      found.first = conv;
      continue;
    }
    auto kernel = dyn_cast<KernelOpInterface>(op);
    if (!kernel || kernel.getFusionKind() != FusionKind::Elementwise || ops.size() >= mostOps)
      return {};
    ops.insert(op);
    llvm::append_range(open, op->getOperands());
  }
  found.ops.assign(ops.begin(), ops.end());
  return found;
}

namespace {
/// Convolutions that one kernel may compute row by row; the first or the last may be missing.
struct ChainCandidate {
  ConvOp expand, depthwise, project;
  SmallVector<Operation *> byRows; ///< all that is not there as a whole then

  double worth = 0;  ///< seconds that are saved, by the cost model
  int64_t saved = 0; ///< bytes
};

struct Chooser {
  const TargetMap &targets;
  bool all;
  DenseMap<Operation *, std::pair<ConvOp, Between>> projectOf; ///< by depthwise convolution
  llvm::SmallPtrSet<Operation *, 8> taken;

  Chooser(const TargetMap &targets, bool all) : targets(targets), all(all) {}

  std::optional<ChainCandidate> choose(ConvOp depthwise) {
    Between front = lookBackFrom(depthwise);
    const bool expands = front.first && isOfPixels(front.first) && !taken.contains(front.first);
    auto behind = projectOf.find(depthwise);
    const bool projects = behind != projectOf.end();
    std::optional<ChainCandidate> best;
    for (auto [takesFront, takesBack] : {std::pair(true, true), {false, true}, {true, false}}) {
      if ((takesFront && !expands) || (takesBack && !projects))
        continue;
      ChainCandidate made{{}, depthwise, {}, {}};
      auto add = [&](const Between &between) {
        made.byRows.push_back(between.first);
        llvm::append_range(made.byRows, between.ops);
      };
      if (takesFront)
        made.expand = front.first, add(front);
      if (takesBack)
        made.project = behind->second.first, add(behind->second.second);
      estimate(made);
      const bool isWanted = made.worth > 0 || (all && made.saved > 0);
      auto rank = [&](const ChainCandidate &each) {
        return all ? std::pair(double(each.saved), each.worth) : std::pair(each.worth, 0.);
      };
      if (isWanted && (!best || rank(made) > rank(*best)))
        best = std::move(made);
    }
    if (best)
      for (ConvOp conv : {best->expand, best->project})
        if (conv)
          taken.insert(conv);
    return best;
  }

  void estimate(ChainCandidate &made) const {
    // What is not larger stays in the second cache between two kernels as well.
    constexpr int64_t cacheBytes = 1 << 20, elementBytes = sizeof(float);
    const uint32_t device = targets.deviceNumberOf(made.depthwise);
    const double byteRate = targets.costs.byteRate(device),
                 flopRate = targets.costs.flopRate(device);
    const ChainSizes sizes = ChainSizes::of(
        PackedConvolution::of(made.depthwise), made.depthwise.getPadsLow()[1],
        typeOf(made.depthwise.getInput()).getDimSize(2), bool(made.expand), bool(made.project));
    made.saved = -sizes.scratchBytes();
    for (ConvOp gone : {made.expand, made.project ? made.depthwise : ConvOp()}) {
      if (!gone)
        continue;
      const int64_t bytes = typeOf(gone.getResult()).getNumElements() * elementBytes;
      made.saved += bytes;
      if (bytes > cacheBytes)
        made.worth += 2. * double(bytes) / byteRate;
    }
    // Blocks of pixels end where rows do.
    constexpr int64_t block = 6;
    for (ConvOp conv : {made.expand, made.project}) {
      if (!conv)
        continue;
      const int64_t columns = typeOf(conv.getResult()).getDimSize(2);
      const double unused = double(llvm::alignTo(columns, block)) / double(columns) - 1;
      const double again = conv == made.expand ? sizes.shareMadeTwice() : 0;
      made.worth -= (unused + again) * double(conv.getFlops()) / flopRate;
    }
  }
};

struct ChainConvolutions : gantry::impl::ChainConvolutionsPassBase<ChainConvolutions> {
  using ChainConvolutionsPassBase::ChainConvolutionsPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      Chooser chooser(targets, all);
      func.walk([&](ConvOp conv) {
        Between between = isOfPixels(conv) ? lookBackFrom(conv) : Between();
        if (between.first && isDepthwise(between.first))
          chooser.projectOf[between.first] = {conv, between};
      });
      func.walk([&](ConvOp conv) {
        if (isDepthwise(conv) && targets.isOnlyOf(conv, kCPUTarget, DeviceType::CPU))
          if (std::optional<ChainCandidate> chain = chooser.choose(conv))
            for (Operation *op : chain->byRows)
              op->setAttr(kByRowsAttr, UnitAttr::get(&getContext()));
      });
    }
  }
};
} // namespace
