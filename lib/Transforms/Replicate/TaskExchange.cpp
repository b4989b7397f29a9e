// An all-reduce of devices in several tasks, by exchanges between the first ones of the tasks.
//
// Each brings the values of its task as rows. An all-to-all gives everyone the rows of its own
// chunk, which are added in the order of the replicas, or in the tree of parts: the bits of one
// process. An all-gather gives everyone the sums. So each task sends and receives 2 (n-1)/n of the
// value for each of its devices, and there are as many ops as devices. Chunks are whole cache
// lines, and the last ones are smaller or empty. Little is gathered at once, and everyone adds.

#include "CollectiveBuilder.h"

#include "gantry/Dialect/Gantry/IR/Collectives.h"
#include "gantry/Support/Bytes.h"

#include <numeric>

using namespace mlir;
using namespace gantry;

/// Chunks are multiples of so many bytes.
static constexpr int64_t kLine = 64;

namespace {
/// What a task brings.
struct Member {
  size_t lead; ///< the rank that brings it
  SmallVector<Value> rows;
};

class TaskExchange {
public:
  TaskExchange(CollectiveBuilder &collective, ArrayRef<Addend> terms, ArrayRef<uint32_t> taskOf)
      : collective(collective), builder(collective.builder), loc(collective.op.getLoc()),
        element(collective.type.getElementType()), elements(collective.type.getNumElements()),
        taskOf(taskOf) {
    for (const Addend &term : terms) {
      if (members.empty() || taskOf[members.back().lead] != taskOf[term.rank])
        members.push_back({term.rank, {}});
      members.back().rows.push_back(collective.flatten(term.value));
      parts.push_back(term.range.size);
    }
  }

  SmallVector<Value> run(uint64_t gatherBytes) {
    const SmallVector<Value> sums =
        parts.size() * getByteSize(collective.type) < gatherBytes ? gather() : exchange();
    SmallVector<Value> byTask(members.size());
    for (auto [member, sum] : llvm::zip(members, sums))
      byTask[taskOf[member.lead]] = collective.reshape(sum, collective.type.getShape());
    return llvm::map_to_vector(taskOf, [&](uint32_t task) { return byTask[task]; });
  }

private:
  SmallVector<Value> gather() {
    SmallVector<Value> brought;
    for (const Member &member : members)
      brought.push_back(collective.concat(member.rows, member.lead, "rows"));
    const int64_t all = parts.size() * elements;
    SmallVector<Value> rows =
        make(ExchangeKind::AllGather, brought, SmallVector<int64_t>(members.size(), all));
    return llvm::map_to_vector(llvm::seq(members.size()),
                               [&](size_t i) { return addRows(rows[i], elements, i); });
  }

  SmallVector<Value> exchange() {
    const int64_t line = std::max<int64_t>(kLine / (element.getIntOrFloatBitWidth() / 8), 1);
    const int64_t chunk = llvm::alignTo(llvm::divideCeil(elements, members.size()), line);
    SmallVector<int64_t> sizes, received;
    for (size_t i = 0; i < members.size(); ++i) {
      sizes.push_back(std::clamp<int64_t>(elements - int64_t(i) * chunk, 0, chunk));
      received.push_back(sizes.back() * int64_t(parts.size()));
    }
    SmallVector<Value> brought;
    for (const Member &member : members)
      brought.push_back(arrange(member, chunk));
    SmallVector<Value> sums = make(ExchangeKind::AllToAll, brought, received);
    for (auto [i, sum] : llvm::enumerate(sums))
      if (sizes[i] != 0)
        sum = addRows(sum, sizes[i], i);
    return make(ExchangeKind::AllGather, sums, SmallVector<int64_t>(members.size(), elements));
  }

  /// Of each chunk the rows, one behind the other.
  Value arrange(const Member &member, int64_t chunk) {
    const int64_t count = member.rows.size(), whole = elements / chunk * chunk;
    if (count == 1)
      return member.rows.front();
    const size_t lead = member.lead;
    Value rows =
        collective.reshape(collective.concat(member.rows, lead, "rows"), {count, elements});
    SmallVector<Value> arranged;
    if (whole != 0) {
      Value cut = whole == elements ? rows : collective.cut(rows, 0, whole, lead, "chunks");
      cut = collective.reshape(cut, {count, whole / chunk, chunk});
      cut = collective.place(
          TransposeOp::create(builder, loc, cut, builder.getDenseI64ArrayAttr({1, 0, 2})), lead,
          "rows_of_chunks");
      arranged.push_back(collective.flatten(cut));
    }
    if (whole != elements) {
      Value rest =
          whole == 0 ? rows : collective.cut(rows, whole, elements - whole, lead, "last_chunk");
      arranged.push_back(collective.flatten(rest));
    }
    return collective.concat(arranged, lead, "chunks_of_rows");
  }

  Value addRows(Value flat, int64_t size, size_t member) {
    const size_t lead = members[member].lead;
    Value rows = collective.reshape(flat, {int64_t(parts.size()), size});
    DenseI64ArrayAttr tree;
    if (collective.op.getTree())
      tree = builder.getDenseI64ArrayAttr(parts);
    Value sum = collective.place(AddRowsOp::create(builder, loc, rows, tree), lead, "sum");
    return collective.isEqualMean()
               ? collective.scale(sum, 1.0 / double(collective.count()), lead, "mean")
               : sum;
  }

  /// The copies are where Place sees which device a member is.
  SmallVector<Value> make(ExchangeKind kind, ArrayRef<Value> brought, ArrayRef<int64_t> received) {
    SmallVector<Value> values;
    SmallVector<Attribute> devices;
    SmallVector<int64_t> rows;
    for (auto [member, value] : llvm::zip(members, brought)) {
      DeviceAttr device = collective.devices[member.lead];
      auto copy = CopyOp::create(builder, loc, value, device, /*force=*/false,
                                 /*cause=*/StringAttr());
      collective.inheritSoftness(copy);
      values.push_back(copy);
      devices.push_back(device);
      rows.push_back(member.rows.size());
    }
    const bool hasRows =
        kind == ExchangeKind::AllToAll && llvm::any_of(rows, [](int64_t n) { return n != 1; });
    auto types = llvm::map_to_vector(
        received, [&](int64_t size) -> Type { return RankedTensorType::get({size}, element); });
    auto made =
        ExchangeOp::create(builder, loc, types, ExchangeKindAttr::get(builder.getContext(), kind),
                           values, builder.getArrayAttr(devices),
                           hasRows ? builder.getDenseI64ArrayAttr(rows) : DenseI64ArrayAttr());
    if (auto name = collective.op->getAttrOfType<StringAttr>(kNameAttr))
      made->setAttr(kNameAttr,
                    builder.getStringAttr(name.getValue() + "/" + stringifyExchangeKind(kind)));
    return llvm::to_vector(ValueRange(made.getResults()));
  }

  CollectiveBuilder &collective;
  OpBuilder &builder;
  Location loc;
  Type element;
  int64_t elements;
  ArrayRef<uint32_t> taskOf;
  SmallVector<Member> members;
  SmallVector<int64_t> parts; ///< by row, of how many values it is the sum
};
} // namespace

SmallVector<Value> gantry::exchangeBetweenTasks(CollectiveBuilder &collective,
                                                ArrayRef<Addend> terms, ArrayRef<uint32_t> taskOf,
                                                uint64_t gatherBytes) {
  return TaskExchange(collective, terms, taskOf).run(gatherBytes);
}
