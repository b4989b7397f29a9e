// Neighbouring elements that a thread reads or writes become one access of up to sixteen bytes.
//
// An index is a sum of values with factors, and a constant (`Linear`). Accesses of one buffer whose
// sums differ in the constant alone are neighbours when the constants are; the factors say where an
// access may begin. Loads are moved up to the first of them, stores down to the last, as far as
// nothing in between may touch the same memory. LLVM would do this too, but its own passes make an
// `or` of what was added, and then it no longer sees neighbours.

#include "gantry/Target/CUDA/Passes.h"

#include "Launch.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

namespace gantry {
#define GEN_PASS_DEF_MERGEACCESSESPASS
#include "gantry/Target/CUDA/Passes.h.inc"
} // namespace gantry

static constexpr int64_t kAccessBytes = 16;

//===----------------------------------------------------------------------===//
// Where an access is
//===----------------------------------------------------------------------===//

namespace {
/// The number of an element in its buffer.
struct Linear {
  llvm::SmallMapVector<Value, int64_t, 4> terms; ///< values with their factors
  int64_t constant = 0;

  void add(Value index, int64_t factor);
  bool isMultipleOf(int64_t n) const;
  bool isBeside(const Linear &other) const;
  Value materialize(ImplicitLocOpBuilder &b) const;
};

struct Access {
  Operation *op;
  Value base; ///< the argument or the allocation
  Linear at;
};
} // namespace

/// Sums that cannot overflow are taken apart.
void Linear::add(Value index, int64_t factor) {
  auto neverOverflows = [](arith::ArithIntegerOverflowFlagsInterface op) {
    return op.hasNoSignedWrap() && op.hasNoUnsignedWrap();
  };
  if (std::optional<int64_t> known = getConstantIntValue(index)) {
    constant += *known * factor;
    return;
  }
  if (auto sum = index.getDefiningOp<arith::AddIOp>(); sum && neverOverflows(sum)) {
    add(sum.getLhs(), factor);
    return add(sum.getRhs(), factor);
  }
  if (auto product = index.getDefiningOp<arith::MulIOp>(); product && neverOverflows(product))
    if (std::optional<int64_t> by = getConstantIntValue(product.getRhs()))
      return add(product.getLhs(), factor * *by);
  terms[index] += factor;
}

/// What divides every value that a loop counts.
static int64_t divisorOf(Value v) {
  auto argument = dyn_cast<BlockArgument>(v);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  if (!loop || loop.getInductionVar() != v)
    return 1;
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound()),
                         step = getConstantIntValue(loop.getStep());
  return first && step ? std::gcd(*first, *step) : 1;
}

bool Linear::isMultipleOf(int64_t n) const {
  return constant % n == 0 && llvm::all_of(terms, [n](auto &term) {
           return (term.second * (divisorOf(term.first) % n)) % n == 0;
         });
}

/// Whether the constant alone is different, or not even that.
bool Linear::isBeside(const Linear &other) const {
  return terms.size() == other.terms.size() && llvm::all_of(terms, [&](auto &term) {
           auto found = other.terms.find(term.first);
           return found != other.terms.end() && found->second == term.second;
         });
}

Value Linear::materialize(ImplicitLocOpBuilder &b) const {
  Value sum = indexConstant(b, constant);
  for (auto [value, factor] : terms)
    sum = addIndex(b, sum, mulIndex(b, value, factor));
  return sum;
}

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

/// Buffers begin where an access may; of arrays in shared memory see EmitPTX.cpp.
static bool isAligned(Value base) {
  auto type = cast<MemRefType>(base.getType());
  if (auto argument = dyn_cast<BlockArgument>(base))
    return isa<func::FuncOp>(argument.getOwner()->getParentOp());
  return base.getDefiningOp<memref::AllocOp>() &&
         type.getNumElements() * bytesOf(type.getElementType()) % kAccessBytes == 0;
}

