// Replaces collectives by direct exchange: slices, sums and joins with requests, which Place and
// Copy treat like all others.
//
// Every value is cut into as many chunks as there are ranks. Rank i adds up chunk i of all, in the
// order of the ranks, so the sum of an element is the same bits everywhere and in every run; then
// all ranks join the sums. Each rank sends and receives 2 (n-1)/n of the value, the least there is.
// Chunks are exchanged in pieces, so that a piece is copied while the one before it is added up.
//
// The values of parts are added in a balanced tree over their numbers, which is the same whoever
// has which of them. Of the sums in it a device makes those of which it has all values, each as
// soon as its values are there; these sums are what is exchanged, and the tree above them is done
// chunk by chunk.
//
// Between many tasks of a job that would be ranks times ranks copies. There the sum goes along a
// chain instead: each rank adds its value to what the one before it sends, piece by piece, and the
// sums come back the same way. The order of the sum and so its bits are the same, and the ops are
// as many as there are ranks.
//
// Where a library may do it, the exchange becomes the second region of a gantry.if that the library
// decides, and the first one has a part of the collective for each rank
// (docs/designs/libraries.md).

#include "PartsTree.h"

#include "gantry/Device/Topology.h"
#include "gantry/Plan/AllReducePart.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDCOLLECTIVESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// More pieces than this hide no more copies and only add commands.
static constexpr int64_t kMostPieces = 8;

/// Ranks of several tasks that exchange with each other directly; more of them make a chain.
static constexpr size_t kMostDirect = 64;

namespace {
/// What a rank has to give: one of the values, or of a tree the sum of several.
struct Term {
  Value value;
  size_t rank;
  PartRange range; ///< the values that it is the sum of
};

/// What of trees waits on a device while the last parts are made.
struct Waiting {
  size_t values = 0, sums = 0; ///< so many sums of each value, at most
  uint64_t bytes = 0;          ///< of all of them
};

/// One gantry.all_reduce on its way.
class Exchange {
public:
  Exchange(AllReduceOp op, const Topology *library, uint64_t smallBytes, uint64_t pieceBytes)
      : op(op), library(library), builder(op), pieceBytes(std::max<uint64_t>(pieceBytes, 1)),
        type(cast<RankedTensorType>(op.getValues().front().getType())),
        isSmall(getByteSize(type) <= smallBytes) {
    for (DeviceAttr device : op.getDevices()->getAsRange<DeviceAttr>()) {
      auto known = op.getTree() ? llvm::find(devices, device) : devices.end();
      owners.push_back(known - devices.begin());
      if (known == devices.end())
        devices.push_back(device);
    }
  }

  LogicalResult run() {
    if (op.getKind() == CombineKind::Mean && !isa<FloatType>(type.getElementType()))
      return op.emitOpError() << "takes the mean of " << type
                              << "; only floating-point numbers have one";
    SmallVector<Value> values(op.getValues());
    if (op.getKind() == CombineKind::Mean && !hasEqualShares())
      for (auto [i, owner] : llvm::enumerate(owners))
        values[i] = scale(values[i], share(i), owner, op.getTree() ? "share_" + Twine(i) : "share");
    SmallVector<Value> sums = combine(values);
    for (auto [result, owner] : llvm::zip(op.getResults(), owners))
      result.replaceAllUsesWith(sums[owner]);
    op.erase();
    return success();
  }

  /// Adds what of this one waits where.
  void countWaiting(llvm::MapVector<DeviceAttr, Waiting> &waiting) {
    for (size_t i = 0; op.getTree() && i < count();) {
      size_t begin = i;
      while (i < count() && owners[i] == owners[begin])
        ++i;
      size_t sums = PartRange{0, count()}.countWaiting(begin, i);
      Waiting &own = waiting[devices[owners[begin]]];
      ++own.values;
      own.sums = std::max(own.sums, sums);
      own.bytes += sums * getByteSize(type);
    }
  }

private:
  size_t ranks() const { return devices.size(); }
  size_t count() const { return owners.size(); }

