// A small cuBLASLt in the same file: products become work of a stream like kernels, are computed on
// the host, term by term in order with fused multiply-adds, and what they touch is checked.
// GANTRY_CUBLASLT_LIB names this file as well.
#include "CUDA/Libraries/CublasLtApi.h"
#include "Fake.h"

#include <bit>
#include <cmath>
#include <cstring>

// Signatures are those that the driver calls.
namespace gantry::runtime::cuda::cublaslt {
#define GANTRY_CUBLASLT_FUNCTION(name, symbol, ...) extern "C" Result symbol(__VA_ARGS__);
#define GANTRY_CUBLASLT_QUESTION(name, symbol, answer, ...) extern "C" answer symbol(__VA_ARGS__);
#include "CUDA/Libraries/CublasLtFunctions.def"
} // namespace gantry::runtime::cuda::cublaslt

namespace fake {

using namespace gantry::runtime::cuda::cublaslt;
using Status = gantry::runtime::cuda::cublaslt::Result;

namespace {

struct Matrix {
  DataType type = DataType::f32;
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0, stride = 0;
  int32_t batch = 1;
};

struct Described {
  ComputeType compute = ComputeType::f32;
  Operation a = Operation::none, b = Operation::none;
};

/// As the manual has them: any reduction, addresses at 256.
struct Preferred {
  uint64_t workspace = 0;
  uint32_t schemes = 7;
  std::array<uint32_t, 4> alignments = {256, 256, 256, 256};
};

uint64_t bytesOf(DataType type) { return type == DataType::f32 ? 4 : 2; }

float read(DataType type, uint64_t address) {
  if (type == DataType::f32) {
    float value;
    std::memcpy(&value, reinterpret_cast<void *>(address), sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, reinterpret_cast<void *>(address), sizeof bits);
  return type == DataType::f16 ? static_cast<float>(std::bit_cast<_Float16>(bits))
                               : std::bit_cast<float>(uint32_t(bits) << 16);
}

uint16_t roundToBF16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return std::isnan(value) ? 0x7fff
                           : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

void write(DataType type, uint64_t address, float value) {
  if (type == DataType::f32) {
    std::memcpy(reinterpret_cast<void *>(address), &value, sizeof value);
    return;
  }
  const uint16_t bits = type == DataType::f16
                            ? std::bit_cast<uint16_t>(static_cast<_Float16>(value))
                            : roundToBF16(value);
  std::memcpy(reinterpret_cast<void *>(address), &bits, sizeof bits);
}

float cutToTF32(float value) {
  return std::isfinite(value)
             ? std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000) & ~0x1fffu)
             : value;
}

/// The sides of a result that a block computes. What is suggested first is best for large results,
/// and too large for small ones, as the real library's may be.
struct Tile {
  uint64_t rows, columns;
};
constexpr Tile tiles[] = {{128, 256}, {64, 64}, {2, 2}};
constexpr uint64_t multiprocessors = 132;

float wavesOf(const Tile &tile, const Matrix &d) {
  const uint64_t blocks = (d.rows + tile.rows - 1) / tile.rows *
                          ((d.columns + tile.columns - 1) / tile.columns) * uint64_t(d.batch);
  return static_cast<float>(blocks) / multiprocessors;
}

/// What an algorithm is for, and its tile, which is all that there is to it.
Algorithm algorithmFor(const Described &how, const Matrix &a, const Matrix &b, const Matrix &d,
                       const Preferred &preferred, uint64_t tile = 0) {
  Algorithm algorithm;
  algorithm.data[0] = uint64_t(how.compute) << 32 | uint64_t(how.a) << 1 | uint64_t(how.b);
  algorithm.data[1] = d.rows << 32 | d.columns;
  algorithm.data[2] = a.rows << 32 | a.columns;
  algorithm.data[3] = b.rows << 32 | b.columns;
  algorithm.data[4] = preferred.workspace;
  algorithm.data[5] = tile << 32 | preferred.schemes;
  algorithm.data[6] = uint64_t(preferred.alignments[0]) << 32 | preferred.alignments[3];
  algorithm.data[7] = preferred.alignments[1];
  return algorithm;
}

bool isAlike(const Algorithm &a, const Algorithm &b) {
  return std::memcmp(&a, &b, 4 * sizeof(uint64_t)) == 0;
}

/// A product that waits in a stream.
struct Multiplication final : LibraryWork {
  Described how;
  Matrix a, b, d;
  uint64_t atA = 0, atB = 0, atD = 0, workspace = 0, workspaceBytes = 0;

