// NHWC layout propagation: convolution networks with the channels last
// (docs/designs/cpu-contractions.md).
//
// First transposed convolutions become convolutions where that wastes no terms (Transposed.h). Then
// it is chosen which ops take the form: convolutions whose target packs their filters, other
// transposed ones as they are, and forward from them what can follow. Each connected region of them
// is kept if its convolutions gain more than the reorders at its borders cost. Then each chosen op
// is made again in the other form, and where somebody else reads its result, that is put back in
// order.

#include "FilterGradients.h"
#include "InF32.h"
#include "Int8.h"
#include "Pairs.h"
#include "Panels.h"
#include "Reorder.h"
#include "SkipBorders.h"
#include "Transposed.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/Layout.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CPU/Passes.h"
#include "gantry/Target/TargetMap.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_PROPAGATENHWCPASS
#include "gantry/Target/CPU/Passes.h.inc"
} // namespace gantry

using Shape = SmallVector<int64_t>;

/// Whether a transposed convolution without strides takes the form as it is: its kernel reads a
/// filter backwards that is only known at run time, so that nobody has to turn that.
static bool keepsFilter(ConvTransposeOp op) {
  return !getConstantElements(op.getFilter()) && panelOfFilter(op) &&
         llvm::all_of(op.getStrides(), [](int64_t stride) { return stride == 1; });
}

/// The zero borders of a convolution that stand in front of it as an op of their own, if they are
/// no one else's.
static PadOp bordersOf(ConvOp conv) {
  auto pad = conv.getInput().getDefiningOp<PadOp>();
  if (!pad || !pad->hasOneUse() || !addsZeros(pad) ||
      pad->getAttr(kDeviceAttr) != conv->getAttr(kDeviceAttr))
    return {};
  auto first = [](ArrayRef<int64_t> sizes) { return sizes[0] == 0 && sizes[1] == 0; };
  return first(pad.getLow()) && first(pad.getHigh()) ? pad : PadOp();
}

/// What the convolution reads, without its borders.
static Value imageOf(ConvOp conv) {
  PadOp pad = bordersOf(conv);
  return pad ? pad.getInput() : conv.getInput();
}

/// Whether the plain form of a convolution or pool has vectors along the image. Sums of pools in
/// floating point have one order in both forms only there: see EmitRegisterTiles.
template <typename Op>
static bool hasRows(Op op) {
  constexpr int64_t leastColumns = 4, mostStep = 4;
  return op.getType().getShape().back() >= leastColumns && op.getStrides().back() <= mostStep;
}

/// Of three spatial dimensions channels can be one: places of maxima have no other form, but may
/// have windows over the channels, of one each.
template <typename Op>
static bool hasRoomForChannels(Op op) {
  return op.getStrides().size() < 3;
}

/// Whether an op can follow its operand into the other form, by what it is.
static bool hasBothForms(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !type.hasStaticShape() || type.getRank() < 3 || type.getNumElements() == 0)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<MaxPoolOp, ConcatOp, SliceOp>([](auto) { return true; })
      .Case<MaxPoolIndexOp, PoolSpreadOp>([](auto op) { return hasRoomForChannels(op); })
      .Case<PadOp>([](PadOp pad) { return pad.getMode() == PadMode::Constant; })
      .Case<AvgPoolOp, LpPoolOp>([](auto pool) { return hasRows(pool); })
      .Case<ResizeOp>([](ResizeOp resize) { return resize.getRoi().empty(); })
      .Case<ReshapeOp>([](ReshapeOp view) {
        ArrayRef<int64_t> from = view.getInput().getType().getShape(),
                          to = view.getType().getShape();
        return from.size() >= 3 && from.take_front(2) == to.take_front(2);
      })
      .Default([](Operation *other) {
        auto kernel = dyn_cast<KernelOpInterface>(other);
        return kernel && kernel.getFusionKind() == FusionKind::Elementwise &&
               isa<DimensionMapOpInterface>(other);
      });
}

