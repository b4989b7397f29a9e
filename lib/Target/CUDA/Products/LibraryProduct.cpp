#include "LibraryProduct.h"

#include "Product.h"

#include "gantry/Dialect/Gantry/IR/Gantry.h"
#include "gantry/Dialect/Gantry/IR/Notes.h"
#include "gantry/Linalg/Reshapes.h"
#include "gantry/Target/CUDA/Libraries.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

bool gantry::usesMatmulLibrary(Operation *op) {
  return asksForLibrary(op, StringRef(plan::matmulLibrary));
}

//===----------------------------------------------------------------------===//
// Where elements are
//===----------------------------------------------------------------------===//

namespace {
/// How far apart in memory the elements of a tensor are, by loop of the product.
class Strides {
public:
  /// `map` says which element of the tensor the loops are at.
  Strides(Value tensor, AffineMap map, unsigned loops) : byLoop(loops) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
    uint64_t stride = 1;
    for (auto [size, expr] : llvm::reverse(llvm::zip(shape, map.getResults()))) {
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        byLoop[loop.getPosition()] += stride;
      else
        isPlain &= isa<AffineConstantExpr>(expr) && size == 1;
      stride *= size;
    }
  }

  /// From one to the next of loops that are numbered together; none where that differs.
  std::optional<uint64_t> of(const Product &product, ArrayRef<unsigned> loops) const {
    if (!isPlain)
      return std::nullopt;
    std::optional<uint64_t> stride;
    uint64_t expected = 0;
    for (auto [loop, size] : llvm::reverse(llvm::zip(loops, product.sizes(loops)))) {
      if (size == 1)
        continue;
      if (!stride)
        stride = expected = byLoop[loop];
      if (byLoop[loop] != expected)
        return std::nullopt;
      expected *= size;
    }
    return stride.value_or(0);
  }

private:
  SmallVector<uint64_t> byLoop;
  bool isPlain = true;
};
} // namespace

/// A matrix of `rows` by `columns`, if it is stored line by line one way or the other.
static std::optional<StoredMatrix> store(const Product &product, const Strides &strides,
                                         ArrayRef<unsigned> rows, ArrayRef<unsigned> columns) {
  std::optional<uint64_t> down = strides.of(product, rows), across = strides.of(product, columns),
                          batch = strides.of(product, product.batch);
  if (!down || !across || !batch)
    return std::nullopt;
  const uint64_t height = product.count(rows), width = product.count(columns);
  if (width == 1 || *across == 1)
    return StoredMatrix{0, false, height == 1 ? width : *down, *batch};
  if (height == 1 || *down == 1)
    return StoredMatrix{0, true, *across, *batch};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is computed
//===----------------------------------------------------------------------===//

/// The tensor in front of rounding each element, or the tensor itself.
static Value skipRounding(Value tensor) {
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumReductionLoops() > 0 || generic.getNumDpsInputs() != 1 ||
      !llvm::all_of(generic.getIndexingMapsArray(), [](AffineMap map) { return map.isIdentity(); }))
    return tensor;
  auto rounded = generic.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::TruncFOp>();
  return rounded && rounded.getIn() == generic.getBody()->getArgument(0)
             ? generic.getDpsInputs().front()
             : tensor;
}

/// The argument of the kernel whose elements are multiplied as they are.
static std::optional<unsigned> argumentOf(const Side &side) {
  Value factor = side.factor;
  if (auto wide = factor.getDefiningOp<arith::ExtFOp>())
    factor = wide.getIn();
  auto argument = dyn_cast<BlockArgument>(skipReshapes(side.operand->get()));
  if (!isa<BlockArgument>(factor) || !argument ||
      !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return std::nullopt;
  return argument.getArgNumber();
}

static std::optional<gantry::ElementType> typeOf(Type type) {
  if (type.isF32())
    return gantry::ElementType::f32;
  if (type.isF16())
    return gantry::ElementType::f16;
  if (type.isBF16())
    return gantry::ElementType::bf16;
  return std::nullopt;
}

std::optional<MatrixProduct> gantry::gpu::findLibraryProduct(func::FuncOp kernel, bool tf32) {
  Operation *end = kernel.getBody().front().getTerminator();
  if (end->getNumOperands() != 1)
    return std::nullopt;
  Value result = skipReshapes(end->getOperand(0));
  std::optional<Product> found = findTiledProduct(result);
  if (!found || skipReshapes(skipRounding(result)) != found->op.getResult(0))
    return std::nullopt;
  std::optional<unsigned> left = argumentOf(found->left), right = argumentOf(found->right);
  Type element = getElementTypeOrSelf(result.getType());
  std::optional<ElementType> type = typeOf(element);
  if (!left || !right || !type || !found->type().isF32() ||
      getElementTypeOrSelf(found->left.operand->get().getType()) != element ||
      getElementTypeOrSelf(found->right.operand->get().getType()) != element)
    return std::nullopt;
  linalg::GenericOp op = found->op;
  auto stridesOf = [&](OpOperand &operand) {
    return Strides(operand.get(), op.getMatchingIndexingMap(&operand), op.getNumLoops());
  };
  auto storedLeft = store(*found, stridesOf(*found->left.operand), found->rows, found->terms);
  auto storedRight = store(*found, stridesOf(*found->right.operand), found->terms, found->columns);
  auto storedResult =
      store(*found, stridesOf(*op.getDpsInitOperand(0)), found->rows, found->columns);
  if (!storedLeft || !storedRight || !storedResult)
    return std::nullopt;
  storedLeft->buffer = *left;
  storedRight->buffer = *right;
  storedResult->buffer = kernel.getNumArguments();
  MatrixProduct product{*type,
                        tf32 && *type == ElementType::f32,
                        uint64_t(found->count(found->batch)),
                        uint64_t(found->count(found->rows)),
                        uint64_t(found->count(found->columns)),
                        uint64_t(found->count(found->terms)),
                        *storedLeft,
                        *storedRight,
                        *storedResult};
  return product.check().ok() ? std::optional(product) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is said of it
//===----------------------------------------------------------------------===//

uint64_t gantry::gpu::scratchFor(const MatrixProduct &product) {
  const uint64_t part = product.batch * product.rows * product.columns * sizeof(float);
  const uint64_t most = part > kMostWorkspace ? kMostWorkspace : kMostParts * part;
  return llvm::alignTo(std::min(most, kMostWorkspace), kWorkspaceAlignment) + kWorkspaceAlignment;
}

void gantry::gpu::addLibraryProduct(func::FuncOp kernel, const MatrixProduct &product) {
  WorkAttr work = WorkAttr::of(kernel);
  if (work.getScratch() != 0)
    return; // tiles have shared memory alone
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
  kernel->setAttr(kWorkAttr, work.withScratch(bytes));
  kernel->setAttr(kLibraryProductAttr, b.getStringAttr(product.text()));
}
