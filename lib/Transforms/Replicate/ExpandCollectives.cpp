// Replaces collectives by direct exchange: slices, sums and joins with requests, which Place and
// Copy treat like all others.
//
// Every value is cut into as many chunks as there are ranks. Rank i adds up chunk i of all, in the
// order of the ranks, so the sum of an element is the same bits everywhere and in every run; then
// all ranks join the sums. Each rank sends and receives 2 (n-1)/n of the value, the least there is.
// Chunks are exchanged in pieces, so that a piece is copied while the one before it is added up.
//
// Where a library may do it, the exchange becomes the second region of a gantry.if that the library
// decides, and the first one has a part of the collective for each rank
// (docs/designs/libraries.md).

#include "gantry/Device/Topology.h"
#include "gantry/Plan/AllReducePart.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDCOLLECTIVESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// More pieces than this hide no more copies and only add commands.
static constexpr int64_t kMostPieces = 8;

namespace {
/// One gantry.all_reduce on its way.
class Exchange {
public:
  Exchange(AllReduceOp op, const Topology *library, uint64_t smallBytes, uint64_t pieceBytes)
      : op(op), library(library), builder(op), pieceBytes(std::max<uint64_t>(pieceBytes, 1)),
        type(cast<RankedTensorType>(op.getValues().front().getType())),
        isSmall(getByteSize(type) <= smallBytes) {
    llvm::append_range(devices, op.getDevices()->getAsRange<DeviceAttr>());
  }

  LogicalResult run() {
    if (op.getKind() == CombineKind::Mean && !isa<FloatType>(type.getElementType()))
      return op.emitOpError() << "takes the mean of " << type
                              << "; only floating-point numbers have one";
    SmallVector<Value> values(op.getValues());
    if (op.getKind() == CombineKind::Mean && !hasEqualShares())
      for (size_t rank = 0; rank < ranks(); ++rank)
        values[rank] = scale(values[rank], share(rank), rank, "share");
    op->replaceAllUsesWith(combine(values));
    op.erase();
    return success();
  }

private:
  size_t ranks() const { return devices.size(); }

  bool hasEqualShares() { return !op.getWeights() || llvm::all_equal(*op.getWeights()); }

  double share(size_t rank) {
    double sum = 0;
    ArrayRef<int64_t> weights = *op.getWeights();
    for (int64_t weight : weights)
      sum += double(weight);
    return double(weights[rank]) / sum;
  }

  SmallVector<Value> combine(ArrayRef<Value> values) {
    if (isSmall || ranks() == 1)
      return addEverywhere(values);
    if (!library)
      return exchange(values);
    if (std::string why = findLogical(); !why.empty()) {
      op.emitRemark() << "is done by direct exchange, not by NCCL: " << why;
      return exchange(values);
    }
    return byLibrary(values);
  }

  //===------------------------------------------------------------------===//
  // By a library
  //===------------------------------------------------------------------===//

  /// Finds the devices of the topology that are meant; gives why they cannot have the library.
  std::string findLogical() {
    llvm::SmallSet<uint32_t, 8> physical;
    for (DeviceAttr device : devices) {
      const std::string name = device.getName().shortStr();
      const LogicalDevice *found = library->find(device.getName().withDefaultTask());
      if (!found || found->name.type != DeviceType::GPU)
        return "'" + name + "' is no GPU";
      const PhysicalDevice &card = library->physical[found->physical];
      if (card.driver != Driver::cuda)
        return "'" + name + "' is run by the driver '" + std::string(driverName(card.driver)) + "'";
      if (!physical.insert(found->physical).second)
        return "'" + name + "' is on one card with another of the devices";
      if (!logical.empty() && !isSameTask(found->name, logical.front().getName()))
        return "'" + name + "' is in another process";
      logical.push_back(DeviceAttr::get(op.getContext(), found->name));
    }
    const Type element = type.getElementType();
    const std::optional<ElementType> known = elementTypeNamed(nameOf(element));
    return known && plan::AllReducePart::canAdd(*known) ? "" : "it does not add " + nameOf(element);
  }