  uint64_t terms() const { return how.a == Operation::none ? a.columns : a.rows; }

  static uint64_t place(const Matrix &matrix, uint64_t at, bool isTurned, int32_t index,
                        uint64_t row, uint64_t column) {
    if (isTurned)
      std::swap(row, column);
    const auto element =
        int64_t(index) * matrix.stride + int64_t(column) * matrix.leading + int64_t(row);
    return at + uint64_t(element) * bytesOf(matrix.type);
  }

  std::vector<Touched> touches() const override {
    std::vector<Touched> all;
    auto add = [&](const Matrix &matrix, uint64_t at, bool writes) {
      for (int32_t i = 0; i < matrix.batch; ++i)
        for (uint64_t column = 0; column < matrix.columns; ++column)
          all.push_back(
              {place(matrix, at, false, i, 0, column), matrix.rows * bytesOf(matrix.type), writes});
    };
    add(a, atA, false), add(b, atB, false), add(d, atD, true);
    if (workspaceBytes)
      all.push_back({workspace, workspaceBytes, true});
    return all;
  }

  float factor(const Matrix &matrix, uint64_t at, Operation operation, int32_t index, uint64_t row,
               uint64_t column) const {
    const float value =
        read(matrix.type, place(matrix, at, operation == Operation::transpose, index, row, column));
    return how.compute == ComputeType::tf32 ? cutToTF32(value) : value;
  }

  void run() const override {
    for (int32_t i = 0; i < d.batch; ++i)
      for (uint64_t column = 0; column < d.columns; ++column)
        for (uint64_t row = 0; row < d.rows; ++row) {
          float sum = 0;
          for (uint64_t t = 0; t < terms(); ++t)
            sum = std::fma(factor(a, atA, how.a, i, row, t), factor(b, atB, how.b, i, t, column),
                           sum);
          write(d.type, place(d, atD, false, i, row, column), sum);
        }
    if (workspaceBytes) // which holds nothing that anybody may rely on
      std::memset(reinterpret_cast<void *>(workspace), 0xa5, workspaceBytes);
  }
};

/// What CUDA's failures are in this library's words.
Status statusOf(gantry::runtime::cuda::Result result) {
  using From = gantry::runtime::cuda::Result;
  return result == From::success        ? Status::success
         : result == From::outOfMemory  ? Status::allocationFailed
         : result == From::notSupported ? Status::notSupported
                                        : Status::executionFailed;
}

template <typename T>
T *objectOf(const void *handle) {
  return state().ofLibraries.contains(handle) ? static_cast<T *>(const_cast<void *>(handle))
                                              : nullptr;
}

template <typename T, typename Handle>
Status make(Handle *handle, T object) {
  auto *made = new T(object);
  state().ofLibraries.insert(made);
  *handle = reinterpret_cast<Handle>(made);
  return Status::success;
}

template <typename T>
Status drop(const Call &call, const void *handle) {
  auto *object = objectOf<T>(handle);
  if (!object)
    return Status::invalidValue;
  state().ofLibraries.erase(handle);
  delete object;
  return statusOf(call.end());
}

template <typename T>
Status set(T &into, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return Status::invalidValue;
  std::memcpy(&into, value, bytes);
  return Status::success;
}

/// Whether the sizes of three matrices go together, as the library demands it.
bool fit(const Described &how, const Matrix &a, const Matrix &b, const Matrix &d) {
  auto rows = [](const Matrix &m, Operation o) {
    return o == Operation::none ? m.rows : m.columns;
  };
  auto columns = [](const Matrix &m, Operation o) {
    return o == Operation::none ? m.columns : m.rows;
  };
  return rows(a, how.a) == d.rows && columns(a, how.a) == rows(b, how.b) &&
         columns(b, how.b) == d.columns && a.batch == d.batch && b.batch == d.batch &&
         a.leading >= int64_t(a.rows) && b.leading >= int64_t(b.rows) &&
         d.leading >= int64_t(d.rows) && a.type == b.type &&
         (a.type == d.type || d.type == DataType::f32);
}

struct HandleOf {
  Context *context;
};

std::string lastTile; ///< of the last product

} // namespace
} // namespace fake

