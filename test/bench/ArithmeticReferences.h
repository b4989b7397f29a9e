// The functions that Gantry's are measured against, over many f32 at once, in
// f64.
#pragma once

#include <cstddef>

#define GANTRY_MEASURED_FUNCTIONS(X)                                                               \
  X(exp)                                                                                           \
  X(expm1)                                                                                         \
  X(log)                                                                                           \
  X(log1p)                                                                                         \
  X(rsqrt)                                                                                         \
  X(sin)                                                                                           \
  X(cos)                                                                                           \
  X(tan)                                                                                           \
  X(asin)                                                                                          \
  X(acos)                                                                                          \
  X(atan)                                                                                          \
  X(sinh)                                                                                          \
  X(cosh)                                                                                          \
  X(tanh)                                                                                          \
  X(asinh)                                                                                         \
  X(acosh)                                                                                         \
  X(atanh)                                                                                         \
  X(erf)

namespace references {
#define GANTRY_DECLARE(name) void name(const float *x, double *results, size_t count);
GANTRY_MEASURED_FUNCTIONS(GANTRY_DECLARE)
#undef GANTRY_DECLARE
} // namespace references
