// Makes one generic op of all that go through the elements of a kernel with several results, or of
// several sums.
//
// Chains of elementwise ops are one op for each result by then (gantry-fuse-generics), or one for a
// result and one for what reads it. As ops apart they would be loops apart: what they share would
// be read by each. Sums over the rows of the same elements become one op with a result for each,
// and with them what is computed in front of them alone.
//
// What is left of other results goes through the last op, so that one op makes all of a kernel.

#include "gantry/Linalg/Passes.h"
#include "gantry/Linalg/Product.h"
#include "gantry/Linalg/Reshapes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace gantry;

namespace gantry {
#define GEN_PASS_DEF_MERGEGENERICSPASS
#include "gantry/Linalg/Passes.h.inc"
} // namespace gantry

using Generics = SmallVector<linalg::GenericOp>;

/// Writes each element once, in a loop for each dimension.
static bool isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && op.hasPureTensorSemantics() &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity() &&
                  !op.payloadUsesValueFromOperand(&init);
         });
}

/// Adds up rows of elements: the last loop is one over columns, and terms are no products.
static bool isSumOfRows(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 || !op.hasPureTensorSemantics())
    return false;
  AffineMap result = op.getIndexingMapsArray().back();
  SmallVector<Operation *> joins;
  if (!result.isFunctionOfDim(op.getNumLoops() - 1) || !result.isProjectedPermutation() ||
      !matchReduction(op.getRegionOutputArgs(), 0, joins) || joins.size() != 1)
    return false;
  auto add = dyn_cast<arith::AddFOp>(joins.front());
  return add && bitEnumContainsAny(add.getFastmath(), arith::FastMathFlags::reassoc) &&
         llvm::none_of(add->getOperands(), isContractible);
}

/// Whether both add up along the same loops.
static bool areAlike(linalg::GenericOp a, linalg::GenericOp b) {
  return a.getStaticLoopRanges() == b.getStaticLoopRanges() &&
         a.getIteratorTypesArray() == b.getIteratorTypesArray() &&
         a.getIndexingMapsArray().back() == b.getIndexingMapsArray().back();
}

namespace {
/// Some generic ops of a function, in its order, as one: elementwise ones, with sums behind them or
/// without.
class Merger {
public:
  explicit Merger(ArrayRef<linalg::GenericOp> ops) : ops(ops) {
    for (linalg::GenericOp op : ops)
      members.insert(op);
  }

  /// What others make is there before the first op, or no op's doing.
  bool mayMerge() const {
    SmallVector<int64_t> loops = linalg::GenericOp(ops.front()).getStaticLoopRanges();
    return llvm::all_of(ops, [&](linalg::GenericOp op) {
      return op.getStaticLoopRanges() == loops && !isReadInBodies(op) &&
             llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
               auto maker = input->get().getDefiningOp<linalg::GenericOp>();
               if (!members.contains(maker))
                 return !followsMember(input->get().getDefiningOp());
               return isElementwise(maker) && op.getMatchingIndexingMap(input).isIdentity();
             });
    });
  }

  void merge() {
    linalg::GenericOp last = ops.back();
    OpBuilder builder(last);
    gather();
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs, inits;
    for (auto [value, map] : read) {
      inputs.push_back(value);
      maps.push_back(map);
    }
    for (OpResult result : made) {
      auto maker = cast<linalg::GenericOp>(result.getOwner());
      inits.push_back(maker.getDpsInitOperand(result.getResultNumber())->get());
      maps.push_back(maker.getIndexingMapMatchingResult(result));
    }
    auto merged = linalg::GenericOp::create(
        builder, last.getLoc(), TypeRange(ValueRange(inits)), inputs, inits, maps,
        last.getIteratorTypesArray(),
        [&](OpBuilder &b, Location loc, ValueRange arguments) { makeBody(b, loc, arguments); });
    for (auto [from, to] : llvm::zip(made, merged.getResults()))
      from.replaceAllUsesWith(to);
    for (linalg::GenericOp op : llvm::reverse(ops))
      op.erase();
    sortTopologically(merged->getBlock()); // what follows one of them may stand before the last one
  }

