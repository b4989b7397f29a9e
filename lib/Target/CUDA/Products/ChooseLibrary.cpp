#include "ChooseLibrary.h"

#include "CoreTiles.h"

#include "gantry/Target/CUDA/CUDATarget.h"

using namespace gantry;
using namespace gantry::gpu;
using gantry::plan::MatrixProduct;
using gantry::plan::StoredMatrix;

/// From one kernel of a graph to the next; until its first bytes come, and after its last ones
/// (docs/designs/libraries.md).
static constexpr double kLaunch = 1.1e-6, kFirstBytes = 1.9e-6;
/// Bytes that memory gives or takes, and cycles that tiles on cores and on lanes are counted in.
static constexpr double kBytesPerSecond = 3.0e12, kCoreCycles = 2.4e9, kLaneCycles = 1.4e9;
/// What the library's kernels reach where all multiprocessors are busy, with tensor cores.
static constexpr double kNarrowFlops = 640e12, kTF32Flops = 330e12;
/// Products of fewer rows or columns were not measured, nor were those with lines that begin
/// elsewhere than where tensor cores read at once.
static constexpr uint64_t kFewestRows = 64, kLineAlignment = 16;
/// The sides of what one multiprocessor computes for the library at a time.
static constexpr uint64_t kLibraryTile = 64;

static std::optional<CoreKind> coresFor(const MatrixProduct &product, int64_t arch) {
  if (arch < kTensorCoreArch || std::min(product.rows, product.columns) < uint64_t(kFewestCoreRows))
    return std::nullopt;
  if (product.type == ElementType::f16)
    return CoreKind::f16;
  if (product.type == ElementType::bf16)
    return CoreKind::bf16;
  return product.isTF32 ? std::optional(CoreKind::tf32) : std::nullopt;
}

/// Tiles through registers: of those in stages nothing was measured, though they are taken where
/// they can be (docs/designs/gpu-code.md).
double gantry::gpu::secondsOfKernel(const MatrixProduct &product, int64_t arch) {
  const ProductSizes sizes{int64_t(product.batch), int64_t(product.rows), int64_t(product.columns),
                           int64_t(product.terms)};
  if (std::optional<CoreKind> kind = coresFor(product, arch)) {
    const CoreShape shape = coreShapeOf(*kind);
    const auto bytes = int64_t(elementTypeSize(product.type));
    const CoreTile tile = chooseCoreTile(sizes, shape, bytes);
    return kLaunch + costOf(tile, sizes, shape, bytes).cycles() / kCoreCycles;
  }
  constexpr int64_t bytes = sizeof(float);
  return kLaunch + costOf(chooseTile(sizes, bytes), sizes, bytes).cycles() / kLaneCycles;
}

/// In waves of tiles, none of whose sums are cut; or what memory gives.
double gantry::gpu::secondsOfLibrary(const MatrixProduct &product) {
  const double flops = product.type == ElementType::f32 ? kTF32Flops : kNarrowFlops;
  const uint64_t tiles = product.batch * llvm::divideCeil(product.rows, kLibraryTile) *
                         llvm::divideCeil(product.columns, kLibraryTile);
  const double waves = std::ceil(double(tiles) / kMultiprocessors);
  const double wave =
      2.0 * double(kLibraryTile * kLibraryTile * product.terms) / (flops / kMultiprocessors);
  const double bytes =
      double(product.leftBytes()) + double(product.rightBytes()) + double(product.resultBytes());
  return kLaunch + kFirstBytes + std::max(waves * wave, bytes / kBytesPerSecond);
}

double gantry::gpu::secondsOfPass(uint64_t bytes) {
  return kLaunch + kFirstBytes + 2 * double(bytes) / kBytesPerSecond;
}

static bool hasAlignedLines(const MatrixProduct &product) {
  auto isAligned = [](const StoredMatrix &matrix, ElementType type) {
    const uint64_t size = elementTypeSize(type);
    return matrix.line * size % kLineAlignment == 0 && matrix.stride * size % kLineAlignment == 0;
  };
  return isAligned(product.left, product.type) && isAligned(product.right, product.type) &&
         isAligned(product.result, product.resultType());
}

/// Of a type for which the library has tensor cores on all those GPUs, and in sizes and places like
/// those that figures are of.
static bool isKnown(const MatrixProduct &product, int64_t arch) {
  const bool isNarrow = product.type == ElementType::f16 ||
                        (product.type == ElementType::bf16 && arch >= kTensorCoreArch);
  return (isNarrow || product.isTF32) && std::min(product.rows, product.columns) >= kFewestRows &&
         hasAlignedLines(product);
}

bool gantry::gpu::isWorthLibrary(const MatrixProduct &product, int64_t arch, uint64_t turned) {
  if (!isKnown(product, arch))
    return false;
  double apart = secondsOfLibrary(product) + secondsOfPass(product.resultBytes());
  if (turned > 0)
    apart += secondsOfPass(turned);
  return secondsOfKernel(product, arch) >= kWorthLibrary * apart;
}