const char *fake::tileOfLastProduct() { return lastTile.c_str(); }

using namespace fake;
using Kind = Call::Kind;

#define FAKE_CUBLASLT extern "C" __attribute__((visibility("default"))) Status
#define FAKE_CUBLASLT_BEGIN(kind)                                                                  \
  Call call(__func__, kind);                                                                       \
  if (call.isOver())                                                                               \
  return statusOf(call.result())

extern "C" __attribute__((visibility("default"))) size_t cublasLtGetVersion() { return 130100; }

extern "C" __attribute__((visibility("default"))) const char *cublasLtGetStatusName(Status status) {
  return status == Status::allocationFailed  ? "CUBLAS_STATUS_ALLOC_FAILED"
         : status == Status::executionFailed ? "CUBLAS_STATUS_EXECUTION_FAILED"
         : status == Status::notSupported    ? "CUBLAS_STATUS_NOT_SUPPORTED"
                                             : "CUBLAS_STATUS_INVALID_VALUE";
}

FAKE_CUBLASLT cublasLtCreate(Handle *handle) {
  FAKE_CUBLASLT_BEGIN(Kind::inContext);
  if (capturesHere())
    fault("cublasLtCreate while something is captured");
  return make(handle, HandleOf{currentContext()});
}
FAKE_CUBLASLT cublasLtDestroy(Handle handle) {
  FAKE_CUBLASLT_BEGIN(Kind::frees);
  return drop<HandleOf>(call, handle);
}

FAKE_CUBLASLT cublasLtMatrixLayoutCreate(Layout *layout, DataType type, uint64_t rows,
                                         uint64_t columns, int64_t leading) {
  FAKE_CUBLASLT_BEGIN(Kind::asks);
  return make(layout, Matrix{type, rows, columns, leading, 0, 1});
}
FAKE_CUBLASLT cublasLtMatrixLayoutSetAttribute(Layout layout, LayoutAttribute attribute,
                                               const void *value, size_t bytes) {
  FAKE_CUBLASLT_BEGIN(Kind::asks);
  auto *matrix = objectOf<Matrix>(layout);
  if (!matrix)
    return Status::invalidValue;
  return attribute == LayoutAttribute::batchCount ? set(matrix->batch, value, bytes)
                                                  : set(matrix->stride, value, bytes);
}
FAKE_CUBLASLT cublasLtMatrixLayoutDestroy(Layout layout) {
  FAKE_CUBLASLT_BEGIN(Kind::frees);
  return drop<Matrix>(call, layout);
}

FAKE_CUBLASLT cublasLtMatmulDescCreate(ProductDescription *product, ComputeType compute,
                                       DataType scale) {
  FAKE_CUBLASLT_BEGIN(Kind::asks);
  if (scale != DataType::f32)
    return Status::notSupported;
  return make(product, Described{compute, Operation::none, Operation::none});
}
FAKE_CUBLASLT cublasLtMatmulDescSetAttribute(ProductDescription product, ProductAttribute attribute,
                                             const void *value, size_t bytes) {
  FAKE_CUBLASLT_BEGIN(Kind::asks);
  auto *described = objectOf<Described>(product);
  if (!described)
    return Status::invalidValue;
  return set(attribute == ProductAttribute::transposeA ? described->a : described->b, value, bytes);
}
FAKE_CUBLASLT cublasLtMatmulDescDestroy(ProductDescription product) {
  FAKE_CUBLASLT_BEGIN(Kind::frees);
  return drop<Described>(call, product);
}

FAKE_CUBLASLT cublasLtMatmulPreferenceCreate(Preference *preference) {
  FAKE_CUBLASLT_BEGIN(Kind::asks);
  return make(preference, Preferred{});
}
FAKE_CUBLASLT cublasLtMatmulPreferenceSetAttribute(Preference preference,
                                                   PreferenceAttribute attribute, const void *value,
                                                   size_t bytes) {
  FAKE_CUBLASLT_BEGIN(Kind::asks);
  auto *preferred = objectOf<Preferred>(preference);
  if (!preferred)
    return Status::invalidValue;
  if (attribute == PreferenceAttribute::workspaceBytes)
    return set(preferred->workspace, value, bytes);
  if (attribute == PreferenceAttribute::reductionSchemes)
    return set(preferred->schemes, value, bytes);
  return set(preferred->alignments[size_t(attribute) - size_t(PreferenceAttribute::alignmentA)],
             value, bytes);
}
FAKE_CUBLASLT cublasLtMatmulPreferenceDestroy(Preference preference) {
  FAKE_CUBLASLT_BEGIN(Kind::frees);
  return drop<Preferred>(call, preference);
}

