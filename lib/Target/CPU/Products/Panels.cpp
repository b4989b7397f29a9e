#include "Panels.h"

#include "Strided.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/Reshapes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// Rows that share a panel without leaving the cache themselves.
static constexpr int64_t kMostRows = 256;
/// Items below this number are cut further, as long as they have so many rows.
static constexpr int64_t kFewItems = 16, kFewestRows = 32;
/// The same of rows that items pack by columns: these and what they meet are to stay in the cache,
/// too, and each item reads all of the other operand.
static constexpr int64_t kMostOwnRows = 128, kFewestOwnRows = 96, kOwnRowsBytes = 48 << 10;
/// Terms of a block of a packed panel: up to the first number in one block.
static constexpr int64_t kMostK = 1024, kBlockOfK = 768;
/// Up to so many terms, what it takes to copy sums from a buffer into the result counts.
static constexpr int64_t kSmallK = 64;
/// A constant that would grow by more in panels stays as it is.
static constexpr int64_t kMostPadding = 2;
/// Columns of the widest panel.
static constexpr int64_t kWidestPanel = 64;
/// Rows of a product, for each matrix of the other operand, that are worth to have that packed by a
/// kernel of its own.
static constexpr int64_t kMostRowsOfPacked = 128;
/// Bytes of a block of a panel that an item packs itself; what it unpacks for few rows stays in the
/// nearest cache.
static constexpr int64_t kOwnPanelBytes = 48 << 10, kOwnBitsBytes = 16 << 10;