  static bool isSameTask(const DeviceName &a, const DeviceName &b) {
    return a.job == b.job && a.replica == b.replica && a.task == b.task;
  }

  /// As element types are called, which is as MLIR prints them but for signs.
  static std::string nameOf(Type element) {
    if (auto integer = dyn_cast<IntegerType>(element))
      return (integer.isUnsigned() ? "u" : "i") + std::to_string(integer.getWidth());
    std::string name;
    llvm::raw_string_ostream(name) << element;
    return name;
  }

  /// A mean is a sum in both regions: what comes behind is the same whoever has added up.
  SmallVector<Value> byLibrary(ArrayRef<Value> values) {
    SmallVector<Type> types(ranks(), type);
    auto no = DenseElementsAttr::get(RankedTensorType::get({}, builder.getI1Type()), false);
    Value never = ConstantOp::create(builder, op.getLoc(), no);
    auto choice = IfOp::create(builder, op.getLoc(), types, never);
    choice->setAttr(kLibraryAttr, builder.getStringAttr(StringRef(plan::collectiveLibrary)));
    addRegion(choice.getThenBody(), [&] { return parts(values); });
    takesMeanInside = false;
    addRegion(choice.getElseBody(), [&] { return exchange(values); });
    takesMeanInside = true;
    SmallVector<Value> results(choice.getResults());
    if (isEqualMean())
      for (size_t rank = 0; rank < ranks(); ++rank)
        results[rank] = scale(results[rank], 1.0 / double(ranks()), rank, "mean");
    return results;
  }

  void addRegion(Region &region, function_ref<SmallVector<Value>()> make) {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&region);
    SmallVector<Value> made = make();
    YieldOp::create(builder, op.getLoc(), made);
  }

  SmallVector<Value> parts(ArrayRef<Value> values) {
    SmallVector<Attribute> all(logical.begin(), logical.end());
    SmallVector<Value> results;
    for (size_t rank = 0; rank < ranks(); ++rank) {
      auto part = AllReduceOp::create(builder, op.getLoc(), TypeRange(type), values[rank],
                                      CombineKindAttr::get(op.getContext(), CombineKind::Sum),
                                      builder.getArrayAttr(all), DenseI64ArrayAttr());
      part->setAttr(kRankAttr, builder.getI64IntegerAttr(rank));
      results.push_back(place(part, rank, "part"));
      part->setAttr(kDeviceAttr, logical[rank]);
    }
    return results;
  }

  //===------------------------------------------------------------------===//
  // By ops
  //===------------------------------------------------------------------===//

  bool isEqualMean() {
    return op.getKind() == CombineKind::Mean && hasEqualShares() && ranks() > 1;
  }

  /// Makes an op a rank's. Names say what it is for and where.
  Value place(Operation *made, size_t rank, const Twine &what) {
    made->setAttr(kDeviceAttr, devices[rank]);
    for (StringRef attr : {kSoftAttr, kOriginAttr})
      if (Attribute given = op->getAttr(attr))
        made->setAttr(attr, given);
    if (auto name = op->getAttrOfType<StringAttr>(kNameAttr))
      made->setAttr(kNameAttr, builder.getStringAttr(name.getValue() + "/" + what + "/replica_" +
                                                     Twine(rank)));
    return made->getResult(0);
  }

  Value scale(Value value, double factor, size_t rank, const Twine &what) {
    auto element = cast<FloatType>(type.getElementType());
    APFloat number(factor);
    bool inexact;
    number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    Value constant = ConstantOp::create(
        builder, op.getLoc(), DenseElementsAttr::get(RankedTensorType::get({}, element), number));
    return place(MulOp::create(builder, op.getLoc(), value.getType(), value, constant), rank, what);
  }

  Value add(ArrayRef<Value> values, size_t rank, const Twine &what) {
    Value sum = values.front();
    if (values.size() > 1)
      sum = place(AddNOp::create(builder, op.getLoc(), sum.getType(), values), rank, what);
    if (isEqualMean() && takesMeanInside)
      sum = scale(sum, 1.0 / double(ranks()), rank, what + "/mean");
    return sum;
  }

