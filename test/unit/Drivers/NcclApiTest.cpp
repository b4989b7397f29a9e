// What NcclApi.h says of NCCL, held against its own header; compiles where that is installed.
#include "CUDA/Libraries/NcclApi.h"
#include "SameCall.h"

#include <gtest/gtest.h>
#include <nccl.h>

namespace gantry::runtime::cuda::nccl {
namespace {

#define SAME_CALL(symbol, answer, ...)                                                             \
  static_assert(isSameCall<answer(__VA_ARGS__), decltype(::symbol)>,                               \
                #symbol " is another function in nccl.h");
#define GANTRY_NCCL_FUNCTION(name, symbol, ...) SAME_CALL(symbol, Result, __VA_ARGS__)
#define GANTRY_NCCL_QUESTION(name, symbol, answer, ...) SAME_CALL(symbol, answer, __VA_ARGS__)
#include "CUDA/Libraries/NcclFunctions.def"

#define SAME(ours, theirs)                                                                         \
  static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs), #theirs)
SAME(Result::success, ncclSuccess);
SAME(Result::unhandledCudaError, ncclUnhandledCudaError);
SAME(Result::systemError, ncclSystemError);
SAME(Result::internalError, ncclInternalError);
SAME(Result::invalidArgument, ncclInvalidArgument);
SAME(Result::invalidUsage, ncclInvalidUsage);
SAME(Result::remoteError, ncclRemoteError);
SAME(Result::inProgress, ncclInProgress);
SAME(DataType::i8, ncclInt8);
SAME(DataType::u8, ncclUint8);
SAME(DataType::i32, ncclInt32);
SAME(DataType::u32, ncclUint32);
SAME(DataType::i64, ncclInt64);
SAME(DataType::u64, ncclUint64);
SAME(DataType::f16, ncclFloat16);
SAME(DataType::f32, ncclFloat32);
SAME(DataType::f64, ncclFloat64);
SAME(DataType::bf16, ncclBfloat16);
SAME(Reduction::sum, ncclSum);

TEST(NcclApi, isWhatItsHeaderSays) {
  SUCCEED() << "held by static asserts, NCCL " << NCCL_VERSION_CODE;
}

} // namespace
} // namespace gantry::runtime::cuda::nccl