/// The operands that have the dimensions of the result, whose form an op has to share.
static SmallVector<Value> imagesOf(Operation *op) {
  if (auto conv = dyn_cast<ConvOp>(op))
    return {imageOf(conv)};
  if (isa<ConvTransposeOp, BatchNormOp, PadOp>(op))
    return {op->getOperand(0)};
  if (isa<ReshapeOp>(op))
    return {op->getOperand(0)};
  SmallVector<Value> images;
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<RankedTensorType>(operand.getType());
        type && type.getRank() == rankOf(op->getResult(0)) && type.getNumElements() > 1)
      images.push_back(operand);
  return images;
}

/// Whether a use gives the same in every order of the elements: the largest or least of all.
static bool isOfAllElements(OpOperand &use) {
  auto takesAll = [&](auto reduce) {
    return int64_t(reduce.getAxes().size()) == rankOf(use.get());
  };
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case<ReduceMaxOp, ReduceMinOp>(takesAll)
      .Default(false);
}

/// A sum or mean over all but the channels, as the gradient of a bias is, or the mean of a batch
/// norm.
static bool isOverChannels(OpOperand &use) {
  auto leavesChannels = [&](auto reduce) {
    return int64_t(reduce.getAxes().size()) == rankOf(use.get()) - 1 &&
           !llvm::is_contained(reduce.getAxes(), 1);
  };
  return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
      .Case<ReduceSumOp, ReduceMeanOp>(leavesChannels)
      .Default(false);
}

/// GPUs, simulated or not, keep their form.
static bool isOurs(const TargetMap &targets, Operation *op) {
  return targets.isOnlyOf(op, kCPUTarget, DeviceType::CPU);
}

namespace {
/// The ops that take the other form.
struct Chosen {
  const TargetMap &targets;
  llvm::SetVector<Operation *> ops; ///< in the order in which they stand
  DenseMap<Operation *, int64_t> panels;

  explicit Chosen(const TargetMap &targets) : targets(targets) {}

  bool has(Value value) const {
    Operation *maker = value.getDefiningOp();
    return maker && ops.contains(maker);
  }

