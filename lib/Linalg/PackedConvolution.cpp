#include "gantry/Linalg/PackedConvolution.h"

#include "gantry/Dialect/Gantry/IR/Layout.h"

using namespace mlir;
using namespace gantry;

using utils::IteratorType;

PackedConvolution PackedConvolution::of(ConvOp op) {
  ArrayRef<int64_t> image = op.getInput().getType().getShape(), result = op.getType().getShape(),
                    filter = op.getFilter().getType().getShape();
  const unsigned spatial = result.size() - 2;
  const bool isNarrow = packingFactorOfChannels(op.getFilter().getType().getElementType()) > 1;
  return {result[0],
          image.back(),
          int64_t(op.getGroups()),
          result.back(),
          isNarrow ? filter.drop_back().back() : filter.back(),
          llvm::to_vector<3>(result.slice(1, spatial)),
          llvm::to_vector<3>(filter.slice(1, spatial)),
          llvm::to_vector<3>(op.getStrides()),
          llvm::to_vector<3>(op.getDilations()),
          isNarrow ? filter.back() : 1};
}

PackedConvolution PackedConvolution::of(ConvTransposeOp op) {
  ArrayRef<int64_t> image = op.getInput().getType().getShape(), result = op.getType().getShape(),
                    filter = op.getFilter().getType().getShape();
  const unsigned spatial = result.size() - 2;
  const SmallVector<int64_t, 3> ones(spatial, 1);
  return {result[0],
          image.back(),
          /*groups=*/1,
          result.back(),
          filter.back(),
          llvm::to_vector<3>(result.slice(1, spatial)),
          llvm::to_vector<3>(filter.slice(1, spatial)),
          ones,
          ones,
          /*depth=*/1,
          /*isTransposed=*/true};
}

SmallVector<AffineMap> PackedConvolution::maps(MLIRContext *context) const {
  auto dim = [&](unsigned d) { return getAffineDimExpr(d, context); };
  unsigned output = spatial() + 1, firstTap = output + 1, last = firstTap + spatial();
  AffineExpr o = dim(output), inside = dim(last);
  AffineExpr channel = depth > 1 ? inside * depth + dim(last + 1) : inside;
  if (isDepthwise() && groups > 1)
    channel = o;
  else if (groups > 1)
    channel = o.floorDiv(outputs / groups) * inner() + channel;
  bool single = panel == outputs;
  SmallVector<AffineExpr> image{dim(0)}, result{dim(0)}, sizes;
  SmallVector<AffineExpr> filter{single ? getAffineConstantExpr(0, context) : o.floorDiv(panel)};
  for (unsigned i = 0; i < spatial(); ++i) {
    image.push_back(dim(i + 1) * strides[i] + dim(firstTap + i) * dilations[i]);
    AffineExpr tap = dim(firstTap + i);
    filter.push_back(isTransposed ? window[i] - 1 - tap : tap);
    sizes.push_back(tap);
    result.push_back(dim(i + 1));
  }
  image.push_back(channel);
  filter.append({inside, single ? o : o % panel});
  if (depth > 1)
    filter.push_back(dim(last + 1));
  result.push_back(o);
  auto mapOf = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(numLoops(), 0, exprs, context);
  };
  if (isTransposed)
    return {mapOf(image), mapOf(filter), mapOf(sizes), mapOf(result)};
  return {mapOf(image), mapOf(filter), mapOf(result)};
}

SmallVector<IteratorType> PackedConvolution::iterators() const {
  SmallVector<IteratorType> kinds(spatial() + 2, IteratorType::parallel);
  kinds.append(numLoops() - kinds.size(), IteratorType::reduction);
  return kinds;
}

/// What a linear expression grows by with dimension `d`; 0 where it is not linear.
static int64_t stepOf(AffineExpr expr, unsigned dims, unsigned d) {
  SmallVector<AffineExpr> unit(dims, getAffineConstantExpr(0, expr.getContext()));
  unit[d] = getAffineConstantExpr(1, expr.getContext());
  auto value = dyn_cast<AffineConstantExpr>(expr.replaceDims(unit));
  return value ? value.getValue() : 0;
}

std::optional<PackedConvolution> PackedConvolution::match(linalg::LinalgOp op) {
  unsigned loops = op.getNumLoops();
  const bool isTransposed = op.getNumDpsInputs() == 3;
  if ((op.getNumDpsInputs() != 2 && !isTransposed) || op.getNumDpsInits() != 1 || loops < 5 ||
      op.hasDynamicShape())
    return std::nullopt;
  // A loop more than two for each dimension and three: that for depth.
  const bool isDeep = loops % 2 == 0;
  unsigned spatial = (loops - 3) / 2;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  ArrayRef<int64_t> image = op.getShape(op.getDpsInputOperand(0)),
                    filter = op.getShape(op.getDpsInputOperand(1));
  if (image.size() != spatial + 2 || filter.size() != spatial + (isDeep ? 4 : 3))
    return std::nullopt;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  const int64_t depth = isDeep ? sizes.back() : 1;
  const int64_t inner = sizes[2 * spatial + 2] * depth;
  PackedConvolution found{
      sizes[0], image.back(), 0,     sizes[spatial + 1], filter[spatial + 2], {}, {},
      {},       {},           depth, isTransposed};
  if (llvm::is_contained(sizes, 0) || found.channels % inner)
    return std::nullopt;
  found.groups = found.channels / inner;
  if (found.outputs % found.groups || found.outputs % found.panel)
    return std::nullopt;
  for (unsigned i = 0; i < spatial; ++i) {
    AffineExpr at = maps[0].getResult(i + 1);
    found.out.push_back(sizes[i + 1]);
    found.window.push_back(sizes[spatial + 2 + i]);
    found.strides.push_back(stepOf(at, loops, i + 1));
    found.dilations.push_back(stepOf(at, loops, spatial + 2 + i));
  }
  bool same =
      found.maps(op.getContext()) == maps && op.getIteratorTypesArray() == found.iterators();
  return same ? std::optional(found) : std::nullopt;
}