int64_t gantry::cpu::panelWidth(int64_t columns) {
  // What a column costs: narrow panels load more for each product.
  static constexpr std::pair<int64_t, double> kWidths[] = {
      {48, 1.0}, {64, 1.0}, {32, 1.06}, {16, 1.15}};
  int64_t best = 0;
  double least = 0;
  for (auto [width, cost] : kWidths) {
    double total = double(llvm::divideCeil(columns, width) * width) * cost;
    if (best != 0 && total >= least)
      continue;
    best = width;
    least = total;
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Layouts of constants
//===----------------------------------------------------------------------===//

Attribute gantry::cpu::layoutOfConstant(KernelOp kernel, unsigned argument) {
  BlockArgument value = kernel.getBody().getArgument(argument);
  auto matmul = value.hasOneUse() ? dyn_cast<MatmulOp>(*value.user_begin()) : MatmulOp();
  // A kernel of several products is none of those that read panels.
  if (!matmul || !llvm::hasSingleElement(kernel.getBody().getOps<MatmulOp>()) ||
      !(elementOf(value).isF32() || givesAccumulators(matmul) || matmul.getBlockQuantizedAttr()))
    return {};
  bool isLeft = matmul.getRhs() != value;
  // A matrix times a column is found the other way round: the matrix is what has the columns.
  if (isLeft && (shapeOf(matmul.getResult()).back() != 1 || matmul.getBlockQuantizedAttr()))
    return {};
  ArrayRef<int64_t> shape = shapeOf(value);
  int64_t last = shape[shape.size() - 1], before = shape[shape.size() - 2];
  PanelLayout layout;
  layout.rows = {{before, last}};
  layout.columns = {{last, 1}};
  if (isLeft ? !matmul.getTransposeA() : matmul.getTransposeB())
    std::swap(layout.rows, layout.columns);
  int64_t matrix = before * last;
  for (int64_t size : llvm::reverse(shape.drop_back(2))) {
    layout.matrices.insert(layout.matrices.begin(), {size, matrix});
    matrix *= size;
  }
  // A single column is no panel: its product is found the other way round.
  if (matrix == 0 || typeOf(matmul.getResult()).getNumElements() == 0 ||
      layout.columns.front().size == 1)
    return {};
  const int64_t columns = layout.columns.front().size;
  layout.width = panelWidth(columns);
  if (elementOf(value).isBF16())
    layout.packingFactor = packingFactorOf(OperandPrecision::bf16);
  // Rows are bytes there: a word of each column.
  if (matmul.getBlockQuantizedAttr())
    layout.packingFactor = BlockQuantized::kWordBytes;
  if (llvm::alignTo(columns, layout.width) > kMostPadding * columns)
    return {};
  return layout.toAttr(kernel.getContext());
}

/// A single row goes through columns of neighbours where they lie. Many rows don't see what it
/// takes to pack what they are multiplied by. Panels are as wide as items would make them.
Attribute gantry::cpu::layoutOfComputed(KernelOp kernel, unsigned argument) {
  BlockArgument value = kernel.getBody().getArgument(argument);
  auto matmul = value.hasOneUse() ? dyn_cast<MatmulOp>(*value.user_begin()) : MatmulOp();
  if (!matmul || matmul.getRhs() != value || matmul.getBlockQuantizedAttr() ||
      !(elementOf(value).isF32() || elementOf(value).isBF16()))
    return {};
  ArrayRef<int64_t> result = shapeOf(matmul.getResult());
  const int64_t columns = result.back(),
                matrices = ShapedType::getNumElements(shapeOf(value).drop_back(2));
  const int64_t rows =
      ShapedType::getNumElements(result.drop_back()) / std::max<int64_t>(matrices, 1);
  if (rows > kMostRowsOfPacked || (rows == 1 && matmul.getTransposeB()))
    return {};
  std::optional<PanelLayout> layout = PanelLayout::of(layoutOfConstant(kernel, argument));
  if (layout && elementOf(value).isF32() && columns % kWidestPanel == 0)
    layout->width = kWidestPanel;
  return layout ? layout->toAttr(kernel.getContext()) : Attribute();
}

//===----------------------------------------------------------------------===//
// Operands where they lie
//===----------------------------------------------------------------------===//

static BlockArgument argumentOf(Value tensor, func::FuncOp func) {
  auto argument = dyn_cast<BlockArgument>(skipReshapes(tensor));
  return argument && argument.getOwner() == &func.getBody().front() ? argument : BlockArgument();
}

/// By how many elements a step of each loop moves in the operand; the map says dimensions alone.
static SmallVector<int64_t> stepsOf(linalg::GenericOp op, OpOperand *operand,
                                    ArrayRef<int64_t> strides) {
  SmallVector<int64_t> steps(op.getNumLoops(), 0);
  for (auto [expr, stride] : llvm::zip(op.getMatchingIndexingMap(operand).getResults(), strides))
    if (auto dim = dyn_cast<AffineDimExpr>(expr))
      steps[dim.getPosition()] = stride;
  return steps;
}

/// The step of loops that are numbered together when it is the same from each number to the next;
/// `single` when there is one number only.
static std::optional<int64_t> commonStep(ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps,
                                         int64_t single) {
  std::optional<int64_t> step;
  int64_t next = 0;
  for (auto [size, own] : llvm::reverse(llvm::zip_equal(sizes, steps))) {
    if (size == 1)
      continue;
    if (step && own != next)
      return std::nullopt;
    if (!step)
      step = own;
    next = own * size;
  }
  return step ? step : single;
}

static SmallVector<int64_t> pick(ArrayRef<int64_t> of, ArrayRef<unsigned> loops) {
  return llvm::map_to_vector(loops, [&](unsigned loop) { return of[loop]; });
}

static std::optional<DirectRows> findDirect(const Product &product, const Side &side,
                                            ArrayRef<unsigned> rows, func::FuncOp func) {
  linalg::GenericOp op = product.op;
  std::optional<Strided> lies = findStrided(side.operand->get());
  if (!lies || lies->argument.getOwner() != &func.getBody().front() ||
      side.factor != op.getMatchingBlockArgument(side.operand))
    return std::nullopt;
  SmallVector<int64_t> steps = stepsOf(op, side.operand, lies->strides);
  auto atK = commonStep(product.sizes(product.k), pick(steps, product.k), 1);
  auto row = commonStep(product.sizes(rows), pick(steps, rows), 0);
  if (atK != 1 || !row)
    return std::nullopt;
  return DirectRows{lies->argument, lies->offset, *row, pick(steps, product.batch)};
}

std::optional<DirectRows> gantry::cpu::findDirectRows(const Product &product, func::FuncOp func) {
  return findDirect(product, product.left, product.rows, func);
}

std::optional<DirectRows> gantry::cpu::findDirectColumns(const Product &product,
                                                         func::FuncOp func) {
  return findDirect(product, product.right, product.columns, func);
}

/// By how many elements each loop moves in an operand whose map is linear, and where they begin.
static std::optional<std::pair<SmallVector<int64_t>, int64_t>>
linearSteps(linalg::GenericOp op, OpOperand *operand, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> steps(op.getNumLoops(), 0);
  int64_t offset = 0;
  auto add = [&](auto &&self, AffineExpr expr, int64_t step) -> bool {
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      steps[dim.getPosition()] += step;
      return true;
    }
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      offset += constant.getValue() * step;
      return true;
    }
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (binary && binary.getKind() == AffineExprKind::Add)
      return self(self, binary.getLHS(), step) && self(self, binary.getRHS(), step);
    auto factor = binary && binary.getKind() == AffineExprKind::Mul
                      ? dyn_cast<AffineConstantExpr>(binary.getRHS())
                      : AffineConstantExpr();
    return factor && self(self, binary.getLHS(), step * factor.getValue());
  };
  for (auto [expr, stride] : llvm::zip(op.getMatchingIndexingMap(operand).getResults(), strides))
    if (!add(add, expr, stride))
      return std::nullopt;
  return std::pair(steps, offset);
}