static std::optional<Access> accessOf(Operation *op, Value memory, ValueRange indices) {
  auto type = cast<MemRefType>(memory.getType());
  if (!type.hasStaticShape() || !type.getLayout().isIdentity() ||
      !type.getElementType().isIntOrFloat())
    return std::nullopt;
  Access access{op, memory, {}};
  // Another shape of the whole buffer.
  while (auto cast = access.base.getDefiningOp<memref::ReinterpretCastOp>()) {
    auto source = dyn_cast<MemRefType>(cast.getSource().getType());
    if (!source || !source.hasStaticShape() ||
        source.getNumElements() != cast.getType().getNumElements())
      return std::nullopt;
    access.base = cast.getSource();
  }
  if (!isAligned(access.base))
    return std::nullopt;
  int64_t stride = 1;
  for (size_t d = indices.size(); d-- > 0;) {
    access.at.add(indices[d], stride);
    stride *= type.getDimSize(d);
  }
  return access;
}

static std::optional<Access> accessOf(Operation *op) {
  if (auto load = dyn_cast<memref::LoadOp>(op))
    return accessOf(op, load.getMemRef(), load.getIndices());
  if (auto store = dyn_cast<memref::StoreOp>(op))
    return accessOf(op, store.getMemRef(), store.getIndices());
  return std::nullopt;
}

/// Whether two buffers may be the same memory.
static bool mayAlias(Value x, Value y) {
  if (x == y)
    return true;
  auto mayBeAnother = [](Value base) {
    auto argument = dyn_cast<BlockArgument>(base);
    return argument && !cast<func::FuncOp>(argument.getOwner()->getParentOp())
                            .getArgAttr(argument.getArgNumber(), "llvm.noalias");
  };
  return mayBeAnother(x) && mayBeAnother(y);
}

//===----------------------------------------------------------------------===//
// Wide accesses
//===----------------------------------------------------------------------===//

/// The buffer in one line. Truth values are bytes, which vectors of them would not be.
static Value lineOf(ImplicitLocOpBuilder &b, Value base) {
  auto type = cast<MemRefType>(base.getType());
  if (type.getElementType().isInteger(1)) {
    auto bytes =
        MemRefType::get(type.getShape(), b.getI8Type(), type.getLayout(), type.getMemorySpace());
    base = UnrealizedConversionCastOp::create(b, bytes, base).getResult(0);
  }
  return flat(b, base);
}

/// One of a vector of bytes. By shifts of a word: LLVM would load single bytes again.
static Value bitOf(ImplicitLocOpBuilder &b, Value bytes, int64_t i) {
  int64_t count = cast<VectorType>(bytes.getType()).getDimSize(0),
          ofWord = std::min<int64_t>(count, 4);
  auto word = b.getIntegerType(unsigned(ofWord * 8));
  Value words = vector::BitCastOp::create(b, VectorType::get(count / ofWord, word), bytes);
  Value own = vector::ExtractOp::create(b, words, i / ofWord);
  Value shift = arith::ConstantOp::create(b, b.getIntegerAttr(word, i % ofWord * 8));
  return arith::TruncIOp::create(b, b.getI1Type(), arith::ShRUIOp::create(b, own, shift));
}

static void mergeLoads(ArrayRef<Access> run, Operation *place) {
  ImplicitLocOpBuilder b(place->getLoc(), place);
  Type element = run.front().op->getResult(0).getType();
  bool isBit = element.isInteger(1);
  auto type = VectorType::get(int64_t(run.size()), isBit ? b.getI8Type() : element);
  auto line = lineOf(b, run.front().base);
  Value wide = vector::LoadOp::create(b, type, line, ValueRange{run.front().at.materialize(b)},
                                      /*nontemporal=*/false,
                                      llvm::MaybeAlign(run.size() * uint64_t(bytesOf(element))));
  for (auto [i, access] : llvm::enumerate(run)) {
    Value own =
        isBit ? bitOf(b, wide, int64_t(i)) : Value(vector::ExtractOp::create(b, wide, int64_t(i)));
    access.op->getResult(0).replaceAllUsesWith(own);
  }
  for (const Access &access : run)
    access.op->erase();
}

static void mergeStores(ArrayRef<Access> run, Operation *place) {
  ImplicitLocOpBuilder b(place->getLoc(), place);
  SmallVector<Value> values;
  for (const Access &access : run) {
    Value own = cast<memref::StoreOp>(access.op).getValue();
    values.push_back(
        own.getType().isInteger(1) ? Value(arith::ExtUIOp::create(b, b.getI8Type(), own)) : own);
  }
  Type element = values.front().getType();
  Value wide =
      vector::FromElementsOp::create(b, VectorType::get(int64_t(run.size()), element), values);
  vector::StoreOp::create(b, wide, lineOf(b, run.front().base),
                          ValueRange{run.front().at.materialize(b)}, /*nontemporal=*/false,
                          llvm::MaybeAlign(run.size() * uint64_t(bytesOf(element))));
  for (const Access &access : run)
    access.op->erase();
}