private:
  /// At other places than its own, as by an index that is computed.
  bool isReadInBodies(linalg::GenericOp op) const {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      return user->getBlock() != op->getBlock() && !members.contains(user);
    });
  }

  bool followsMember(Operation *op) const {
    return op && (members.contains(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
                    return followsMember(operand.getDefiningOp());
                  }));
  }

  /// What the ops read from outside, each once, and what others read of them.
  void gather() {
    for (linalg::GenericOp op : ops) {
      for (OpOperand *input : op.getDpsInputOperands())
        if (!members.contains(input->get().getDefiningOp()))
          read.insert({input->get(), op.getMatchingIndexingMap(input)});
      for (OpResult result : op->getResults())
        if (llvm::any_of(result.getUsers(),
                         [&](Operation *user) { return !members.contains(user); }))
          made.push_back(result);
    }
  }

  void makeBody(OpBuilder &b, Location loc, ValueRange arguments) {
    IRMapping scalars; // of what the ops make and of arguments of their bodies
    for (linalg::GenericOp op : ops) {
      for (OpOperand *input : op.getDpsInputOperands()) {
        Value scalar = scalars.lookupOrNull(input->get());
        if (!members.contains(input->get().getDefiningOp()))
          scalar = arguments[llvm::find(read,
                                        std::pair(input->get(), op.getMatchingIndexingMap(input))) -
                             read.begin()];
        scalars.map(op.getMatchingBlockArgument(input), scalar);
      }
      for (auto [result, sum] : llvm::zip(op->getResults(), op.getRegionOutputArgs()))
        if (auto at = llvm::find(made, result); at != made.end())
          scalars.map(sum, arguments[read.size() + (at - made.begin())]);
      for (Operation &inner : op.getBody()->without_terminator())
        b.clone(inner, scalars);
      for (auto [result, yielded] :
           llvm::zip(op->getResults(), op.getBody()->getTerminator()->getOperands()))
        scalars.map(result, scalars.lookupOrDefault(yielded));
    }
    SmallVector<Value> results;
    for (OpResult result : made)
      results.push_back(scalars.lookup(result));
    linalg::YieldOp::create(b, loc, results);
  }

  ArrayRef<linalg::GenericOp> ops;
  llvm::SmallPtrSet<Operation *, 8> members;
  llvm::SmallSetVector<std::pair<Value, AffineMap>, 8> read;
  SmallVector<OpResult> made;
};

/// Sums over the rows of the same elements, with what is computed for them alone.
class SumFinder {
public:
  explicit SumFinder(ArrayRef<linalg::GenericOp> ops) : ops(ops) {}

  /// All that become one op with the first sum of the function that has such; empty if none has.
  Generics find() const {
    for (linalg::GenericOp first : ops) {
      if (!isSumOfRows(first))
        continue;
      llvm::SmallSetVector<Operation *, 8> found;
      for (linalg::GenericOp other : ops)
        if (isSumOfRows(other) && areAlike(first, other))
          found.insert(other);
      addFront(first, found);
      Generics members;
      llvm::copy_if(ops, std::back_inserter(members),
                    [&](linalg::GenericOp op) { return found.contains(op); });
      if (members.size() > 1 && Merger(members).mayMerge())
        return members;
    }
    return {};
  }

private:
  /// Ops on the same elements that are read by the members alone, later ones first.
  void addFront(linalg::GenericOp first, llvm::SmallSetVector<Operation *, 8> &found) const {
    for (linalg::GenericOp op : llvm::reverse(ops))
      if (isElementwise(op) && op.getStaticLoopRanges() == first.getStaticLoopRanges() &&
          llvm::all_of(op->getUsers(), [&](Operation *user) { return found.contains(user); }))
        found.insert(op);
  }

  ArrayRef<linalg::GenericOp> ops;
};

/// Makes one op give all results of a function, each to a place of its own: of several sums, and of
/// what follows some of them.
class ResultJoiner {
public:
  explicit ResultJoiner(func::FuncOp func) : terminator(func.getBody().front().getTerminator()) {}