std::optional<DirectColumns> gantry::cpu::findDirectColumnsOfLeft(const Product &product,
                                                                  func::FuncOp func) {
  linalg::GenericOp op = product.op;
  const Side &side = product.left;
  std::optional<Strided> lies = findStrided(side.operand->get());
  if (!lies || lies->argument.getOwner() != &func.getBody().front() ||
      side.factor != op.getMatchingBlockArgument(side.operand))
    return std::nullopt;
  auto found = linearSteps(op, side.operand, lies->strides);
  if (!found)
    return std::nullopt;
  const auto &[steps, offset] = *found;
  if (commonStep(product.sizes(product.rows), pick(steps, product.rows), 1) != 1)
    return std::nullopt;
  return DirectColumns{lies->argument, lies->offset + offset, pick(steps, product.k),
                       pick(steps, product.batch)};
}

/// Of rows that are places of a window as well, those that lie side by side stay rows; the others
/// are matrices of their own.
static void keepNeighbouringRows(Product &product) {
  std::optional<Strided> lies = findStrided(product.left.operand->get());
  auto found = lies ? linearSteps(product.op, product.left.operand, lies->strides) : std::nullopt;
  if (!found)
    return;
  const SmallVector<int64_t> &steps = found->first;
  llvm::stable_sort(product.rows, [&](unsigned a, unsigned b) { return steps[a] > steps[b]; });
  while (product.rows.size() > 1 &&
         commonStep(product.sizes(product.rows), pick(steps, product.rows), 1) != 1) {
    product.batch.push_back(product.rows.front());
    product.rows.erase(product.rows.begin());
  }
}

static std::optional<PackedPanels> findPackedPanels(const PackedGEMM &p, func::FuncOp func) {
  const Product &product = p.product;
  BlockArgument argument = argumentOf(product.right.operand->get(), func);
  auto layout = argument ? PanelLayout::ofArgument(func, argument.getArgNumber()) : std::nullopt;
  if (!layout)
    return std::nullopt;
  return PackedPanels{argument, *layout};
}