  bool hasEqualShares() { return !op.getWeights() || llvm::all_equal(*op.getWeights()); }

  double share(size_t i) {
    double sum = 0;
    ArrayRef<int64_t> weights = *op.getWeights();
    for (int64_t weight : weights)
      sum += double(weight);
    return double(weights[i]) / sum;
  }

  /// One for each rank.
  SmallVector<Value> combine(ArrayRef<Value> values) {
    if (isChain())
      return passAlong(values);
    SmallVector<Term> terms;
    if (op.getTree())
      addLocally(values, {0, count()}, terms);
    else
      for (auto [i, value] : llvm::enumerate(values))
        terms.push_back({value, i, {i, 1}});
    if (isSmall || ranks() == 1 || (op.getTree() && llvm::count(readers(), true) < 2))
      return addEverywhere(terms);
    if (!library)
      return exchange(terms);
    if (std::string why = findLogical(); !why.empty()) {
      op.emitRemark() << "is done by direct exchange, not by NCCL: " << why;
      return exchange(terms);
    }
    return byLibrary(terms);
  }

  /// Whether anything reads the results of each rank.
  SmallVector<bool> readers() {
    SmallVector<bool> read(ranks(), !op.getTree());
    for (auto [result, owner] : llvm::zip(op.getResults(), owners))
      read[owner] = read[owner] || !result.use_empty();
    return read;
  }

  //===------------------------------------------------------------------===//
  // The tree of parts
  //===------------------------------------------------------------------===//

  /// The sums that devices have for themselves, of the largest trees that they can have.
  void addLocally(ArrayRef<Value> values, PartRange range, SmallVectorImpl<Term> &terms) {
    auto having = ArrayRef(owners).slice(range.begin, range.size);
    if (!llvm::all_equal(having)) {
      addLocally(values, range.first(), terms);
      return addLocally(values, range.second(), terms);
    }
    OpBuilder::InsertionGuard guard(builder);
    terms.push_back({addRange(values, range), having.front(), range});
  }

  /// Right behind what is added, so that as few sums as possible wait for others.
  Value addRange(ArrayRef<Value> values, PartRange range) {
    if (range.isPart())
      return values[range.begin];
    Value left = addRange(values, range.first());
    Value right = addRange(values, range.second());
    insertBehind(left, right);
    // A sum of sums, which kernels keep apart (Fuse/Groups.cpp).
    return place(AddNOp::create(builder, op.getLoc(), left.getType(), ValueRange{left, right}),
                 owners[range.begin], nameOf(range));
  }

  static std::string nameOf(PartRange range) {
    return "parts_" + std::to_string(range.begin) + "_to_" + std::to_string(range.end() - 1);
  }

  void insertBehind(Value left, Value right) {
    builder.setInsertionPoint(op);
    Operation *last = nullptr;
    for (Value value : {left, right})
      if (Operation *made = value.getDefiningOp(); made && made->getBlock() == op->getBlock())
        last = last && made->isBeforeInBlock(last) ? last : made;
    if (last)
      builder.setInsertionPointAfter(last);
  }

  /// The tree above the sums that ranks have, or above chunks of these.
  Value addTree(ArrayRef<Term> terms, PartRange range, size_t rank, const Twine &what) {
    for (const Term &term : terms)
      if (term.range.begin == range.begin && term.range.size == range.size)
        return term.value;
    Value left = addTree(terms, range.first(), rank, what);
    Value right = addTree(terms, range.second(), rank, what);
    return place(AddOp::create(builder, op.getLoc(), left.getType(), left, right), rank,
                 what + "/" + nameOf(range));
  }

  //===------------------------------------------------------------------===//
  // By a library
  //===------------------------------------------------------------------===//