FAKE_CUBLASLT cublasLtMatmulAlgoGetHeuristic(Handle handle, ProductDescription product, Layout a,
                                             Layout b, Layout c, Layout d, Preference preference,
                                             int most, Heuristic *found, int *count) {
  FAKE_CUBLASLT_BEGIN(Kind::inContext);
  *count = 0;
  const auto *how = objectOf<Described>(product);
  const auto *left = objectOf<Matrix>(a), *right = objectOf<Matrix>(b),
             *result = objectOf<Matrix>(d);
  const auto *preferred = objectOf<Preferred>(preference);
  if (!objectOf<HandleOf>(handle) || !how || !left || !right || !result || !preferred || c != d ||
      most < 1)
    return Status::invalidValue;
  if (!fit(*how, *left, *right, *result))
    return Status::invalidValue;
  for (uint64_t tile = 0;
       tile < (state().options.suggests_one ? 1 : std::size(tiles)) && *count < most;
       ++tile, ++*count) {
    Heuristic &each = found[*count] = {};
    each.algorithm = algorithmFor(*how, *left, *right, *result, *preferred, tile);
    each.workspaceBytes = preferred->workspace;
    each.waves = wavesOf(tiles[tile], *result);
  }
  return Status::success;
}

FAKE_CUBLASLT cublasLtMatmul(Handle handle, ProductDescription product, const void *alpha,
                             const void *a, Layout layoutA, const void *b, Layout layoutB,
                             const void *beta, const void *, Layout layoutC, void *d,
                             Layout layoutD, const Algorithm *algorithm, void *workspace,
                             size_t workspaceBytes, StreamHandle streamHandle) {
  auto *stream = reinterpret_cast<Stream *>(streamHandle);
  Call call(__func__, Kind::inContext);
  if (!state().streams.contains(stream))
    return Status::invalidValue;
  if (call.result() == gantry::runtime::cuda::Result::captureUnsupported && stream->capture)
    breakCapture(*stream->capture);
  if (call.isOver())
    return statusOf(call.result());
  const auto *its = objectOf<HandleOf>(handle);
  if (!its || its->context != stream->context || stream->context != currentContext()) {
    fault("cublasLtMatmul: handle, stream and context do not belong together");
    return Status::invalidValue;
  }
  auto work = std::make_shared<Multiplication>();
  work->how = *objectOf<Described>(product);
  work->a = *objectOf<Matrix>(layoutA), work->b = *objectOf<Matrix>(layoutB);
  work->d = *objectOf<Matrix>(layoutD);
  work->atA = bits(a), work->atB = bits(b), work->atD = bits(d);
  work->workspace = bits(workspace), work->workspaceBytes = workspaceBytes;
  if (*static_cast<const float *>(alpha) != 1 || *static_cast<const float *>(beta) != 0 ||
      layoutC != layoutD)
    return Status::notSupported;
  if (!isAlike(*algorithm, algorithmFor(work->how, work->a, work->b, work->d, {})))
    fault("cublasLtMatmul: the algorithm is another product's");
  if (workspaceBytes != algorithm->data[4] || (workspaceBytes && work->workspace % 256 != 0))
    fault("cublasLtMatmul: the workspace is not what the algorithm was chosen for");
  if (algorithm->data[5] & 1)
    fault("cublasLtMatmul: the algorithm may add up in any order");
  if (work->atA % (algorithm->data[6] >> 32) || work->atB % algorithm->data[7] ||
      work->atD % (algorithm->data[6] & 0xffffffff))
    fault("cublasLtMatmul: an address is not aligned as the algorithm needs it");
  Work queued;
  queued.kind = Work::Kind::library;
  queued.inLibrary = work;
  queued.name = "cublasLtMatmul of " + std::to_string(work->d.columns) + "x" +
                std::to_string(work->d.rows) + "x" + std::to_string(work->terms());
  const Tile &tile = tiles[algorithm->data[5] >> 32];
  lastTile = std::to_string(tile.rows) + "x" + std::to_string(tile.columns);
  enqueue(*stream, std::move(queued));
  return Status::success;
}