static std::optional<BlockQuantizedPanels> findBitsPanels(const Product &product,
                                                          func::FuncOp func) {
  const Side &side = product.right;
  linalg::GenericOp op = product.op;
  auto unpack = side.operand->get().getDefiningOp<linalg::GenericOp>();
  auto form = unpack ? unpack->getAttrOfType<BlockQuantizedAttr>(kBlockQuantizedAttr)
                     : BlockQuantizedAttr();
  if (!form || product.columns.size() != 1 || product.k.size() != 1 ||
      side.factor != op.getMatchingBlockArgument(side.operand))
    return std::nullopt;
  // All that its body picks from is one matrix of bytes.
  BlockArgument bytes;
  unpack.getBody()->walk(
      [&](tensor::ExtractOp pick) { bytes = argumentOf(pick.getTensor(), func); });
  auto layout = bytes ? PanelLayout::ofArgument(func, bytes.getArgNumber()) : std::nullopt;
  if (!layout)
    return std::nullopt;
  return BlockQuantizedPanels{{bytes, *layout}, form.getForm()};
}

int64_t PackedGEMM::ownTermStride() const {
  constexpr int64_t lineElements = 16;
  return (llvm::divideCeil(rowsOfItem(), lineElements) | 1) * lineElements;
}

SmallVector<unsigned> PackedGEMM::matrixLoops() const {
  linalg::GenericOp op = product.op;
  AffineMap map = op.getMatchingIndexingMap(product.right.operand);
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        dim && llvm::is_contained(product.batch, dim.getPosition()))
      loops.push_back(dim.getPosition());
  return loops;
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

bool gantry::cpu::hasElements(func::FuncOp func) {
  return llvm::all_of(func.getBody().front().without_terminator(), [](Operation &op) {
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
      return !elements || elements.isSplat();
    }
    bool hasTensors = llvm::any_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
    return !hasTensors ||
           isa<linalg::GenericOp, linalg::FillOp, tensor::EmptyOp, tensor::PadOp,
               tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::ExtractSliceOp,
               tensor::InsertSliceOp, tensor::InsertOp, tensor::ConcatOp>(op);
  });
}

bool gantry::cpu::isPlain(linalg::GenericOp op, OpOperand *operand) {
  return op.getMatchingIndexingMap(operand).isProjectedPermutation(/*allowZeroInDims=*/true);
}

/// One loop of columns is enough; the others are matrices of their own.
static void keepOneColumnLoop(Product &product) {
  while (product.columns.size() > 1) {
    product.batch.push_back(product.columns.front());
    product.columns.erase(product.columns.begin());
  }
}

bool gantry::cpu::isAlongK(const Product &product, const Side &side, ArrayRef<unsigned> others) {
  Value tensor = side.operand->get();
  std::optional<Strided> lies = findStrided(tensor);
  SmallVector<int64_t> steps =
      stepsOf(product.op, side.operand, lies ? lies->strides : rowMajorStrides(shapeOf(tensor)));
  if (product.k.empty() || others.empty())
    return true;
  return steps[product.k.back()] < steps[others.back()];
}

RowTiles RowTiles::of(int64_t rows, int64_t mostOfTile) {
  RowTiles cut;
  cut.rows = rows;
  cut.tiles = llvm::divideCeil(rows, mostOfTile);
  cut.tileRows = llvm::divideCeil(rows, cut.tiles);
  cut.tallTiles = rows - (cut.tileRows - 1) * cut.tiles;
  return cut;
}

/// Of panels that nobody packed when compiling. Where tiles have six rows at any width, the widest
/// panels read the left operand least often.
static int64_t ownPanelWidth(const PackedGEMM &p, const Registers &registers) {
  const bool hasSixRows = p.precision == OperandPrecision::f32 && registers.count < 32;
  return hasSixRows && p.columns % kWidestPanel == 0 ? kWidestPanel : panelWidth(p.columns);
}

