// Makes indices that are out of range end the run.
//
// Kernels clamp indices and give nothing back to say so. So a check is a value: the first index
// that is out of range, and its position, computed where the indices are and read on the host,
// which ends the run. Nothing that the graph computes depends on it.
//
// A check stands in the block of the op that reads the indices, as early as these are there: it
// runs exactly when the op does, and what it may have to hold back comes later.

#include "Indices.h"
#include "gantry/Analysis/Homes.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Dialect/Gantry/IR/Views.h"
#include "gantry/Transforms/Passes.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_INSERTINDEXCHECKSPASS
#include "gantry/Transforms/Passes.h.inc"
} // namespace gantry

/// `value` before casts that keep every index, views and copies, which have the same elements in
/// the same order.
static Value sourceOf(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    auto cast = dyn_cast<CastOp>(op);
    bool keeps = cast && cast.getInput().getType().getElementType().isInteger(32) &&
                 cast.getType().getElementType().isInteger(64);
    if (!keeps && !isView(op) && !isa<CopyOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The argument when the caller gives it; variables and what loops carry are nobody's to give.
static BlockArgument givenByCaller(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto func =
      argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  return func && !func.getArgAttr(argument.getArgNumber(), kVariableAttr) ? argument
                                                                          : BlockArgument();
}

namespace {
/// One function.
class Inserter {
public:
  /// False when an index was refused.
  bool run(Block &block) {
    size_t before = checks.size();
    // Those of the block itself stand in front of what its regions read.
    for (Operation &op : llvm::make_early_inc_range(block))
      if (auto reader = dyn_cast<IndexingOpInterface>(op))
        visit(reader);
    for (Operation &op : block)
      for (Region &region : op.getRegions())
        if (!region.empty())
          run(region.front());
    // Others do not come by here.
    checks.resize(before);
    return !refused;
  }

private:
  struct Check {
    Value indices;
    SmallVector<int64_t> sizes;
    bool operator==(const Check &) const = default;
  };

  void visit(IndexingOpInterface reader) {
    IndexState state = judgeIndices(reader);
    refused |= state == IndexState::refused;
    if (state != IndexState::unknown)
      return;
    Check check{indicesOf(reader), reader.getIndexedSizes()};
    BlockArgument given = givenByCaller(sourceOf(check.indices));
    // It is told in the caller's shape, in which tuples have to be tuples, too.
    if (given && check.sizes.size() > 1 &&
        (shapeOf(given).empty() || shapeOf(given).back() != int64_t(check.sizes.size())))
      given = {};
    if (given)
      check.indices = given;
    if (llvm::is_contained(checks, check))
      return;
    insert(reader, check, given);
    checks.push_back(std::move(check));
  }

  void insert(Operation *reader, const Check &check, BlockArgument given) {
    OpBuilder builder(reader);
    setInsertionPoint(builder, reader->getBlock(), check.indices);
    auto first = FirstBadIndexOp::create(builder, reader->getLoc(), check.indices, check.sizes);
    auto name = reader->getAttrOfType<StringAttr>(kNameAttr);
    StringAttr own =
        name ? builder.getStringAttr(name.getValue() + "/first_bad_index") : StringAttr();
    if (own)
      first->setAttr(kNameAttr, own);
    if (given)
      first->setAttr(kDeviceAttr,
                     requestOfArgument(cast<func::FuncOp>(given.getOwner()->getParentOp()),
                                       given.getArgNumber()));
    else
      stayWith(companionOf(reader, check.indices), first);
    auto end = AssertIndicesOp::create(builder, reader->getLoc(), first, nameOfValue(check.indices),
                                       shapeOf(check.indices), check.sizes,
                                       name ? name.getValue() : "", sourceOpOf(reader), StringAttr());
    if (name)
      end->setAttr(kNameAttr, name);
    last[keyOf(reader->getBlock(), check.indices)] = end;
  }

  /// Right behind the indices when the block makes them, else at its begin; checks of one place in
  /// the order of their readers.
  void setInsertionPoint(OpBuilder &builder, Block *block, Value indices) {
    if (Operation *before = last.lookup(keyOf(block, indices)))
      return builder.setInsertionPointAfter(before);
    if (indices.getParentBlock() == block)
      return builder.setInsertionPointAfterValue(indices);
    builder.setInsertionPointToStart(block);
  }

  static void *keyOf(Block *block, Value indices) {
    Operation *maker = indices.getDefiningOp();
    return maker && maker->getBlock() == block ? static_cast<void *>(maker) : block;
  }

  /// Who is where the check is to be: what makes the indices, so that nothing but the answer is
  /// copied; else who reads them.
  static Operation *companionOf(Operation *reader, Value indices) {
    Operation *maker = skipViews(indices).getDefiningOp();
    auto kernel = dyn_cast_if_present<KernelOpInterface>(maker);
    return kernel && kernel.getFusionKind() != FusionKind::Generator ? maker : reader;
  }

  /// Both go to one device, as ops that share a name of a group do.
  static void stayWith(Operation *companion, Operation *check) {
    auto groups = companion->getAttrOfType<ArrayAttr>(kColocateAttr);
    if (!groups) {
      auto name = companion->getAttrOfType<StringAttr>(kNameAttr);
      auto func = companion->getParentOfType<func::FuncOp>();
      std::string group = ("'" + (name ? name.getValue() : "") + "' of '@" + func.getSymName() +
                           "' and a check of indices")
                              .str();
      groups = Builder(check->getContext()).getStrArrayAttr(StringRef(group));
      companion->setAttr(kColocateAttr, groups);
    }
    check->setAttr(kColocateAttr, groups);
  }

  SmallVector<Check> checks;          ///< on the way to where we are
  DenseMap<void *, Operation *> last; ///< check behind an op or at the begin of a block
  bool refused = false;
};

struct InsertIndexChecks : gantry::impl::InsertIndexChecksPassBase<InsertIndexChecks> {
  void runOnOperation() override {
    if (!getOperation().isExternal() && !Inserter().run(getOperation().getBody().front()))
      signalPassFailure();
  }
};
} // namespace
