#include "LibraryProduct.h"

#include "Tile.h"

#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Dialect/Gantry/IR/TensorTypes.h"
#include "gantry/Target/CUDA/Libraries.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;
using gantry::plan::MatrixProduct;
using gantry::plan::StoredMatrix;

/// The parts that a long sum is cut into are kept there as f32, if the library cuts one: so many of
/// them, up to so many bytes.
static constexpr uint64_t kMostParts = 16, kMostWorkspace = uint64_t(4) << 20;
/// The library's workspace begins at a multiple of 256 bytes, scratch memory at one of 64.
static constexpr uint64_t kWorkspaceAlignment = 256;

ArrayRef<StringRef> gantry::knownGPULibraries() {
  static const StringRef known[] = {"cublaslt"};
  return known;
}

//===----------------------------------------------------------------------===//
// Where elements are
//===----------------------------------------------------------------------===//

namespace {
/// A dimension of the product, and how many elements apart its neighbours are in each matrix; 0
/// where the matrix is the same for all of them.
struct Dimension {
  uint64_t size, left, right, result;
};
using Stride = uint64_t Dimension::*;

/// Dimensions of one kind are numbered together, the last one fastest.
struct Dimensions {
  SmallVector<Dimension> batch, rows, columns, k;
};
} // namespace

static SmallVector<uint64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<uint64_t> strides(shape.size());
  uint64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= uint64_t(shape[i]))
    strides[i] = stride;
  return strides;
}

/// An operand's dimensions of the batch, as many as the result has of them: 0 where it is
/// broadcast.
static SmallVector<uint64_t> batchStridesOf(Value operand, ArrayRef<int64_t> batch) {
  ArrayRef<int64_t> own = shapeOf(operand).drop_back(2);
  SmallVector<uint64_t> all = stridesOf(shapeOf(operand)), strides(batch.size());
  for (size_t i = 0; i < own.size(); ++i) {
    const size_t at = batch.size() - own.size() + i;
    strides[at] = own[i] == batch[at] ? all[i] : 0;
  }
  return strides;
}

/// A batch of the left side alone is more rows of one product. Columns of one of the right side are
/// too far apart for that: there the left side is the same for all of the batch.
static Dimensions dimensionsOf(MatmulOp op) {
  auto last = [](Value tensor, bool turned) {
    SmallVector<uint64_t> strides = stridesOf(shapeOf(tensor));
    const uint64_t line = strides[strides.size() - 2];
    return turned ? std::pair<uint64_t, uint64_t>(1, line) : std::pair<uint64_t, uint64_t>(line, 1);
  };
  const auto [leftRow, leftK] = last(op.getLhs(), op.getTransposeA());
  const auto [rightK, rightColumn] = last(op.getRhs(), op.getTransposeB());
  ArrayRef<int64_t> result = shapeOf(op.getResult()), batch = result.drop_back(2);
  const SmallVector<uint64_t> strides = stridesOf(result),
                              left = batchStridesOf(op.getLhs(), batch),
                              right = batchStridesOf(op.getRhs(), batch);
  Dimensions found;
  for (auto [i, size] : llvm::enumerate(batch))
    if (size != 1)
      (right[i] == 0 ? found.rows : found.batch)
          .push_back({uint64_t(size), left[i], right[i], strides[i]});
  const auto rows = uint64_t(result[result.size() - 2]), columns = uint64_t(result.back());
  const int64_t sizeK = shapeOf(op.getLhs())[rankOf(op.getLhs()) - (op.getTransposeA() ? 2 : 1)];
  found.rows.push_back({rows, leftRow, 0, columns});
  found.columns.push_back({columns, 0, rightColumn, 1});
  found.k.push_back({uint64_t(sizeK), leftK, rightK, 0});
  return found;
}

static uint64_t count(ArrayRef<Dimension> dimensions) {
  uint64_t count = 1;
  for (const Dimension &dimension : dimensions)
    count *= dimension.size;
  return count;
}