  /// Finds the devices of the topology that are meant; gives why they cannot have the library.
  std::string findLogical() {
    if (op.getTree())
      return "parts are added in an order of their own";
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
  SmallVector<Value> byLibrary(ArrayRef<Term> terms) {
    SmallVector<Type> types(ranks(), type);
    auto no = DenseElementsAttr::get(RankedTensorType::get({}, builder.getI1Type()), false);
    Value never = ConstantOp::create(builder, op.getLoc(), no);
    auto choice = IfOp::create(builder, op.getLoc(), types, never);
    choice->setAttr(kLibraryAttr, builder.getStringAttr(StringRef(plan::collectiveLibrary)));
    addRegion(choice.getThenBody(), [&] { return parts(terms); });
    takesMeanInside = false;
    addRegion(choice.getElseBody(), [&] { return exchange(terms); });
    takesMeanInside = true;
    SmallVector<Value> results(choice.getResults());
    if (isEqualMean())
      for (size_t rank = 0; rank < ranks(); ++rank)
        results[rank] = scale(results[rank], 1.0 / double(count()), rank, "mean");
    return results;
  }

  void addRegion(Region &region, function_ref<SmallVector<Value>()> make) {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&region);
    SmallVector<Value> made = make();
    YieldOp::create(builder, op.getLoc(), made);
  }

