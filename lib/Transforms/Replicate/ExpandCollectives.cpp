// Replaces collectives by direct exchange: slices, sums and joins with requests, which Place and
// Copy treat like all others.
//
// Every value is cut into as many chunks as there are ranks. Rank i adds up chunk i of all, in the
// order of the ranks, so the sum of an element is the same bits everywhere and in every run; then
// all ranks join the sums. Each rank sends and receives 2 (n-1)/n of the value, the least there is.
// Chunks are exchanged in pieces, so that a piece is copied while the one before it is added up.

#include "gantry/Transforms/Passes.h"

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
  Exchange(AllReduceOp op, uint64_t smallBytes, uint64_t pieceBytes)
      : op(op), builder(op), pieceBytes(std::max<uint64_t>(pieceBytes, 1)),
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
    SmallVector<Value> results = isSmall || ranks() == 1 ? addEverywhere(values) : exchange(values);
    op->replaceAllUsesWith(results);
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
    if (op.getKind() == CombineKind::Mean && hasEqualShares() && ranks() > 1)
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
  OpBuilder builder;
  uint64_t pieceBytes;
  RankedTensorType type;
  bool isSmall;
  SmallVector<DeviceAttr> devices; ///< by rank
};

struct ExpandCollectives : gantry::impl::ExpandCollectivesPassBase<ExpandCollectives> {
  using ExpandCollectivesPassBase::ExpandCollectivesPassBase;

  void runOnOperation() override {
    SmallVector<AllReduceOp> ops;
    getOperation().walk([&](AllReduceOp op) { ops.push_back(op); });
    for (AllReduceOp op : ops)
      if (failed(Exchange(op, smallBytes, pieceBytes).run()))
        return signalPassFailure();
  }
};
} // namespace