static void chooseTiles(PackedGEMM &p, const Registers &registers) {
  p.width = p.right  ? p.right->layout.width
            : p.bits ? p.bits->layout.width
                     : ownPanelWidth(p, registers);
  p.panels = llvm::divideCeil(p.columns, p.width);
  const bool amx = usesAMX(p.precision, registers);
  const bool isF32 = p.precision == OperandPrecision::f32;
  const int64_t most = p.multipliesBlockQuantized() ? p.rows
                       : amx                        ? kMostAMXRows
                       : isF32                      ? mostRows(p.width, registers.count)
                                                    : mostRows(p.width);
  static_cast<RowTiles &>(p) = RowTiles::of(p.rows, most);
  p.amx = amx;
}

static void chooseItems(PackedGEMM &p) {
  const int64_t most = p.leftByColumns ? kMostOwnRows : kMostRows,
                fewest = p.leftByColumns ? kFewestOwnRows : kFewestRows;
  int64_t chunks = llvm::divideCeil(p.rows, most), items = p.batch * p.panels;
  if (items * chunks < kFewItems)
    chunks =
        std::max(chunks, std::min<int64_t>(llvm::divideCeil(kFewItems, items), p.rows / fewest));
  p.chunks = std::clamp<int64_t>(chunks, 1, p.tiles);
}

static void chooseBlocksOfK(PackedGEMM &p) {
  int64_t most = kMostK, block = kBlockOfK;
  if (!p.right && !p.multipliesBlockQuantized())
    most = block = (p.bits ? kOwnBitsBytes : kOwnPanelBytes) / (p.width * p.panelBytes());
  if (p.multipliesBlockQuantized())
    most = p.k;
  if (p.leftByColumns) {
    const int64_t fitting =
        llvm::alignDown(kOwnRowsBytes / (p.ownTermStride() * p.leftBytes()), kUnitOfK);
    most = std::min(most, fitting);
    block = std::min(block, fitting);
  }
  p.blocksOfK = p.k <= most ? 1 : llvm::divideCeil(p.k, block);
  int64_t even = llvm::divideCeil(p.k, p.blocksOfK);
  const int64_t unit =
      p.bits ? p.bits->form.numbersOfWord() : (p.amx ? kAMXGroups : kUnitOfK) * p.packingFactor();
  p.blockK = p.blocksOfK == 1 ? even : llvm::alignTo(even, unit);
}

/// Where rows of sums lie in what the kernel stores, if nothing follows the sums and tiles shall
/// store them there themselves. A part of a vector is copied as fast as it is stored.
static std::optional<DirectRows> findDirectResult(const PackedGEMM &p) {
  const Product &product = p.product;
  linalg::GenericOp op = product.op;
  if (p.k > kSmallK || p.blocksOfK != 1 || p.columns < kColumnUnit || p.amx ||
      p.multipliesBlockQuantized() || p.root != op->getResult(0))
    return std::nullopt;
  SmallVector<int64_t> steps =
      stepsOf(op, op.getDpsInitOperand(0), rowMajorStrides(shapeOf(p.root)));
  auto column = commonStep(product.sizes(product.columns), pick(steps, product.columns), 1);
  auto row = commonStep(product.sizes(product.rows), pick(steps, product.rows), p.columns);
  if (column != 1 || !row)
    return std::nullopt;
  return DirectRows{{}, 0, *row, pick(steps, product.batch)};
}

/// A row times a matrix that lies column by column is that matrix, row by row, times a column:
/// tiles read it where it lies.
static void turnLine(PackedGEMM &p, func::FuncOp func) {
  // Of bytes the left ones have another sign than the right ones.
  if (p.right || p.bits || p.precision == OperandPrecision::int8 ||
      p.product.count(p.product.rows) != 1)
    return;
  PackedGEMM turned = p;
  std::swap(turned.product.left, turned.product.right);
  std::swap(turned.product.rows, turned.product.columns);
  keepOneColumnLoop(turned.product);
  turned.left = findDirectRows(turned.product, func);
  if (turned.left)
    p = std::move(turned);
}