  /// Passes what other ops make through the last one where that goes through as many elements.
  void run() {
    linalg::GenericOp last = findLast();
    ArrayRef<int64_t> loops = shapeOf(last ? last->getResult(0) : terminator->getOperand(0));
    SmallVector<std::pair<OpOperand *, Value>> passed;
    for (OpOperand &result : terminator->getOpOperands())
      if (!last || makerOf(result) != last) {
        Value value = result.get();
        if (shapeOf(value) != loops)
          value = skipReshapes(value);
        if (shapeOf(value) != loops)
          return;
        passed.push_back({&result, value});
      }
    if (!passed.empty())
      pass(last, loops.size(), passed);
  }

private:
  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }

  static Operation *makerOf(OpOperand &result) {
    return skipReshapes(result.get()).getDefiningOp();
  }

  bool isOnlyReturned(Operation *op) const {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      return user == terminator ||
             (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user) && isOnlyReturned(user));
    });
  }

  /// Of the elementwise ops that make results and nothing else, the last one, or null.
  linalg::GenericOp findLast() {
    linalg::GenericOp last;
    for (OpOperand &result : terminator->getOpOperands())
      if (auto op = dyn_cast_or_null<linalg::GenericOp>(makerOf(result));
          op && isElementwise(op) && isOnlyReturned(op) && (!last || last->isBeforeInBlock(op)))
        last = op;
    return last;
  }

  /// The reshapes between `value` and the result, on another value.
  static Value reshapeAs(OpBuilder &b, Value result, Value value, Value by) {
    if (result == value)
      return by;
    Operation *op = result.getDefiningOp();
    IRMapping mapping;
    mapping.map(op->getOperand(0), reshapeAs(b, op->getOperand(0), value, by));
    return b.clone(*op, mapping)->getResult(0);
  }

  void pass(linalg::GenericOp last, unsigned rank, ArrayRef<std::pair<OpOperand *, Value>> passed) {
    OpBuilder b(terminator);
    Location loc = terminator->getLoc();
    SmallVector<Value> inputs, inits;
    SmallVector<AffineMap> maps;
    if (last) {
      llvm::append_range(inputs, last.getInputs());
      llvm::append_range(inits, last.getOutputs());
      maps = last.getIndexingMapsArray();
    }
    const unsigned numInputs = inputs.size(), numInits = inits.size();
    const AffineMap identity = b.getMultiDimIdentityMap(rank);
    maps.insert(maps.begin() + numInputs, passed.size(), identity);
    for (auto [result, value] : passed) {
      inputs.push_back(value);
      inits.push_back(
          tensor::EmptyOp::create(b, loc, shapeOf(value), getElementTypeOrSelf(value.getType())));
      maps.push_back(identity);
    }
    SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
    auto all = linalg::GenericOp::create(
        b, loc, TypeRange(ValueRange(inits)), inputs, inits, maps, loops,
        [&](OpBuilder &b, Location loc, ValueRange arguments) {
          SmallVector<Value> yielded;
          if (last)
            yielded = cloneBody(b, last, arguments.take_front(numInputs));
          llvm::append_range(yielded, arguments.slice(numInputs, passed.size()));
          linalg::YieldOp::create(b, loc, yielded);
        });
    b.setInsertionPoint(terminator);
    for (auto [i, each] : llvm::enumerate(passed))
      each.first->set(reshapeAs(b, each.first->get(), each.second, all.getResult(numInits + i)));
    if (last)
      replaceLast(last, all);
  }

  static SmallVector<Value> cloneBody(OpBuilder &b, linalg::GenericOp op, ValueRange arguments) {
    IRMapping scalars;
    scalars.map(op.getRegionInputArgs(), arguments);
    for (Operation &inner : op.getBody()->without_terminator())
      b.clone(inner, scalars);
    return llvm::map_to_vector(op.getBody()->getTerminator()->getOperands(),
                               [&](Value each) { return scalars.lookupOrDefault(each); });
  }

  /// What reshapes its results comes behind the op that makes them now.
  void replaceLast(linalg::GenericOp last, linalg::GenericOp all) {
    last->replaceAllUsesWith(all.getResults().take_front(last->getNumResults()));
    last->erase();
    sortTopologically(all->getBlock());
  }

  Operation *terminator;
};

struct MergeGenerics : gantry::impl::MergeGenericsPassBase<MergeGenerics> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func.getNumResults() == 0)
      return;
    for (Generics sums = findSums(func); !sums.empty(); sums = findSums(func))
      Merger(sums).merge();
    if (func.getNumResults() < 2)
      return;
    mergeResults(func);
    if (llvm::any_of(genericsOf(func),
                     [](linalg::GenericOp op) { return op.getNumReductionLoops() > 0; }))
      ResultJoiner(func).run();
  }

  static Generics genericsOf(func::FuncOp func) {
    return Generics(func.getOps<linalg::GenericOp>());
  }

  static Generics findSums(func::FuncOp func) {
    Generics ops = genericsOf(func);
    return SumFinder(ops).find();
  }

  /// Those that make results element by element, and what is read in these loops.
  static void mergeResults(func::FuncOp func) {
    Generics ops;
    for (linalg::GenericOp op : genericsOf(func))
      if (op.getNumReductionLoops() == 0)
        ops.push_back(op);
    if (ops.size() > 1 && llvm::all_of(ops, isElementwise) && Merger(ops).mayMerge())
      Merger(ops).merge();
  }
};
} // namespace