  void choose(func::FuncOp func) {
    func.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto conv = dyn_cast<ConvOp>(op))
        addConvolution(conv);
      else if (auto transposed = dyn_cast<ConvTransposeOp>(op))
        addConvolution(transposed);
      else if (mayFollow(op))
        ops.insert(op);
    });
    dropLosses();
  }

  template <typename Op>
  int64_t panelOf(Op conv) const {
    const int64_t panel = isOurs(targets, conv) ? panelOfFilter(conv) : 0;
    return panel && isFasterPlain(conv, panel) ? 0 : panel;
  }

  /// Whether few channels of the result leave so much of the registers unused that vectors along
  /// the image win, even with a reorder of it in front. Not where the same pixel of all channels
  /// lies in one set of the cache.
  template <typename Op>
  bool isFasterPlain(Op conv, int64_t panel) const {
    constexpr int64_t leastColumns = 16, setBytes = 4096, ways = 8;
    auto image = typeOf(conv.getInput());
    const int64_t channels = image.getDimSize(1);
    const int64_t channelBytes = getByteSize(image) / (image.getDimSize(0) * channels);
    if (channels > ways && channelBytes % setBytes == 0)
      return false;
    if (!typeOf(conv.getFilter()).getElementType().isF32() || conv.getGroups() != 1 ||
        !hasRows(conv) || conv.getType().getShape().back() < leastColumns)
      return false;
    const double atPeak = conv.getFlops() / targets.costs.flopRate(targets.deviceNumberOf(conv));
    return atPeak * plainTakes(conv) + costOf(imagesOf(conv).front(), conv) <
           atPeak / rateOfPanel(panel);
  }

  template <typename Op>
  void addConvolution(Op conv) {
    if (int64_t panel = panelOf(conv)) {
      ops.insert(conv);
      panels[conv] = panel;
    }
  }

  /// Whether a maximum reads what the graph itself has put in order: it lies in the other form in
  /// front of that.
  static bool readsTurned(Operation *op, Value image) {
    auto turn = image.getDefiningOp<TransposeOp>();
    return isa<MaxPoolOp, MaxPoolIndexOp, PoolSpreadOp>(op) && turn &&
           turn.getPermutation() == ArrayRef<int64_t>(toChannelsFirst(rankOf(image)));
  }

  /// More of what it reads is in the other form than not, or lies the same in both: then those who
  /// read its result decide. What is spread goes where its places are.
  bool mayFollow(Operation *op) {
    if (!hasBothForms(op) || isBorder(op) || (!isa<ReshapeOp>(op) && !isOurs(targets, op)))
      return false;
    if (auto spread = dyn_cast<PoolSpreadOp>(op))
      return has(spread.getPlaces());
    SmallVector<Value> images = imagesOf(op);
    uint64_t inOther = 0, inPlain = 0;
    for (Value image : images)
      if (has(image) || readsTurned(op, image))
        inOther += getByteSize(typeOf(image));
      else if (!liesTheSame(image))
        inPlain += getByteSize(typeOf(image));
    return inOther >= inPlain && !images.empty();
  }

  static bool liesTheSame(Value value) {
    return movesNothing(typeOf(value).getShape(), toChannelsLast(rankOf(value)));
  }

  //===--- What it is worth ------------------------------------------------===//

  /// Times what a convolution takes at the machine's rate, where it has vectors along the image.
  static constexpr double kPlainTakes = 3;
  static double plainTakes(ConvOp) { return kPlainTakes; }
  /// With zeros between the pixels.
  static double plainTakes(ConvTransposeOp conv) {
    double takes = kPlainTakes;
    for (int64_t stride : conv.getStrides())
      takes *= double(stride);
    return takes;
  }

  /// What the plain form takes longer: without a row for vectors it goes element by element.
  double gainOf(Operation *op) const {
    if (auto conv = dyn_cast<ConvOp>(op))
      // Of some there is no other form.
      return givesAccumulators(conv) ? std::numeric_limits<double>::infinity()
                                     : gainOfConvolution(conv);
    auto transposed = dyn_cast<ConvTransposeOp>(op);
    return transposed ? gainOfConvolution(transposed) : 0;
  }

  template <typename Op>
  double gainOfConvolution(Op conv) const {
    const double longer = hasRows(conv) ? plainTakes(conv) - 1 : 40;
    return longer * conv.getFlops() / targets.costs.flopRate(targets.deviceNumberOf(conv));
  }

  double costOf(Value value, Operation *near) const {
    auto type = typeOf(value);
    if (getConstantElements(value) || liesTheSame(value))
      return 0;
    return targets.costs.launchSeconds(targets.deviceNumberOf(near)) +
           2.0 * getByteSize(type) / targets.costs.byteRate(targets.deviceNumberOf(near));
  }

  /// Whether a use puts the value in an order of its own, so that there is one reorder with or
  /// without the other form.
  static bool isReorder(OpOperand &use) { return isa<TransposeOp>(use.getOwner()); }
  /// The same of a value that is read: its reorder and ours become one, or none.
  static bool isReordered(Value value) {
    return value.getDefiningOp<TransposeOp>() && value.hasOneUse();
  }

  void dropLosses() {
    llvm::EquivalenceClasses<Operation *> regions;
    for (Operation *op : ops) {
      regions.insert(op);
      for (Value image : imagesOf(op))
        if (has(image))
          regions.unionSets(op, image.getDefiningOp());
    }
    DenseMap<Operation *, double> worth; // by leader
    for (Operation *op : ops) {
      double &sum = worth[regions.getLeaderValue(op)];
      sum += gainOf(op);
      for (Value image : imagesOf(op))
        if (readsTurned(op, image))
          sum += costOf(image, op);
        else if (!has(image) && !isReordered(image))
          sum -= costOf(image, op);
      bool isReadPlain = llvm::any_of(op->getUses(), [&](OpOperand &use) {
        return !isReorder(use) && !isOfAllElements(use) && !isOverChannels(use) &&
               !ops.contains(use.getOwner()) && !isBorder(use.getOwner());
      });
      if (isReadPlain)
        sum -= costOf(op->getResult(0), op);
    }
    ops.remove_if([&](Operation *op) { return worth[regions.getLeaderValue(op)] <= 0; });
  }

  /// Whether a pad goes into the convolution behind it.
  bool isBorder(Operation *op) const {
    auto conv = isa<PadOp>(op) && op->hasOneUse() ? dyn_cast<ConvOp>(*op->user_begin()) : ConvOp();
    return conv && panelOf(conv) && bordersOf(conv) == op;
  }
};