bool gantry::cpu::takeNarrowFactors(Product &product) {
  for (Side *side : {&product.left, &product.right}) {
    auto widened = side->factor.getDefiningOp<arith::ExtFOp>();
    if (!widened || !widened.getIn().getType().isBF16())
      return false;
    side->factor = widened.getIn();
  }
  return true;
}

/// The same of bytes: unsigned ones on the left, signed ones on the right.
static bool takeBytes(Product &product) {
  auto left = product.left.factor.getDefiningOp<arith::ExtUIOp>();
  auto right = product.right.factor.getDefiningOp<arith::ExtSIOp>();
  if (!left || !right || !left.getIn().getType().isInteger(8) ||
      !right.getIn().getType().isInteger(8))
    return false;
  product.left.factor = left.getIn();
  product.right.factor = right.getIn();
  return true;
}

/// What tiles multiply; takes the factors as they are before they are widened. Nothing for others.
static std::optional<OperandPrecision> takePrecision(Product &product) {
  if (product.type().isInteger(32))
    return takeBytes(product) ? std::optional(OperandPrecision::int8) : std::nullopt;
  if (!product.type().isF32())
    return std::nullopt;
  return givesAccumulators(product.op) && takeNarrowFactors(product) ? OperandPrecision::bf16
                                                                     : OperandPrecision::f32;
}

std::optional<PackedGEMM> gantry::cpu::findPackedGEMM(func::FuncOp func,
                                                      const Registers &registers) {
  ValueRange results = func.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1 || !hasElements(func))
    return std::nullopt;
  Value root = skipReshapes(results.front());
  std::optional<Product> product = findProduct(root);
  if (!product || !isPlain(product->op, product->right.operand))
    return std::nullopt;
  std::optional<OperandPrecision> precision = takePrecision(*product);
  if (!precision)
    return std::nullopt;
  keepOneColumnLoop(*product);
  // Of windows only those over what is turned for it (FilterGradients.h): others have kernels of
  // their own.
  const bool isByTerms = !isPlain(product->op, product->left.operand) &&
                         *precision == OperandPrecision::f32 &&
                         skipMoves(product->left.operand->get()) != product->left.operand->get();
  if (isByTerms)
    keepNeighbouringRows(*product);
  else if (!isPlain(product->op, product->left.operand))
    return std::nullopt;
  PackedGEMM p;
  p.precision = *precision;
  p.product = std::move(*product);
  p.root = root;
  const bool hasGroups = p.product.count(p.product.k) % p.packingFactor() == 0;
  if (!isByTerms && (p.precision != OperandPrecision::int8 || hasGroups))
    p.left = findDirectRows(p.product, func);
  p.right = findPackedPanels(p, func);
  p.bits = findBitsPanels(p.product, func);
  if (p.right && elementOf(p.right->argument).isF16())
    p.precision = OperandPrecision::f16;
  if (!isByTerms)
    turnLine(p, func);
  p.batch = p.product.count(p.product.batch);
  p.rows = p.product.count(p.product.rows);
  p.columns = p.product.count(p.product.columns);
  p.k = p.product.count(p.product.k);
  if (p.batch * p.rows * p.columns * p.k == 0)
    return std::nullopt;
  p.leftAlongK = isAlongK(p.product, p.product.left, p.product.rows);
  p.rightAlongK = isAlongK(p.product, p.product.right, p.product.columns);
  p.leftByColumns =
      isByTerms || (!p.left && !p.bits && !p.leftAlongK && p.precision == OperandPrecision::f32);
  if (p.leftByColumns)
    p.leftColumns = findDirectColumnsOfLeft(p.product, func);
  chooseTiles(p, registers);
  chooseItems(p);
  chooseBlocksOfK(p);
  p.out = findDirectResult(p);
  return p;
}
