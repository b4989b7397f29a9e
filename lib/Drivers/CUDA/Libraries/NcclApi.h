// The part of NCCL that is used, in our own words, as CublasLtApi.h has cuBLASLt's: types here,
// functions in NcclFunctions.def. Names and numbers are those of NCCL 2.10 and newer.
#pragma once

#include "CUDA/Api.h"

namespace gantry::runtime::cuda::nccl {

enum class Result : int {
  success = 0,
  unhandledCudaError = 1,
  systemError = 2,
  internalError = 3,
  invalidArgument = 4,
  invalidUsage = 5,
  remoteError = 6,
  inProgress = 7,
};

enum class DataType : int {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9,
};

enum class Reduction : int { sum = 0 };

using Communicator = struct CommunicatorOpaque *;

} // namespace gantry::runtime::cuda::nccl
