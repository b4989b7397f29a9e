// The builder of the lowerings; see Emitter.h.

#include "gantry/Linalg/Emitter.h"
#include "gantry/Dialect/Gantry/IR/Attributes.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace gantry;

using Shape = SmallVector<int64_t>;

Type gantry::computeType(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

Type gantry::signless(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer ? IntegerType::get(element.getContext(), integer.getWidth()) : element;
}

ElementsAttr gantry::signlessElements(ElementsAttr value) {
  auto type = cast<RankedTensorType>(value.getType());
  auto storage = type.clone(signless(type.getElementType()));
  if (type == storage)
    return value;
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return DenseElementsAttr::getFromRawBuffer(storage, dense.getRawData());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return DenseResourceElementsAttr::get(storage, resource.getRawHandle());
  return {};
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

Value Emitter::integer(int64_t value, Type type) {
  return arith::ConstantOp::create(*this, getIntegerAttr(type, value));
}

Value Emitter::number(double value, Type type) {
  if (!isa<FloatType>(type))
    return integer(int64_t(value), type);
  return arith::ConstantOp::create(*this, getFloatAttr(type, value));
}

static APInt extreme(unsigned width, bool isUnsigned, bool high) {
  if (isUnsigned)
    return high ? APInt::getMaxValue(width) : APInt::getZero(width);
  return high ? APInt::getSignedMaxValue(width) : APInt::getSignedMinValue(width);
}

Value Emitter::lowest(Type type, bool isUnsigned) {
  if (isa<FloatType>(type))
    return number(-std::numeric_limits<double>::infinity(), type);
  APInt value = extreme(type.getIntOrFloatBitWidth(), isUnsigned, /*high=*/false);
  return arith::ConstantOp::create(*this, IntegerAttr::get(type, value));
}

Value Emitter::highest(Type type, bool isUnsigned) {
  if (isa<FloatType>(type))
    return number(std::numeric_limits<double>::infinity(), type);
  APInt value = extreme(type.getIntOrFloatBitWidth(), isUnsigned, /*high=*/true);
  return arith::ConstantOp::create(*this, IntegerAttr::get(type, value));
}

/// Of two zeros either may be the larger: vector units do not order them.
static constexpr arith::FastMathFlags kZeroSign = arith::FastMathFlags::nsz;

static bool isFloat(Value x) { return isa<FloatType>(x.getType()); }

Value Emitter::add(Value a, Value b) {
  if (isFloat(a))
    return arith::AddFOp::create(*this, a, b, mathFlags);
  return arith::AddIOp::create(*this, a, b);
}

Value Emitter::sub(Value a, Value b) {
  if (isFloat(a))
    return arith::SubFOp::create(*this, a, b, mathFlags);
  return arith::SubIOp::create(*this, a, b);
}

Value Emitter::mul(Value a, Value b) {
  if (isFloat(a))
    return arith::MulFOp::create(*this, a, b, mathFlags);
  return arith::MulIOp::create(*this, a, b);
}

Value Emitter::div(Value a, Value b) { return arith::DivFOp::create(*this, a, b, mathFlags); }

Value Emitter::maximum(Value a, Value b, bool isUnsigned) {
  if (isFloat(a))
    return arith::MaximumFOp::create(*this, a, b, mathFlags | kZeroSign);
  if (isUnsigned)
    return arith::MaxUIOp::create(*this, a, b);
  return arith::MaxSIOp::create(*this, a, b);
}

Value Emitter::minimum(Value a, Value b, bool isUnsigned) {
  if (isFloat(a))
    return arith::MinimumFOp::create(*this, a, b, mathFlags | kZeroSign);
  if (isUnsigned)
    return arith::MinUIOp::create(*this, a, b);
  return arith::MinSIOp::create(*this, a, b);
}

Value Emitter::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}

Value Emitter::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(*this, predicate, a, b);
}

Value Emitter::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(*this, predicate, a, b);
}

Value Emitter::less(Value a, Value b, bool isUnsigned) {
  if (isFloat(a))
    return compare(arith::CmpFPredicate::OLT, a, b);
  return compare(isUnsigned ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt, a, b);
}

Value Emitter::both(Value a, Value b) { return arith::AndIOp::create(*this, a, b); }
Value Emitter::either(Value a, Value b) { return arith::OrIOp::create(*this, a, b); }
Value Emitter::expAtMostZero(Value x) {
  auto exp = math::ExpOp::create(*this, x, mathFlags);
  exp->setAttr(kAtMostZeroAttr, getUnitAttr());
  return exp;
}
Value Emitter::negate(Value bit) {
  return arith::XOrIOp::create(*this, bit, integer(1, getI1Type()));
}

Value Emitter::widen(Value x) {
  Type wide = computeType(x.getType());
  if (wide == x.getType())
    return x;
  return arith::ExtFOp::create(*this, wide, x);
}

Value Emitter::narrow(Value x, Type type) {
  if (x.getType() == type)
    return x;
  return arith::TruncFOp::create(*this, type, x);
}