/// From one to the next of dimensions that are numbered together; none where that differs.
static std::optional<uint64_t> stride(ArrayRef<Dimension> dimensions, Stride of) {
  std::optional<uint64_t> stride;
  uint64_t expected = 0;
  for (const Dimension &dimension : llvm::reverse(dimensions)) {
    if (dimension.size == 1)
      continue;
    if (!stride)
      stride = expected = dimension.*of;
    if (dimension.*of != expected)
      return std::nullopt;
    expected *= dimension.size;
  }
  return stride.value_or(0);
}

/// A matrix of `rows` by `columns`, if it is stored line by line one way or the other.
static std::optional<StoredMatrix> store(uint32_t buffer, Stride of, ArrayRef<Dimension> batch,
                                         ArrayRef<Dimension> rows, ArrayRef<Dimension> columns) {
  std::optional<uint64_t> down = stride(rows, of), across = stride(columns, of),
                          next = stride(batch, of);
  if (!down || !across || !next)
    return std::nullopt;
  const uint64_t height = count(rows), width = count(columns);
  if (width == 1 || *across == 1)
    return StoredMatrix{buffer, false, height == 1 ? width : *down, *next};
  if (height == 1 || *down == 1)
    return StoredMatrix{buffer, true, *across, *next};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is computed
//===----------------------------------------------------------------------===//

static std::optional<gantry::ElementType> factorOf(Type type) {
  if (type.isF32())
    return gantry::ElementType::f32;
  if (type.isF16())
    return gantry::ElementType::f16;
  if (type.isBF16())
    return gantry::ElementType::bf16;
  return std::nullopt;
}

std::optional<MatrixProduct> gantry::gpu::describeProduct(MatmulOp op, bool tf32,
                                                          ProductBuffers buffers) {
  const Type factor = elementOf(op.getLhs()), result = elementOf(op.getResult());
  const std::optional<ElementType> type = factorOf(factor);
  const bool isWideResult = factor != result;
  if (!type || elementOf(op.getRhs()) != factor || (isWideResult && !givesAccumulators(op)))
    return std::nullopt;
  const Dimensions found = dimensionsOf(op);
  MatrixProduct product;
  product.type = *type, product.isWide = isWideResult;
  product.isTF32 = tf32 && *type == ElementType::f32;
  product.batch = count(found.batch), product.rows = count(found.rows);
  product.columns = count(found.columns), product.terms = count(found.k);
  if (!isWorthTiles({int64_t(product.batch), int64_t(product.rows), int64_t(product.columns),
                     int64_t(product.terms)}))
    return std::nullopt;
  auto left = store(buffers.left, &Dimension::left, found.batch, found.rows, found.k);
  auto right = store(buffers.right, &Dimension::right, found.batch, found.k, found.columns);
  auto whole = store(buffers.result, &Dimension::result, found.batch, found.rows, found.columns);
  if (!left || !right || !whole)
    return std::nullopt;
  product.left = *left, product.right = *right, product.result = *whole;
  return product.check().ok() ? std::optional(product) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// The workspace
//===----------------------------------------------------------------------===//

uint64_t gantry::gpu::scratchFor(const MatrixProduct &product) {
  const uint64_t part = product.batch * product.rows * product.columns * sizeof(float);
  const uint64_t most = part > kMostWorkspace ? kMostWorkspace : kMostParts * part;
  return llvm::alignTo(std::min(most, kMostWorkspace), kWorkspaceAlignment) + kWorkspaceAlignment;
}

void gantry::gpu::addWorkspace(func::FuncOp kernel, const MatrixProduct &product) {
  OpBuilder b(kernel);
  const int64_t bytes = scratchFor(product);
  Block &body = kernel.getBody().front();
  body.addArgument(MemRefType::get({bytes}, b.getI8Type()), kernel.getLoc());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i + 1 < body.getNumArguments(); ++i)
    attributes.push_back(kernel.getArgAttrDict(i));
  attributes.push_back(b.getDictionaryAttr({}));
  kernel.setType(FunctionType::get(b.getContext(), body.getArgumentTypes(), {}));
  kernel.setAllArgAttrs(attributes);
  kernel->setAttr(kWorkAttr, WorkAttr::of(kernel).withScratch(bytes));
}
