#include "Panels.h"

#include "Tile.h"
#include "gantry/Linalg/Emitter.h"
#include "gantry/Linalg/Reshapes.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// Rows that share a panel without leaving the cache themselves.
static constexpr int64_t kMostRows = 256;
/// Items below this number are cut further, as long as they have so many rows.
static constexpr int64_t kFewItems = 16, kFewestRows = 32;
/// Terms of a block of a packed panel: up to the first number in one block.
static constexpr int64_t kMostTerms = 1024, kTermsOfBlock = 768;
/// A constant that would grow by more in panels stays as it is.
static constexpr int64_t kMostPadding = 2;
/// Bytes of a block of a panel that an item packs itself.
static constexpr int64_t kOwnPanelBytes = 48 << 10;

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
  if (!matmul || matmul.getRhs() != value || !elementOf(value).isF32())
    return {};
  ArrayRef<int64_t> shape = shapeOf(value);
  int64_t last = shape[shape.size() - 1], before = shape[shape.size() - 2];
  PanelLayout layout;
  layout.rows = {{before, last}};
  layout.columns = {{last, 1}};
  if (matmul.getTransposeB())
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
  if (llvm::alignTo(columns, layout.width) > kMostPadding * columns)
    return {};
  return layout.toAttr(kernel.getContext());
}

//===----------------------------------------------------------------------===//
// Operands where they lie
//===----------------------------------------------------------------------===//

static BlockArgument argumentOf(Value tensor, func::FuncOp func) {
  auto argument = dyn_cast<BlockArgument>(skipReshapes(tensor));
  return argument && argument.getOwner() == &func.getBody().front() ? argument : BlockArgument();
}

/// By how many elements a step of each loop moves in the operand; the map says dimensions alone.
static SmallVector<int64_t> stepsOf(linalg::GenericOp op, OpOperand *operand) {
  SmallVector<int64_t> steps(op.getNumLoops(), 0);
  AffineMap map = op.getMatchingIndexingMap(operand);
  ArrayRef<int64_t> shape = shapeOf(operand->get());
  int64_t step = 1;
  for (int64_t i = shape.size(); i-- > 0;) {
    if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(i)))
      steps[dim.getPosition()] = step;
    step *= shape[i];
  }
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

static std::optional<DirectRows> findDirectRows(const PanelProduct &p, func::FuncOp func) {
  const Product &product = p.product;
  BlockArgument argument = argumentOf(product.left.operand->get(), func);
  linalg::GenericOp op = product.op;
  if (!argument || product.left.factor != op.getMatchingBlockArgument(product.left.operand))
    return std::nullopt;
  SmallVector<int64_t> steps = stepsOf(op, product.left.operand);
  auto term = commonStep(product.sizes(product.terms), pick(steps, product.terms), 1);
  auto row = commonStep(product.sizes(product.rows), pick(steps, product.rows), 0);
  if (term != 1 || !row)
    return std::nullopt;
  return DirectRows{argument, *row, pick(steps, product.batch)};
}

static std::optional<PackedPanels> findPackedPanels(const PanelProduct &p, func::FuncOp func) {
  const Product &product = p.product;
  BlockArgument argument = argumentOf(product.right.operand->get(), func);
  auto layout = argument ? PanelLayout::ofArgument(func, argument.getArgNumber()) : std::nullopt;
  if (!layout)
    return std::nullopt;
  return PackedPanels{argument, *layout};
}

SmallVector<unsigned> PanelProduct::matrixLoops() const {
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

/// Whether all that the function computes can be asked for element by element.
static bool hasElements(func::FuncOp func) {
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

/// Whether the operand's indices are loops, each of its own: no window moves over it.
static bool isPlain(linalg::GenericOp op, OpOperand *operand) {
  return op.getMatchingIndexingMap(operand).isProjectedPermutation(/*allowZeroInDims=*/true);
}

/// One loop of columns is enough; the others are matrices of their own.
static void keepOneColumnLoop(Product &product) {
  while (product.columns.size() > 1) {
    product.batch.push_back(product.columns.front());
    product.columns.erase(product.columns.begin());
  }
}

/// Whether the last of the terms moves less far than the last of the others does.
static bool isByTerms(const Product &product, const Side &side, ArrayRef<unsigned> others) {
  SmallVector<int64_t> steps = stepsOf(product.op, side.operand);
  if (product.terms.empty() || others.empty())
    return true;
  return steps[product.terms.back()] < steps[others.back()];
}

static void chooseTiles(PanelProduct &p) {
  p.width = p.right ? p.right->layout.width : panelWidth(p.columns);
  p.panels = llvm::divideCeil(p.columns, p.width);
  p.tiles = llvm::divideCeil(p.rows, mostRows(p.width));
  p.tileRows = llvm::divideCeil(p.rows, p.tiles);
  p.tallTiles = p.rows - (p.tileRows - 1) * p.tiles;
}

static void chooseItems(PanelProduct &p) {
  int64_t chunks = llvm::divideCeil(p.rows, kMostRows), items = p.batch * p.panels;
  if (items * chunks < kFewItems)
    chunks = std::max(chunks,
                      std::min<int64_t>(llvm::divideCeil(kFewItems, items), p.rows / kFewestRows));
  p.chunks = std::clamp<int64_t>(chunks, 1, p.tiles);
}

static void chooseTermBlocks(PanelProduct &p) {
  int64_t most = kMostTerms, block = kTermsOfBlock;
  if (!p.right)
    most = block = kOwnPanelBytes / (p.width * int64_t(sizeof(float)));
  p.termBlocks = p.terms <= most ? 1 : llvm::divideCeil(p.terms, block);
  int64_t even = llvm::divideCeil(p.terms, p.termBlocks);
  p.termBlock = p.termBlocks == 1 ? even : llvm::alignTo(even, kTermUnit);
}

/// A row times a matrix that lies column by column is that matrix, row by row, times a column:
/// tiles read it where it lies.
static void turnLine(PanelProduct &p, func::FuncOp func) {
  if (p.right || p.product.count(p.product.rows) != 1)
    return;
  PanelProduct turned = p;
  std::swap(turned.product.left, turned.product.right);
  std::swap(turned.product.rows, turned.product.columns);
  keepOneColumnLoop(turned.product);
  turned.left = findDirectRows(turned, func);
  if (turned.left)
    p = std::move(turned);
}

std::optional<PanelProduct> gantry::cpu::findPanelProduct(func::FuncOp func) {
  ValueRange results = func.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1 || !hasElements(func))
    return std::nullopt;
  Value root = skipReshapes(results.front());
  std::optional<Product> product = findProduct(root);
  if (!product || !product->type().isF32() || !isPlain(product->op, product->left.operand) ||
      !isPlain(product->op, product->right.operand))
    return std::nullopt;
  keepOneColumnLoop(*product);
  PanelProduct p;
  p.product = std::move(*product);
  p.root = root;
  p.left = findDirectRows(p, func);
  p.right = findPackedPanels(p, func);
  turnLine(p, func);
  p.batch = p.product.count(p.product.batch);
  p.rows = p.product.count(p.product.rows);
  p.columns = p.product.count(p.product.columns);
  p.terms = p.product.count(p.product.terms);
  if (p.batch * p.rows * p.columns * p.terms == 0)
    return std::nullopt;
  p.leftByTerms = isByTerms(p.product, p.product.left, p.product.rows);
  p.rightByTerms = isByTerms(p.product, p.product.right, p.product.columns);
  chooseTiles(p);
  chooseItems(p);
  chooseTermBlocks(p);
  return p;
}