/// Makes the chosen ops again.
struct Rewriter {
  Chosen &chosen;
  OpBuilder builder;
  Reorder reorder;
  DenseMap<Value, Value> last; ///< values in the other form

  Rewriter(Chosen &chosen, MLIRContext *context)
      : chosen(chosen), builder(context), reorder(builder) {}

  void run() {
    for (Operation *op : chosen.ops) {
      builder.setInsertionPoint(op);
      last[op->getResult(0)] = makeAgain(op)->getResult(0);
    }
    // Users that are made again go first, so that what is left of uses reads the plain form.
    for (Operation *op : llvm::reverse(chosen.ops)) {
      turnUses(op);
      auto conv = dyn_cast<ConvOp>(op);
      PadOp pad = conv ? bordersOf(conv) : PadOp();
      op->erase();
      if (pad)
        pad->erase();
    }
  }

  /// The value with the channels last: for an operand of rank `rank`, to which it is broadcast.
  Value inLast(Operation *op, Value value, int64_t rank) {
    if (Value made = last.lookup(value); made && rankOf(value) == rank)
      return made;
    if (typeOf(value).getNumElements() == 1)
      return value;
    if (auto turn = value.getDefiningOp<TransposeOp>(); turn && rankOf(value) == rank)
      return reorder.permute(op, turn.getInput(),
                             permuted(turn.getPermutation(), toChannelsLast(rank)),
                             "/channels_last");
    Shape shape(rank - rankOf(value), 1);
    llvm::append_range(shape, typeOf(value).getShape());
    return reorder.permute(op, reorder.reshape(op, value, shape), toChannelsLast(rank),
                           "/channels_last");
  }

  Operation *makeAgain(Operation *op) {
    Value result = op->getResult(0);
    int64_t rank = rankOf(result);
    Operation *again;
    if (auto conv = dyn_cast<ConvOp>(op)) {
      again = makeConvolution(conv);
    } else if (auto transposed = dyn_cast<ConvTransposeOp>(op)) {
      again = makeTransposed(transposed);
    } else if (auto index = dyn_cast<MaxPoolIndexOp>(op)) {
      return makeWindows(index);
    } else if (auto spread = dyn_cast<PoolSpreadOp>(op)) {
      return makeWindows(spread);
    } else {
      again = cloneWith(op, [&](unsigned i, Value value) {
        bool stays = (isa<BatchNormOp, PadOp>(op) && i > 0);
        return stays ? value : inLast(op, value, isa<ReshapeOp>(op) ? rankOf(value) : rank);
      });
      turnAttributes(again, rank);
    }
    again->getResult(0).setType(
        typeOf(result).clone(permuted(typeOf(result).getShape(), toChannelsLast(rank))));
    return again;
  }

  Operation *cloneWith(Operation *op, function_ref<Value(unsigned, Value)> operand) {
    SmallVector<Value> operands;
    for (auto [i, value] : llvm::enumerate(op->getOperands()))
      operands.push_back(operand(i, value));
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    return copy;
  }

