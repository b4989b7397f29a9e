// The part of cuBLASLt that is used, in our own words, as Api.h has CUDA's: types here, functions
// in CublasLtFunctions.def. Nothing of it differs between the versions 12 and 13; a test holds it
// against the Toolkit's cublasLt.h where that is installed.
#pragma once

#include "CUDA/Api.h"

namespace gantry::runtime::cuda::cublaslt {

enum class Result : int {
  success = 0,
  notInitialized = 1,
  allocationFailed = 3,
  invalidValue = 7,
  architectureMismatch = 8,
  mappingError = 11,
  executionFailed = 13,
  internalError = 14,
  notSupported = 15,
  licenseError = 16,
};

enum class DataType : int { f32 = 0, f16 = 2, bf16 = 14 };
enum class ComputeType : int { f32 = 68, tf32 = 77 };
enum class Operation : int { none = 0, transpose = 1 };

enum class LayoutAttribute : int { batchCount = 5, batchStride = 6 };
enum class ProductAttribute : int { transposeA = 3, transposeB = 4 };
enum class PreferenceAttribute : int {
  workspaceBytes = 1,
  reductionSchemes = 3,
  alignmentA = 5,
  alignmentB = 6,
  alignmentC = 7,
  alignmentD = 8,
};

namespace flags {
/// How parts of a sum that several blocks have become one: kept as f32 in the workspace, and added
/// in order by a step of their own.
inline constexpr unsigned reduceInOrder = 2;
} // namespace flags

using Handle = struct HandleOpaque *;
using Layout = struct LayoutOpaque *;
using ProductDescription = struct ProductOpaque *;
using Preference = struct PreferenceOpaque *;

/// Which kernel computes a product, and how it is set up; valid for one version of the library.
struct Algorithm {
  uint64_t data[8] = {};
};

struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes = 0;
  Result state = Result::success;
  float waves = 0;
  int reserved[4] = {};
};

} // namespace gantry::runtime::cuda::cublaslt