namespace {
/// Accesses of one kind in a block that may still be merged with others.
class Pending {
public:
  explicit Pending(bool areStores) : areStores(areStores) {}

  void add(Access access) { accesses.push_back(std::move(access)); }
  bool hasPlace(const Access &other) const {
    return llvm::any_of(accesses, [&](const Access &access) {
      return access.base == other.base && access.at.isBeside(other.at) &&
             access.at.constant == other.at.constant;
    });
  }
  /// Whether one is of the same buffer, and not plainly beside `other`.
  bool mayOverlap(const Access &other) const {
    return llvm::any_of(accesses, [&](const Access &access) {
      return mayAlias(access.base, other.base) &&
             (access.base != other.base || !access.at.isBeside(other.at));
    });
  }
  /// Merges those that may be of the memory of `base`; all of them without one.
  void flush(Value base = Value());

private:
  void mergeNeighbours(SmallVector<Access> group);

  bool areStores;
  SmallVector<Access> accesses; ///< in the order of the block
};
} // namespace

/// `group` is of one buffer and one sum. The widest runs are taken first.
void Pending::mergeNeighbours(SmallVector<Access> group) {
  // Of two loads of one element the second one is left to others.
  SmallVector<Operation *> order;
  for (const Access &access : group)
    order.push_back(access.op);
  llvm::stable_sort(group,
                    [](const Access &x, const Access &y) { return x.at.constant < y.at.constant; });
  int64_t bytes = bytesOf(cast<MemRefType>(group.front().base.getType()).getElementType());
  for (size_t first = 0; first < group.size();) {
    size_t next = 1;
    for (int64_t count = kAccessBytes / bytes; count > 1; count /= 2) {
      ArrayRef<Access> run = ArrayRef(group).slice(first).take_front(size_t(count));
      bool areNeighbours = int64_t(run.size()) == count && run.front().at.isMultipleOf(count);
      for (auto [i, access] : llvm::enumerate(run))
        areNeighbours &= access.at.constant == run.front().at.constant + int64_t(i);
      if (!areNeighbours)
        continue;
      auto isOfRun = [&](Operation *op) {
        return llvm::any_of(run, [op](const Access &access) { return access.op == op; });
      };
      if (areStores)
        mergeStores(run, *llvm::find_if(llvm::reverse(order), isOfRun));
      else
        mergeLoads(run, *llvm::find_if(order, isOfRun));
      next = size_t(count);
      break;
    }
    first += next;
  }
}

void Pending::flush(Value base) {
  SmallVector<Access> taken, left;
  for (Access &access : accesses)
    (!base || mayAlias(access.base, base) ? taken : left).push_back(std::move(access));
  accesses = std::move(left);
  while (!taken.empty()) {
    SmallVector<Access> group, others;
    for (Access &access : taken) {
      bool isAlike = group.empty() ||
                     (access.base == group.front().base && access.at.isBeside(group.front().at));
      (isAlike ? group : others).push_back(std::move(access));
    }
    mergeNeighbours(std::move(group));
    taken = std::move(others);
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

static void mergeIn(Block &block) {
  Pending loads(/*areStores=*/false), stores(/*areStores=*/true);
  for (Operation &op : llvm::make_early_inc_range(block)) {
    std::optional<Access> access = accessOf(&op);
    if (!access) {
      if (!isMemoryEffectFree(&op)) {
        loads.flush();
        stores.flush();
      }
    } else if (isa<memref::LoadOp>(op)) {
      stores.flush(access->base);
      if (loads.hasPlace(*access))
        loads.flush(access->base);
      loads.add(*access);
    } else {
      loads.flush(access->base);
      if (stores.hasPlace(*access) || stores.mayOverlap(*access))
        stores.flush(access->base);
      stores.add(*access);
    }
  }
  loads.flush();
  stores.flush();
}

namespace {
struct MergeAccesses : gantry::impl::MergeAccessesPassBase<MergeAccesses> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) { mergeIn(*block); });
  }
};
} // namespace