  /// With the channels as one more dimension of the images, of windows of one.
  template <typename Op>
  Operation *makeWindows(Op op) {
    const int64_t rank = rankOf(op.getResult());
    auto withChannels = [&](ArrayRef<int64_t> shape) {
      Shape more = permuted(shape, toChannelsLast(rank));
      more.insert(more.begin() + 1, 1);
      return more;
    };
    auto copy = cast<Op>(cloneWith(op, [&](unsigned, Value value) {
      return reorder.reshape(op, inLast(op, value, rank), withChannels(typeOf(value).getShape()));
    }));
    auto more = [](ArrayRef<int64_t> sizes, int64_t one) {
      Shape longer(sizes);
      longer.push_back(one);
      return longer;
    };
    copy.setWindow(more(op.getWindow(), 1));
    copy.setStrides(more(op.getStrides(), 1));
    copy.setDilations(more(op.getDilations(), 1));
    copy.setPadsLow(more(op.getPadsLow(), 0));
    copy.setPadsHigh(more(op.getPadsHigh(), 0));
    if constexpr (std::is_same_v<Op, PoolSpreadOp>)
      copy.setSizes(more(op.getSizes(), op.getType().getDimSize(1)));
    ArrayRef<int64_t> shape = op.getType().getShape();
    copy.getResult().setType(op.getType().clone(withChannels(shape)));
    return reorder.reshape(op, copy, permuted(shape, toChannelsLast(rank))).getDefiningOp();
  }

  /// The filter, which in ways back is another image in an order of its own: straight from the form
  /// that this has now.
  Value filterOf(ConvOp conv) {
    auto turn = conv.getFilter().getDefiningOp<TransposeOp>();
    Value made = turn ? last.lookup(turn.getInput()) : Value();
    if (!made)
      return conv.getFilter();
    return reorder.permute(
        conv, made, permuted(toChannelsFirst(rankOf(made)), turn.getPermutation()), "/turned");
  }

  Operation *makeConvolution(ConvOp conv) {
    PadOp pad = bordersOf(conv);
    Value image = inLast(conv, imageOf(conv), rankOf(conv.getInput()));
    Value filter = reorder.packFilter(conv, filterOf(conv), chosen.panels[conv]);
    auto copy =
        cast<ConvOp>(cloneWith(conv, [&](unsigned i, Value) { return i ? filter : image; }));
    copy.setLayout(ImageLayout::NHWC);
    if (!pad)
      return copy;
    allowSkippedBorder(conv, copy);
    Shape low(conv.getPadsLow()), high(conv.getPadsHigh());
    for (size_t i = 0; i < low.size(); ++i) {
      low[i] += pad.getLow()[i + 2];
      high[i] += pad.getHigh()[i + 2];
    }
    copy.setPadsLow(low);
    copy.setPadsHigh(high);
    return copy;
  }

  /// Its kernel reads the filter backwards.
  Operation *makeTransposed(ConvTransposeOp conv) {
    Shape order(llvm::to_vector(llvm::seq<int64_t>(0, rankOf(conv))));
    std::swap(order[0], order[1]);
    Value image = inLast(conv, conv.getInput(), rankOf(conv.getInput()));
    Value turned = reorder.permute(conv, conv.getFilter(), order, "/turned");
    Value filter = reorder.packFilter(conv, turned, chosen.panels[conv]);
    return cloneWith(conv, [&](unsigned i, Value) { return i ? filter : image; });
  }