Value Emitter::toIndex(Value x) {
  return x.getType().isIndex() ? x : arith::IndexCastOp::create(*this, getIndexType(), x);
}

Value Emitter::loopIndex(unsigned dim) { return linalg::IndexOp::create(*this, dim); }

Value Emitter::clampIndex(Value x, int64_t size) {
  Type type = x.getType();
  Value low = arith::MaxSIOp::create(*this, x, integer(0, type));
  return arith::MinSIOp::create(*this, low, integer(size - 1, type));
}

Value Emitter::countFromEnd(Value x, int64_t size) {
  // On GPUs an index may have 32 bits.
  if (!x.getType().isInteger(64))
    x = toIndex(x);
  Type type = x.getType();
  Value negative = compare(arith::CmpIPredicate::slt, x, integer(0, type));
  return select(negative, add(x, integer(size, type)), x);
}

Value Emitter::wrapIndex(Value x, int64_t size) {
  return toIndex(clampIndex(countFromEnd(x, size), size));
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

RankedTensorType Emitter::tensorType(ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
}

Value Emitter::empty(ArrayRef<int64_t> shape, Type element) {
  return tensor::EmptyOp::create(*this, shape, element);
}

Value Emitter::filled(ArrayRef<int64_t> shape, Value scalar) {
  Value into = empty(shape, scalar.getType());
  return linalg::FillOp::create(*this, scalar, into).getResult(0);
}

SmallVector<AffineExpr> Emitter::dims(unsigned begin, unsigned end) {
  SmallVector<AffineExpr> exprs;
  for (unsigned i = begin; i < end; ++i)
    exprs.push_back(dim(i));
  return exprs;
}

AffineMap Emitter::mapOf(unsigned loops, ArrayRef<AffineExpr> results) {
  return AffineMap::get(loops, 0, results, getContext());
}

/// Whether some loop has no iteration: one that reads along an empty dimension.
static bool hasEmptyLoop(ArrayRef<Value> values, ArrayRef<AffineMap> maps) {
  for (auto [value, map] : llvm::zip(values, maps))
    for (auto [size, expr] : llvm::zip(shapeOf(value), map.getResults()))
      if (size == 0 && isa<AffineDimExpr>(expr))
        return true;
  return false;
}

Value Emitter::accumulate(Value init, AffineMap resultMap, ArrayRef<Operand> inputs,
                          Iterators iterators, Body body) {
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (const Operand &input : inputs) {
    values.push_back(input.value);
    maps.push_back(input.map);
  }
  if (hasEmptyLoop(values, maps))
    return init;
  maps.push_back(resultMap);
  bool reduces = llvm::is_contained(iterators, utils::IteratorType::reduction);
  return linalg::GenericOp::create(*this, init.getType(), values, init, maps, iterators,
                                   [&](OpBuilder &builder, Location loc, ValueRange arguments) {
                                     Emitter inner(loc, builder);
                                     if (reduces)
                                       inner.mathFlags = kReductionMath;
                                     linalg::YieldOp::create(inner, body(inner, arguments));
                                   })
      .getResult(0);
}

Value Emitter::elementwise(ArrayRef<int64_t> shape, Type element, ArrayRef<Operand> inputs,
                           Body body) {
  SmallVector<utils::IteratorType> iterators(shape.size(), utils::IteratorType::parallel);
  AffineMap map = getMultiDimIdentityMap(shape.size());
  return accumulate(empty(shape, element), map, inputs, iterators, body);
}

Value Emitter::pick(ArrayRef<int64_t> shape, Value input, ArrayRef<Operand> inputs,
                    function_ref<Value(Emitter &, unsigned, ValueRange)> indexOf) {
  return elementwise(shape, elementOf(input), inputs, [&](Emitter &e, ValueRange x) {
    SmallVector<Value> at;
    for (unsigned i = 0; i < typeOf(input).getRank(); ++i)
      at.push_back(indexOf(e, i, x));
    return Value(tensor::ExtractOp::create(e, input, at));
  });
}

/// For a reshape of static shapes that only adds dimensions of size 1: which dimensions of the
/// result are dimensions of the source.
static std::optional<SmallVector<unsigned>> keptDims(tensor::ExpandShapeOp op) {
  auto source = op.getSrcType().getShape(), result = op.getResultType().getShape();
  SmallVector<unsigned> kept;
  for (auto [i, group] : llvm::enumerate(op.getReassociationIndices())) {
    std::optional<unsigned> place;
    for (int64_t j : group)
      if (result[j] != 1 || j == group.back()) {
        if (!place)
          place = j;
        else if (result[j] != 1)
          return std::nullopt;
      }
    if (!place || result[*place] != source[i])
      return std::nullopt;
    kept.push_back(*place);
  }
  return kept;
}

Operand Emitter::broadcast(Value value, ArrayRef<int64_t> shape) {
  Shape own(shapeOf(value)), stays;
  size_t skip = shape.size() - own.size();
  SmallVector<AffineExpr> exprs, kept;
  for (size_t i = 0; i < own.size(); ++i) {
    bool stretches = own[i] == 1 && shape[skip + i] != 1;
    exprs.push_back(stretches ? getAffineConstantExpr(0) : dim(skip + i));
    if (!stretches) {
      stays.push_back(own[i]);
      kept.push_back(exprs.back());
    }
  }
  // A kernel argument can be reshaped for nothing, and linalg moves reshapes only through ops whose
  // maps are projections, without constants.
  if (isa<BlockArgument>(value) && kept.size() < own.size())
    return {reshape(value, stays), mapOf(shape.size(), kept)};
  if (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
    if (auto places = keptDims(expand)) {
      value = expand.getSrc();
      exprs = llvm::map_to_vector(*places, [&](unsigned d) { return exprs[d]; });
    }
  return {value, mapOf(shape.size(), exprs)};
}

Operand Emitter::perDim(Value value, unsigned loops, unsigned position) {
  return {value, mapOf(loops, dim(position))};
}

Operand Emitter::identity(Value value) {
  return {value, getMultiDimIdentityMap(typeOf(value).getRank())};
}

Value Emitter::scalarOf(Value value) {
  return tensor::ExtractOp::create(*this, value, ValueRange());
}

static SmallVector<ReassociationIndices> allInOne(size_t rank) {
  if (rank == 0)
    return {};
  return {llvm::to_vector<2>(llvm::seq<int64_t>(0, rank))};
}

Value Emitter::reshape(Value value, ArrayRef<int64_t> shape) {
  auto type = typeOf(value), result = type.clone(shape);
  if (type == result)
    return value;
  if (type.getNumElements() == 0)
    return empty(shape, type.getElementType());
  if (type.getRank() != result.getRank())
    if (auto groups = getReassociationIndicesForReshape(type, result)) {
      if (type.getRank() > result.getRank())
        return tensor::CollapseShapeOp::create(*this, result, value, *groups);
      return tensor::ExpandShapeOp::create(*this, result, value, *groups);
    }
  // Any two shapes meet in the flat one.
  if (type.getRank() != 1)
    value = type.getRank() == 0
                ? Value(tensor::ExpandShapeOp::create(*this, type.clone({int64_t(1)}), value,
                                                      ArrayRef<ReassociationIndices>()))
                : Value(tensor::CollapseShapeOp::create(*this, type.clone({type.getNumElements()}),
                                                        value, allInOne(type.getRank())));
  if (result.getRank() == 1)
    return value;
  if (result.getRank() == 0)
    return tensor::CollapseShapeOp::create(*this, result, value, ArrayRef<ReassociationIndices>());
  return tensor::ExpandShapeOp::create(*this, result, value, allInOne(result.getRank()));
}

Value Emitter::pad(Value value, ArrayRef<int64_t> low, ArrayRef<int64_t> high, Value scalar,
                   unsigned first) {
  auto isZero = [](int64_t n) { return n == 0; };
  if (llvm::all_of(low, isZero) && llvm::all_of(high, isZero))
    return value;
  Shape shape(shapeOf(value));
  SmallVector<OpFoldResult> before(shape.size(), getIndexAttr(0)), after(before);
  for (size_t i = 0; i < low.size(); ++i) {
    before[first + i] = getIndexAttr(low[i]);
    after[first + i] = getIndexAttr(high[i]);
    shape[first + i] += low[i] + high[i];
  }
  if (typeOf(value).getNumElements() == 0)
    return filled(shape, scalar);
  return tensor::PadOp::create(*this, typeOf(value).clone(shape), value, before, after, scalar);
}

static SmallVector<OpFoldResult> attributes(Emitter &b, ArrayRef<int64_t> values, size_t rank) {
  if (values.empty())
    return SmallVector<OpFoldResult>(rank, b.getIndexAttr(1));
  return llvm::map_to_vector(values, [&](int64_t v) { return OpFoldResult(b.getIndexAttr(v)); });
}

Value Emitter::extractSlice(Value value, ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                            ArrayRef<int64_t> steps) {
  size_t rank = starts.size();
  if (llvm::is_contained(sizes, 0))
    return empty(sizes, elementOf(value));
  return tensor::ExtractSliceOp::create(*this, value, attributes(*this, starts, rank),
                                        attributes(*this, sizes, rank),
                                        attributes(*this, steps, rank));
}

Value Emitter::insertSlice(Value value, Value into, ArrayRef<int64_t> starts,
                           ArrayRef<int64_t> steps) {
  size_t rank = starts.size();
  if (typeOf(value).getNumElements() == 0)
    return into;
  return tensor::InsertSliceOp::create(*this, value, into, attributes(*this, starts, rank),
                                       attributes(*this, shapeOf(value), rank),
                                       attributes(*this, steps, rank));
}

Value Emitter::convertTo(Value tensor, Type element) {
  if (elementOf(tensor) == element)
    return tensor;
  return elementwise(shapeOf(tensor), element, identity(tensor),
                     [&](Emitter &e, ValueRange x) { return e.narrow(e.widen(x[0]), element); });
}
