#include "TiledAttention.h"

#include "Microkernel.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"
#include "gantry/Linalg/Emitter.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::cpu;

/// Fewer queries would not share packed keys often enough.
static constexpr int64_t kFewestQueries = 16;
static constexpr int64_t kFewestKeys = 16;
/// Rows of scores of a tile come to this many bytes at most.
static constexpr int64_t kScoreBytes = 48 << 10;
static constexpr int64_t kMostDepth = 256;
/// Items below this number are cut further, as long as they have so many queries.
static constexpr int64_t kFewItems = 8, kFewestOfItem = 64;

static int64_t rowsOfTile(int64_t keys, int64_t width) {
  int64_t most = std::min(mostRows(panelWidth(keys)), mostRows(panelWidth(width)));
  return std::min<int64_t>(most, kScoreBytes / (keys * int64_t(sizeof(float))));
}

// Values of one element are columns to nobody: such a product is found the other way round.
bool gantry::cpu::suitsAttention(int64_t queries, int64_t keys, int64_t depth, int64_t width) {
  return queries >= kFewestQueries && keys >= kFewestKeys && depth > 0 && depth <= kMostDepth &&
         width > 1 && width <= kMostDepth && rowsOfTile(keys, width) >= 2;
}

bool gantry::cpu::isFasterApart(int64_t queries, int64_t keys, int64_t depth, int64_t width) {
  return queries >= kFewestQueries && keys >= kFewestKeys &&
         !suitsAttention(queries, keys, depth, width);
}

/// Whole matrices of rows, or as many rows as have room on the stack beside no panels: scores, the
/// rounded weights, sums of both products, queries. Few rows still multiply faster than vectors do.
static int64_t rowsOfAMXTile(const TiledAttention &a) {
  const int64_t bytesOfRow = a.keys * int64_t(sizeof(float) + a.factorBytes()) +
                             (a.keyWidth + a.valueWidth) * int64_t(sizeof(float)) +
                             a.depth * a.factorBytes();
  const int64_t most = std::min(kMostAMXRows, kStackBytes / bytesOfRow);
  return most > kAMXRows ? most / kAMXRows * kAMXRows : most;
}

static void chooseTiles(TiledAttention &a, const Registers &registers) {
  a.keyWidth = panelWidth(a.keys);
  a.keyPanels = llvm::divideCeil(a.keys, a.keyWidth);
  a.valueWidth = panelWidth(a.width);
  a.valuePanels = llvm::divideCeil(a.width, a.valueWidth);
  const bool amx = usesAMX(a.precision, registers);
  static_cast<RowTiles &>(a) = RowTiles::of(a.scores.count(a.scores.rows),
                                            amx ? rowsOfAMXTile(a) : rowsOfTile(a.keys, a.width));
  a.amx = amx;
  // More rows than a matrix has are two of them, which overlap.
  a.filled = amx && a.tileRows <= kAMXRows && a.tallTiles != a.tiles;
  // The row that fills a tile up need not be there to be read.
  if (a.filled)
    a.queries.reset();
  int64_t chunks = a.batch < kFewItems ? llvm::divideCeil(kFewItems, a.batch) : 1;
  a.chunks = std::clamp<int64_t>(std::min(chunks, a.rows / kFewestOfItem), 1, a.tiles);
}

/// The operands are multiplied in f32, and no window moves over them.
static bool isPlainF32(const Product &product) {
  return product.type().isF32() && isPlain(product.op, product.left.operand) &&
         isPlain(product.op, product.right.operand);
}

/// Of both products, which then have their narrow factors; nothing where they differ.
static std::optional<OperandPrecision> takePrecision(AttentionForm &form) {
  if (!givesAccumulators(form.scores.op) && !givesAccumulators(form.context.op) &&
      elementOf(form.weights).isF32())
    return OperandPrecision::f32;
  if (givesAccumulators(form.scores.op) && givesAccumulators(form.context.op) &&
      takeNarrowFactors(form.scores) && takeNarrowFactors(form.context))
    return OperandPrecision::bf16;
  return std::nullopt;
}

std::optional<TiledAttention> gantry::cpu::findAttention(func::FuncOp func,
                                                         const Registers &registers) {
  ValueRange results = func.getBody().front().getTerminator()->getOperands();
  if (results.size() != 1 || !hasElements(func))
    return std::nullopt;
  std::optional<AttentionForm> form = gantry::findAttention(results.front());
  std::optional<OperandPrecision> precision = form ? takePrecision(*form) : std::nullopt;
  if (!precision || !isPlainF32(form->scores) || !isPlainF32(form->context) ||
      !elementOf(form->first).isF32() ||
      form->context.left.factor !=
          form->context.op.getMatchingBlockArgument(form->context.left.operand))
    return std::nullopt;
  TiledAttention a;
  static_cast<AttentionForm &>(a) = std::move(*form);
  a.precision = *precision;
  a.queries = findDirectRows(a.scores, func);
  a.directKeys = findDirectColumns(a.scores, func);
  a.batch = a.scores.count(a.scores.batch);
  a.keys = a.scores.count(a.scores.columns);
  a.depth = a.scores.count(a.scores.k);
  a.width = a.context.count(a.context.columns);
  if (a.batch == 0 || !suitsAttention(a.scores.count(a.scores.rows), a.keys, a.depth, a.width))
    return std::nullopt;
  a.keysAlongK = isAlongK(a.scores, a.scores.right, a.scores.columns);
  a.valuesAlongK = isAlongK(a.context, a.context.right, a.context.columns);
  chooseTiles(a, registers);
  return a;
}
