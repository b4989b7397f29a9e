// What CublasLtApi.h says of cuBLASLt, held against the Toolkit's own header; compiles where that
// is installed.
#include "CUDA/Libraries/CublasLtApi.h"
#include "SameCall.h"

#include <cublasLt.h>
#include <gtest/gtest.h>

namespace gantry::runtime::cuda::cublaslt {
namespace {

#define SAME_CALL(symbol, answer, ...)                                                             \
  static_assert(isSameCall<answer(__VA_ARGS__), decltype(::symbol)>,                               \
                #symbol " is another function in cublasLt.h");
#define GANTRY_CUBLASLT_FUNCTION(name, symbol, ...) SAME_CALL(symbol, Result, __VA_ARGS__)
#define GANTRY_CUBLASLT_QUESTION(name, symbol, answer, ...) SAME_CALL(symbol, answer, __VA_ARGS__)
#include "CUDA/Libraries/CublasLtFunctions.def"

#define SAME(ours, theirs)                                                                         \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)
SAME(Result::success, CUBLAS_STATUS_SUCCESS);
SAME(Result::notInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(Result::allocationFailed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(Result::invalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME(Result::architectureMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(Result::mappingError, CUBLAS_STATUS_MAPPING_ERROR);
SAME(Result::executionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(Result::internalError, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(Result::notSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(Result::licenseError, CUBLAS_STATUS_LICENSE_ERROR);
SAME(DataType::f32, CUDA_R_32F);
SAME(DataType::f16, CUDA_R_16F);
SAME(DataType::bf16, CUDA_R_16BF);
SAME(ComputeType::f32, CUBLAS_COMPUTE_32F);
SAME(ComputeType::tf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(Operation::none, CUBLAS_OP_N);
SAME(Operation::transpose, CUBLAS_OP_T);
SAME(LayoutAttribute::batchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(LayoutAttribute::batchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(ProductAttribute::transposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(ProductAttribute::transposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(PreferenceAttribute::workspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(PreferenceAttribute::reductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(PreferenceAttribute::alignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(PreferenceAttribute::alignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(PreferenceAttribute::alignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(PreferenceAttribute::alignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(flags::reduceInOrder, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);

static_assert(isAlike<Algorithm, cublasLtMatmulAlgo_t>);
static_assert(isAlike<Heuristic, cublasLtMatmulHeuristicResult_t>);
#define SAME_PLACE(ours, theirs)                                                                   \
  static_assert(offsetof(Heuristic, ours) == offsetof(cublasLtMatmulHeuristicResult_t, theirs))
SAME_PLACE(algorithm, algo);
SAME_PLACE(workspaceBytes, workspaceSize);
SAME_PLACE(state, state);
SAME_PLACE(waves, wavesCount);

TEST(CublasLtApi, isWhatTheToolkitSays) {
  SUCCEED() << "held by static asserts, cuBLAS " << CUBLAS_VERSION;
}

} // namespace
} // namespace gantry::runtime::cuda::cublaslt
