// Which products are worth tiles of threads, and how their loops are numbered.

#include "Product.h"

#include "Tile.h"

using namespace mlir;
using namespace gantry;
using namespace gantry::gpu;

/// Shorter sums are computed element by element.
static constexpr int64_t kSmallestK = 16;
/// So are those of matrices of one row or column, of which there are several, up to here: windows
/// of a depthwise convolution overlap, and caches know that.
static constexpr int64_t kSmallestKOfLine = 64;
/// Images of a batch are tiles of their own when they have so many positions.
static constexpr int64_t kManyColumns = 1024;

/// Batches of images are many tiles already.
static void splitColumns(Product &product) {
  while (product.columns.size() > 1 &&
         product.count(ArrayRef(product.columns).drop_front()) >= kManyColumns) {
    product.batch.push_back(product.columns.front());
    product.columns.erase(product.columns.begin());
  }
}

bool gantry::gpu::isWorthTiles(const ProductSizes &sizes) {
  auto [batch, rows, columns, sizeK] = sizes;
  if (rows * columns * batch == 0 || sizeK < kSmallestK || rows * columns == 1)
    return false;
  return std::min(rows, columns) > 1 || batch == 1 || sizeK >= kSmallestKOfLine;
}

std::optional<Product> gantry::gpu::findTiledProduct(Value result) {
  std::optional<Product> product = findProduct(skipMoves(result));
  if (!product)
    return std::nullopt;
  splitColumns(*product);
  return isWorthTiles(ProductSizes::of(*product)) ? product : std::nullopt;
}
