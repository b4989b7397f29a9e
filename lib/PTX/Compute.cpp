#include "Compute.h"

using namespace gantry::ptx;

namespace gantry::ptx {
extern const ComputeTable tableBaseline;
#ifdef GANTRY_PTX_X86
extern const ComputeTable tableV3;
extern const ComputeTable tableV4;
#endif
} // namespace gantry::ptx

const ComputeTable &gantry::ptx::computeTable() {
#ifdef GANTRY_PTX_X86
  static const ComputeTable *best = [] {
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return v4 ? &tableV4 : v3 ? &tableV3 : &tableBaseline;
  }();
  return *best;
#else
  return tableBaseline;
#endif
}