  SmallVector<Value> parts(ArrayRef<Term> terms) {
    SmallVector<Attribute> all(logical.begin(), logical.end());
    SmallVector<Value> results;
    for (size_t rank = 0; rank < ranks(); ++rank) {
      auto part =
          AllReduceOp::create(builder, op.getLoc(), TypeRange(type), terms[rank].value,
                              CombineKind::Sum, builder.getArrayAttr(all), DenseI64ArrayAttr(),
                              /*tree=*/false);
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
    return op.getKind() == CombineKind::Mean && hasEqualShares() && count() > 1;
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

  Value add(ArrayRef<Term> terms, size_t rank, const Twine &what) {
    Value sum = terms.front().value;
    if (op.getTree()) {
      sum = addTree(terms, {0, count()}, rank, what);
    } else if (terms.size() > 1) {
      auto values = llvm::map_to_vector(terms, [](const Term &term) { return term.value; });
      sum = place(AddNOp::create(builder, op.getLoc(), sum.getType(), values), rank, what);
    }
    if (isEqualMean() && takesMeanInside)
      sum = scale(sum, 1.0 / double(count()), rank, what + "/mean");
    return sum;
  }

  SmallVector<Value> addEverywhere(ArrayRef<Term> terms) {
    SmallVector<Value> results;
    for (auto [rank, isRead] : llvm::enumerate(readers()))
      results.push_back(isRead ? add(terms, rank, "sum") : terms.front().value);
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

  /// Numbers that are rounded after each addition have the same sum in one op and in many.
  bool isChain() {
    const Type element = type.getElementType();
    const bool isRoundedOnce = element.isF16() || element.isBF16();
    return ranks() > kMostDirect && !op.getTree() && !isRoundedOnce &&
           taskOf(devices.front().getName()) != taskOf(devices.back().getName());
  }

  SmallVector<Value> passAlong(ArrayRef<Value> values) {
    SmallVector<Value> flat;
    for (Value value : values)
      flat.push_back(flatten(value));
    const int64_t elements = type.getNumElements(), each = sizeOfPiece(elements);
    SmallVector<SmallVector<Value>> sums(ranks()); // by rank, then piece
    for (int64_t begin = 0; begin < std::max<int64_t>(elements, 1); begin += each) {
      const int64_t size = std::min(each, elements - begin);
      const std::string piece = std::to_string(sums.front().size());
      auto partOf = [&](size_t rank) {
        return size == elements ? flat[rank] : cut(flat[rank], begin, size, rank, "piece_" + piece);
      };
      Value sum = partOf(0);
      for (size_t rank = 1; rank < ranks(); ++rank)
        sum = place(
            AddNOp::create(builder, op.getLoc(), sum.getType(), ValueRange{sum, partOf(rank)}),
            rank, "sum_" + piece);
      if (isEqualMean())
        sum = scale(sum, 1.0 / double(ranks()), ranks() - 1, "mean_" + piece);
      for (size_t rank = ranks(); rank-- > 0;) {
        if (rank + 1 < ranks())
          sum = CopyOp::create(builder, op.getLoc(), sum, devices[rank], /*force=*/false,
                               /*cause=*/StringAttr());
        sums[rank].push_back(sum);
      }
    }
    SmallVector<Value> results;
    for (auto [rank, pieces] : llvm::enumerate(sums))
      results.push_back(join(pieces, rank));
    return results;
  }

  /// How many of so many elements are one piece.
  int64_t sizeOfPiece(int64_t elements) const {
    uint64_t bytes = getByteSize(type) / std::max<int64_t>(type.getNumElements(), 1) * elements;
    int64_t pieces = std::clamp<int64_t>(bytes / pieceBytes, 1, kMostPieces);
    return std::max<int64_t>(llvm::divideCeil(elements, pieces), 1);
  }

  /// A rank's whole value.
  Value join(ArrayRef<Value> pieces, size_t rank) {
    auto whole = RankedTensorType::get({type.getNumElements()}, type.getElementType());
    Value joined = pieces.front();
    if (pieces.size() > 1)
      joined =
          place(ConcatOp::create(builder, op.getLoc(), whole, pieces, /*axis=*/0), rank, "join");
    return joined.getType() == type
               ? joined
               : ReshapeOp::create(builder, op.getLoc(), type, joined).getResult();
  }

  SmallVector<Value> exchange(ArrayRef<Term> terms) {
    SmallVector<Term> flat(terms);
    for (Term &term : flat)
      term.value = flatten(term.value);
    SmallVector<Value> sums;
    int64_t elements = type.getNumElements(), each = llvm::divideCeil(elements, ranks());
    for (size_t rank = 0; rank < ranks(); ++rank) {
      int64_t begin = std::min<int64_t>(elements, rank * each);
      int64_t end = std::min(elements, begin + each);
      addChunk(flat, begin, end, rank, sums);
    }
    SmallVector<Value> results;
    for (size_t rank = 0; rank < ranks(); ++rank)
      results.push_back(join(sums, rank));
    return results;
  }

  /// The sums of a rank's chunk, piece by piece.
  void addChunk(ArrayRef<Term> flat, int64_t begin, int64_t end, size_t rank,
                SmallVectorImpl<Value> &sums) {
    const int64_t each = sizeOfPiece(end - begin);
    for (int64_t at = begin; at < end; at += each) {
      std::string piece = std::to_string(sums.size());
      SmallVector<Term> parts(flat);
      for (Term &part : parts)
        part.value = cut(part.value, at, std::min(each, end - at), part.rank, "chunk_" + piece);
      sums.push_back(add(parts, rank, "sum_" + piece));
    }
  }

  AllReduceOp op;
  const Topology *library; ///< where a library may do it; null: nowhere
  OpBuilder builder;
  uint64_t pieceBytes;
  RankedTensorType type;
  bool isSmall;
  SmallVector<DeviceAttr> devices; ///< by rank, as they were asked for; of a tree each once
  SmallVector<size_t> owners;      ///< for each value the rank that has it
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
    llvm::MapVector<DeviceAttr, Waiting> waiting;
    for (AllReduceOp op : ops) {
      Exchange exchange(op, topology ? &*topology : nullptr, smallBytes, pieceBytes);
      exchange.countWaiting(waiting);
      if (failed(exchange.run()))
        return signalPassFailure();
    }
    tell(waiting);
  }

  /// Of the device where the most waits.
  void tell(const llvm::MapVector<DeviceAttr, Waiting> &waiting) {
    auto most = llvm::max_element(
        waiting, [](const auto &a, const auto &b) { return a.second.bytes < b.second.bytes; });
    if (most == waiting.end() || most->second.bytes == 0)
      return;
    const auto &[device, own] = *most;
    getOperation().emitRemark() << "what parts give is added in a tree: on '"
                                << device.getName().shortStr() << "' up to " << own.sums
                                << " sums of each of " << own.values << " values wait for others, "
                                << formatBytes(own.bytes) << " in all";
  }
};
} // namespace
