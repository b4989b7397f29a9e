// What devices of several tasks do together: verifiers, and what the ops tell of their members.

#include "gantry/Dialect/Gantry/IR/Collectives.h"

#include "InferTypes.h"
#include "gantry/Device/Task.h"
#include "gantry/Dialect/Gantry/IR/Assembly.h"
#include "gantry/Support/PartsTree.h"

#include <numeric>
#include <set>

using namespace mlir;
using namespace gantry;

ParseResult gantry::parseExchangeKind(OpAsmParser &parser, ExchangeKindAttr &kind) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef word;
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<ExchangeKind> known = symbolizeExchangeKind(word);
  if (!known)
    return parser.emitError(loc)
           << "exchange '" << word
           << "' is not known; known are message, all_gather, all_to_all, broadcast";
  kind = ExchangeKindAttr::get(parser.getContext(), *known);
  return success();
}

void gantry::printExchangeKind(OpAsmPrinter &printer, Operation *, ExchangeKindAttr kind) {
  printer << stringifyExchangeKind(kind.getValue());
}

#include "gantry/Dialect/Gantry/IR/SeveralDevicesEnums.cpp.inc"
#include "gantry/Dialect/Gantry/IR/SeveralDevicesInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "gantry/Dialect/Gantry/IR/CollectiveOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

ArrayAttr ExchangeOp::getMemberDevices() { return getDevices(); }
void ExchangeOp::setMemberDevices(ArrayAttr devices) { setDevicesAttr(devices); }

unsigned ExchangeOp::getMemberOfResult(unsigned result) {
  return getKind() == ExchangeKind::Broadcast ? result + 1 : result;
}

int64_t ExchangeOp::countRows() {
  int64_t count = 0;
  for (size_t member = 0; member < countMembers(); ++member)
    count += countRows(member);
  return count;
}

static int64_t elementsOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getNumElements();
}

SmallVector<int64_t> ExchangeOp::getSizes() {
  if (getKind() != ExchangeKind::AllToAll)
    return llvm::map_to_vector(getValues(), elementsOf);
  const int64_t all = countRows();
  return llvm::map_to_vector(getResults(), [&](Value result) { return elementsOf(result) / all; });
}

/// Each of a task of its own, and as many operands and results as the kind has.
static LogicalResult verifyMembers(ExchangeOp op) {
  if (op.getKind() == ExchangeKind::Message)
    return op.emitOpError() << "is no message, which is a gantry.copy";
  const size_t members = op.countMembers();
  if (members < 2)
    return op.emitOpError() << "is between two devices at least, got " << members;
  std::set<TaskName> tasks;
  for (DeviceAttr device : op.getDevices().getAsRange<DeviceAttr>())
    if (!tasks.insert(taskOf(device.getName())).second)
      return op.emitOpError() << "has two members in '" << taskOf(device.getName()).shortStr()
                              << "'; each is of a task of its own";
  const bool isBroadcast = op.getKind() == ExchangeKind::Broadcast;
  const size_t operands = isBroadcast ? 1 : members, results = isBroadcast ? members - 1 : members;
  if (op.getValues().size() != operands || op.getResults().size() != results)
    return op.emitOpError() << "of " << members << " members takes " << operands << " and gives "
                            << results << ", got " << op.getValues().size() << " and "
                            << op.getResults().size();
  return success();
}

/// Flat, of static sizes, and of one type of elements.
static LogicalResult verifyTypes(ExchangeOp op) {
  const Type element = getElementTypeOrSelf(op.getValues().front().getType());
  for (Type each : llvm::concat<Type>(llvm::to_vector(op.getValues().getTypes()),
                                      llvm::to_vector(op.getResultTypes()))) {
    auto type = cast<RankedTensorType>(each);
    if (type.getRank() != 1 || !type.hasStaticShape() || type.getElementType() != element)
      return op.emitOpError() << "moves flat values of " << element
                              << " whose sizes are known, got " << type;
  }
  return success();
}

static LogicalResult verifyRows(ExchangeOp op) {
  if (!op.getRows())
    return success();
  if (op.getKind() != ExchangeKind::AllToAll)
    return op.emitOpError() << "has rows; only those of an all_to_all are cut into chunks";
  if (op.getRows()->size() != op.countMembers() ||
      llvm::any_of(*op.getRows(), [](int64_t rows) { return rows < 1; }))
    return op.emitOpError() << "needs a number of rows for each member, at least 1";
  return success();
}

static LogicalResult verifySizes(ExchangeOp op) {
  const SmallVector<int64_t> sizes = op.getSizes();
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
  const bool isAllToAll = op.getKind() == ExchangeKind::AllToAll;
  for (auto [member, value] : llvm::enumerate(op.getValues()))
    if (int64_t wanted = op.countRows(member) * sum; isAllToAll && elementsOf(value) != wanted)
      return op.emitOpError() << "member " << member << " brings " << elementsOf(value)
                              << " elements; its rows of all chunks have " << wanted;
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    if (int64_t wanted = isAllToAll ? op.countRows() * sizes[i] : sum; elementsOf(result) != wanted)
      return op.emitOpError() << "member " << op.getMemberOfResult(i) << " gets "
                              << elementsOf(result) << " elements; expected " << wanted;
  return success();
}

LogicalResult ExchangeOp::verify() {
  return success(succeeded(verifyMembers(*this)) && succeeded(verifyTypes(*this)) &&
                 succeeded(verifyRows(*this)) && succeeded(verifySizes(*this)));
}

//===----------------------------------------------------------------------===//
// Sums of rows
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static LogicalResult inferAddRows(Adaptor op, StringRef name, infer::Loc loc, infer::Types &types) {
  auto rows = cast<RankedTensorType>(op.getRows().getType());
  if (rows.getRank() == 0 || rows.getDimSize(0) == 0)
    return infer::fail(loc, name, "adds up at least one row, got ", infer::text(rows.getShape()));
  return infer::push(types, rows.getShape().drop_front(), rows.getElementType());
}
GANTRY_INFER(AddRowsOp, inferAddRows)

static constexpr int64_t kMostParts = 1 << 20;

/// Takes the sums from the front of `parts` that are `range` together; false where they are not
/// whole subtrees.
static bool takeSubtrees(ArrayRef<int64_t> &parts, PartRange range) {
  if (parts.empty())
    return false;
  if (parts.front() == int64_t(range.size)) {
    parts = parts.drop_front();
    return true;
  }
  return !range.isPart() && takeSubtrees(parts, range.first()) &&
         takeSubtrees(parts, range.second());
}

LogicalResult AddRowsOp::verify() {
  std::optional<ArrayRef<int64_t>> parts = getParts();
  if (!parts)
    return success();
  const auto rows = cast<RankedTensorType>(getRows().getType()).getDimSize(0);
  if (int64_t(parts->size()) != rows)
    return emitOpError() << "has the parts of " << parts->size() << " rows, got " << rows;
  int64_t count = 0;
  for (int64_t part : *parts) {
    if (part < 1 || part > kMostParts)
      return emitOpError() << "has a row of " << part << " parts; expected 1 to " << kMostParts;
    count += part;
  }
  ArrayRef<int64_t> rest = *parts;
  if (!takeSubtrees(rest, {0, size_t(count)}) || !rest.empty())
    return emitOpError() << "rows are no whole subtrees of the tree over " << count << " parts";
  return success();
}