  /// What an op says of its dimensions, in the new order.
  static void turnAttributes(Operation *op, int64_t rank) {
    Shape order = toChannelsLast(rank), back = toChannelsFirst(rank);
    llvm::TypeSwitch<Operation *>(op)
        .Case<MaxPoolOp, AvgPoolOp, LpPoolOp, BatchNormOp>(
            [](auto windowed) { windowed.setLayout(ImageLayout::NHWC); })
        .Case<ConcatOp>([&](ConcatOp joined) {
          // Where in the new order that dimension is.
          joined.setAxis(llvm::find(order, int64_t(joined.getAxis())) - order.begin());
        })
        .Case<SliceOp>([&](SliceOp box) {
          box.setStarts(permuted(box.getStarts(), order));
          box.setSizes(permuted(box.getSizes(), order));
          box.setSteps(permuted(box.getSteps(), order));
        })
        .Case<PadOp>([&](PadOp pad) {
          pad.setLow(permuted(pad.getLow(), order));
          pad.setHigh(permuted(pad.getHigh(), order));
        })
        .Case<ResizeOp>([&](ResizeOp resize) {
          SmallVector<double> scales =
              llvm::map_to_vector(order, [&](int64_t d) { return resize.getScales()[d]; });
          resize.setScales(scales);
        });
  }

  /// Uses by ops that keep their form.
  void turnUses(Operation *op) {
    Value old = op->getResult(0), made = last.lookup(old);
    builder.setInsertionPointAfterValue(made);
    for (OpOperand &use : llvm::make_early_inc_range(old.getUses())) {
      if (auto turn = dyn_cast<TransposeOp>(use.getOwner()))
        joinTranspose(turn, made);
      else if (isOfAllElements(use))
        use.set(made);
      else if (isOverChannels(use))
        reduceToChannels(use, made);
    }
    if (old.use_empty())
      return;
    builder.setInsertionPointAfterValue(made);
    old.replaceAllUsesWith(
        reorder.permute(op, made, toChannelsFirst(rankOf(old)), "/channels_first"));
  }

  /// Dimensions that stay are behind the channels again.
  void reduceToChannels(OpOperand &use, Value made) {
    Operation *op = use.getOwner();
    Value result = op->getResult(0);
    use.set(made);
    const Shape all = llvm::to_vector(llvm::seq<int64_t>(0, rankOf(made) - 1));
    const Shape shape(shapeOf(result));
    llvm::TypeSwitch<Operation *>(op).Case<ReduceSumOp, ReduceMeanOp>([&](auto reduce) {
      reduce.setAxes(all);
      reduce.setKeepDims(false);
    });
    result.setType(cast<RankedTensorType>(result.getType()).clone({shapeOf(made).back()}));
    if (rankOf(result) == int64_t(shape.size()))
      return;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(op);
    Value whole = reorder.reshape(op, result, shape);
    result.replaceAllUsesExcept(whole, whole.getDefiningOp());
  }

  /// One reorder instead of two, or none.
  void joinTranspose(TransposeOp turn, Value made) {
    builder.setInsertionPoint(turn);
    Shape joined = permuted(toChannelsFirst(rankOf(made)), turn.getPermutation());
    turn.replaceAllUsesWith(reorder.permute(turn, made, joined, ""));
    turn.erase();
  }
};

struct PropagateNHWC : gantry::impl::PropagateNHWCPassBase<PropagateNHWC> {
  using PropagateNHWCPassBase::PropagateNHWCPassBase;

  void runOnOperation() override {
    const TargetMap targets(getOperation());
    auto isWanted = [&](Operation *op) { return isOurs(targets, op); };
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      func.walk([&](ConvTransposeOp op) {
        if (isWanted(op) && !keepsFilter(op))
          replaceByConvolution(op);
      });
      func.walk([&](ConvFilterGradOp op) {
        if (!isWanted(op))
          return;
        op->setAttr(kFilterGradientAttr, UnitAttr::get(&getContext()));
        replaceByConvolution(op);
      });
      putInt8InForm(func, isWanted);
      fillPairs(func, isWanted);
      computeHalvesInF32(func, isWanted);
      Chosen chosen(targets);
      chosen.choose(func);
      Rewriter(chosen, &getContext()).run();
      readFiltersByTerms(func);
    }
  }
};
} // namespace
