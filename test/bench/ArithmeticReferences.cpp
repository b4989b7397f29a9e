// Loops over the C library's f64 functions, in a file of its own: it is compiled so that they
// become vectors (libmvec, within 4 units of f64's last place), which makes all f32 a matter of
// seconds.

#include "ArithmeticReferences.h"

#include <cmath>

#define GANTRY_REFERENCE(name, narrow, wide)                                                       \
  Function {                                                                                       \
    name,                                                                                          \
        [](const float *x, double *results, size_t count) {                                        \
          for (size_t i = 0; i < count; ++i) {                                                     \
            const double v = x[i];                                                                 \
            results[i] = narrow;                                                                   \
          }                                                                                        \
        },                                                                                         \
        [](long double v) -> long double { return wide; }                                          \
  }
#define GANTRY_SAME(name) GANTRY_REFERENCE(#name, std::name(v), std::name(v))

const std::vector<Function> &functions() {
  static const std::vector<Function> all = {
      GANTRY_SAME(exp),   GANTRY_SAME(expm1),
      GANTRY_SAME(log),   GANTRY_SAME(log1p),
      GANTRY_SAME(sin),   GANTRY_SAME(cos),
      GANTRY_SAME(tan),   GANTRY_SAME(asin),
      GANTRY_SAME(acos),  GANTRY_SAME(atan),
      GANTRY_SAME(sinh),  GANTRY_SAME(cosh),
      GANTRY_SAME(tanh),  GANTRY_SAME(asinh),
      GANTRY_SAME(acosh), GANTRY_SAME(atanh),
      GANTRY_SAME(erf),   GANTRY_REFERENCE("rsqrt", 1 / std::sqrt(v), 1 / std::sqrt(v))};
  return all;
}
