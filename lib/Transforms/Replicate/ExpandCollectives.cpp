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
// Devices of several tasks exchange by collectives (TaskExchange.cpp).
//
// Where a library may do it, the exchange becomes the second region of a gantry.if that the library
// decides, and the first one has a part of the collective for each rank
// (docs/designs/libraries.md).

#include "CollectiveBuilder.h"

#include "gantry/Device/Topology.h"
#include "gantry/Plan/AllReducePart.h"
#include "gantry/Support/Bytes.h"
#include "gantry/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"

#include <map>

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_EXPANDCOLLECTIVESPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// More pieces than this hide no more copies and only add commands.
static constexpr int64_t kMostPieces = 8;

namespace {
/// What of trees waits on a device while the last parts are made.
struct Waiting {
  size_t values = 0, sums = 0; ///< so many sums of each value, at most
  uint64_t bytes = 0;          ///< of all of them
};

/// In bytes.
struct Limits {
  uint64_t small, piece, gather; ///< gather: of all terms, where tasks exchange
};

/// One gantry.all_reduce on its way.
class Reduction : CollectiveBuilder {
public:
  /// `library` is the topology of devices where one may do it, `tasks` the devices of tasks that
  /// exchange; null: there are none.
  Reduction(AllReduceOp op, const Topology *library, const DenseSet<Attribute> *tasks,
            Limits limits)
      : CollectiveBuilder(op), library(library), tasks(tasks), limits(limits),
        isSmall(getByteSize(type) <= limits.small) {}

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
  double share(size_t i) {
    double sum = 0;
    ArrayRef<int64_t> weights = *op.getWeights();
    for (int64_t weight : weights)
      sum += double(weight);
    return double(weights[i]) / sum;
  }

  /// One for each rank.
  SmallVector<Value> combine(ArrayRef<Value> values) {
    SmallVector<Addend> terms;
    if (op.getTree())
      addLocally(values, {0, count()}, terms);
    else
      for (auto [i, value] : llvm::enumerate(values))
        terms.push_back({value, i, {i, 1}});
    if (SmallVector<uint32_t> taskOf = findTasks(terms); !taskOf.empty()) {
      if (library && !isSmall)
        op.emitRemark() << "is done by exchanges between tasks, not by NCCL: " << findLogical();
      return exchangeBetweenTasks(*this, terms, taskOf, limits.gather);
    }
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

  /// The task of each rank, where there are several whose terms follow each other; else nothing.
  SmallVector<uint32_t> findTasks(ArrayRef<Addend> terms) {
    SmallVector<uint32_t> taskOf;
    std::map<TaskName, uint32_t> numbers;
    for (DeviceAttr device : devices) {
      const DeviceName name = device.getName().withDefaultTask();
      if (!tasks || !tasks->contains(DeviceAttr::get(op.getContext(), name)))
        return {};
      taskOf.push_back(numbers.try_emplace(gantry::taskOf(name), numbers.size()).first->second);
    }
    SmallVector<uint32_t> order;
    for (const Addend &term : terms)
      if (order.empty() || order.back() != taskOf[term.rank])
        order.push_back(taskOf[term.rank]);
    return numbers.size() > 1 && order.size() == numbers.size() ? taskOf : SmallVector<uint32_t>();
  }

  //===------------------------------------------------------------------===//
  // The tree of parts
  //===------------------------------------------------------------------===//

  /// The sums that devices have for themselves, of the largest trees that they can have.
  void addLocally(ArrayRef<Value> values, PartRange range, SmallVectorImpl<Addend> &terms) {
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
  Value addTree(ArrayRef<Addend> terms, PartRange range, size_t rank, const Twine &what) {
    for (const Addend &term : terms)
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
  SmallVector<Value> byLibrary(ArrayRef<Addend> terms) {
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

  SmallVector<Value> parts(ArrayRef<Addend> terms) {
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

  Value add(ArrayRef<Addend> terms, size_t rank, const Twine &what) {
    Value sum = terms.front().value;
    if (op.getTree()) {
      sum = addTree(terms, {0, count()}, rank, what);
    } else if (terms.size() > 1) {
      auto values = llvm::map_to_vector(terms, [](const Addend &term) { return term.value; });
      sum = place(AddNOp::create(builder, op.getLoc(), sum.getType(), values), rank, what);
    }
    if (isEqualMean() && takesMeanInside)
      sum = scale(sum, 1.0 / double(count()), rank, what + "/mean");
    return sum;
  }

  SmallVector<Value> addEverywhere(ArrayRef<Addend> terms) {
    SmallVector<Value> results;
    for (auto [rank, isRead] : llvm::enumerate(readers()))
      results.push_back(isRead ? add(terms, rank, "sum") : terms.front().value);
    return results;
  }

  /// How many of so many elements are one piece.
  int64_t sizeOfPiece(int64_t elements) const {
    uint64_t bytes = getByteSize(type) / std::max<int64_t>(type.getNumElements(), 1) * elements;
    int64_t pieces =
        std::clamp<int64_t>(bytes / std::max<uint64_t>(limits.piece, 1), 1, kMostPieces);
    return std::max<int64_t>(llvm::divideCeil(elements, pieces), 1);
  }

  /// A rank's whole value.
  Value join(ArrayRef<Value> pieces, size_t rank) {
    return reshape(concat(pieces, rank, "join"), type.getShape());
  }

  SmallVector<Value> exchange(ArrayRef<Addend> terms) {
    SmallVector<Addend> flat(terms);
    for (Addend &term : flat)
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
  void addChunk(ArrayRef<Addend> flat, int64_t begin, int64_t end, size_t rank,
                SmallVectorImpl<Value> &sums) {
    const int64_t each = sizeOfPiece(end - begin);
    for (int64_t at = begin; at < end; at += each) {
      std::string piece = std::to_string(sums.size());
      SmallVector<Addend> parts(flat);
      for (Addend &part : parts)
        part.value = cut(part.value, at, std::min(each, end - at), part.rank, "chunk_" + piece);
      sums.push_back(add(parts, rank, "sum_" + piece));
    }
  }

  const Topology *library; ///< where a library may do it; null: nowhere
  const DenseSet<Attribute> *tasks;
  Limits limits;
  bool isSmall;
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
    if (ops.empty())
      return;
    const Topology topology = getTopology(getOperation()->getParentOfType<ModuleOp>());
    const bool asksForLibrary =
        TargetsAttr::of(getOperation()).asksForLibrary(StringRef(plan::collectiveLibrary));
    DenseSet<Attribute> tasks;
    for (const LogicalDevice &device : topology.logical)
      tasks.insert(DeviceAttr::get(&getContext(), device.name));
    llvm::MapVector<DeviceAttr, Waiting> waiting;
    for (AllReduceOp op : ops) {
      Reduction reduction(op, asksForLibrary ? &topology : nullptr, exchanges ? &tasks : nullptr,
                          {smallBytes, pieceBytes, gatherBytes});
      reduction.countWaiting(waiting);
      if (failed(reduction.run()))
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