  SmallVector<Value> addEverywhere(ArrayRef<Value> values) {
    SmallVector<Value> results;
    for (size_t rank = 0; rank < ranks(); ++rank)
      results.push_back(add(values, rank, "sum"));
    return results;
  }

  Value flatten(Value value) {
    auto flat = RankedTensorType::get({type.getNumElements()}, type.getElementType());
    return type == flat ? value : ReshapeOp::create(builder, op.getLoc(), flat, value).getResult();
  }

  Value cut(Value value, int64_t begin, int64_t size, size_t rank, const Twine &what) {
    auto part = RankedTensorType::get({size}, type.getElementType());
    return place(SliceOp::create(builder, op.getLoc(), part, value, ArrayRef<int64_t>{begin},
                                 ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1}),
                 rank, what);
  }

  SmallVector<Value> exchange(ArrayRef<Value> values) {
    SmallVector<Value> flat;
    for (Value value : values)
      flat.push_back(flatten(value));
    SmallVector<Value> sums;
    int64_t elements = type.getNumElements(), each = llvm::divideCeil(elements, ranks());
    for (size_t rank = 0; rank < ranks(); ++rank) {
      int64_t begin = std::min<int64_t>(elements, rank * each);
      int64_t end = std::min(elements, begin + each);
      addChunk(flat, begin, end, rank, sums);
    }
    SmallVector<Value> results;
    for (size_t rank = 0; rank < ranks(); ++rank) {
      auto whole = cast<RankedTensorType>(flat.front().getType());
      Value joined =
          place(ConcatOp::create(builder, op.getLoc(), whole, sums, /*axis=*/0), rank, "join");
      results.push_back(joined.getType() == type
                            ? joined
                            : ReshapeOp::create(builder, op.getLoc(), type, joined).getResult());
    }
    return results;
  }

  /// The sums of a rank's chunk, piece by piece.
  void addChunk(ArrayRef<Value> flat, int64_t begin, int64_t end, size_t rank,
                SmallVectorImpl<Value> &sums) {
    if (begin == end)
      return;
    uint64_t bytes =
        getByteSize(type) / std::max<int64_t>(type.getNumElements(), 1) * (end - begin);
    int64_t pieces = std::clamp<int64_t>(bytes / pieceBytes, 1, kMostPieces);
    int64_t each = llvm::divideCeil(end - begin, pieces);
    for (int64_t at = begin; at < end; at += each) {
      std::string piece = std::to_string(sums.size());
      SmallVector<Value> parts;
      for (auto [from, value] : llvm::enumerate(flat))
        parts.push_back(cut(value, at, std::min(each, end - at), from, "chunk_" + piece));
      sums.push_back(add(parts, rank, "sum_" + piece));
    }
  }

  AllReduceOp op;
  const Topology *library; ///< where a library may do it; null: nowhere
  OpBuilder builder;
  uint64_t pieceBytes;
  RankedTensorType type;
  bool isSmall;
  SmallVector<DeviceAttr> devices; ///< by rank, as they were asked for
  SmallVector<DeviceAttr> logical; ///< by rank, of the topology
  bool takesMeanInside = true;     ///< of the exchange
};

struct ExpandCollectives : gantry::impl::ExpandCollectivesPassBase<ExpandCollectives> {
  using ExpandCollectivesPassBase::ExpandCollectivesPassBase;

  void runOnOperation() override {
    SmallVector<AllReduceOp> ops;
    getOperation().walk([&](AllReduceOp op) {
      if (!op->hasAttr(kRankAttr))
        ops.push_back(op);
    });
    std::optional<Topology> topology;
    if (!ops.empty() &&
        TargetsAttr::of(getOperation()).asksForLibrary(StringRef(plan::collectiveLibrary)))
      topology = getTopology(getOperation()->getParentOfType<ModuleOp>());
    for (AllReduceOp op : ops)
      if (failed(Exchange(op, topology ? &*topology : nullptr, smallBytes, pieceBytes).run()))
        return signalPassFailure();
  }
};
} // namespace
