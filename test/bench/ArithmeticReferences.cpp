// Loops over the C library's f64 functions, in a file of its own: it is
// compiled so that they become vectors (libmvec, within 4 units of f64's last
// place), which makes all f32 a matter of seconds.

#include "ArithmeticReferences.h"

#include <cmath>

namespace precise {
using namespace std;
static double rsqrt(double x) { return 1 / std::sqrt(x); }
} // namespace precise

#define GANTRY_DEFINE(name)                                                                        \
  void references::name(const float *x, double *results, size_t count) {                           \
    for (size_t i = 0; i < count; ++i)                                                             \
      results[i] = precise::name(double(x[i]));                                                    \
  }
GANTRY_MEASURED_FUNCTIONS(GANTRY_DEFINE)
