// Measures the errors of Gantry's functions, as the table of docs/Arithmetic.md
// has them.
//
// A graph of one op is compiled and run on every f32 there is, and on many f64:
// random bits, all sizes, the range where the function is neither constant nor
// infinite, and around 1. The reference is the C library's function of twice
// the precision (f64 for f32, the x87's 80 bits for f64), which is good to less
// than a thousandth of the unit that errors are told in: that of the last place
// of the exact result. Of pow both are samples.
//
// Usage: gantry-measure-arithmetic [--stride=N] [--samples=N] [--cpu=NAME]
// [FUNCTION ...]
//   --stride=N    of f32 every N-th (default 1: all); --samples=N of f64, and
//   of pow (default 10000000)

#include "ArithmeticReferences.h"

#include "gantry-c/compiler.h"
#include "gantry-c/runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {
constexpr size_t kChunk = 1 << 16;

struct Function {
  const char *name; ///< of the op
  void (*narrow)(const float *x, double *results, size_t count);
  long double (*wide)(long double x);
};

namespace precise {
using namespace std;
long double rsqrt(long double x) { return 1 / std::sqrt(x); }
} // namespace precise

const Function kFunctions[] = {
#define GANTRY_FUNCTION(name)                                                                      \
  {#name, references::name, [](long double x) -> long double { return precise::name(x); }},
    GANTRY_MEASURED_FUNCTIONS(GANTRY_FUNCTION)
#undef GANTRY_FUNCTION
};

void check(gantry_status_t status, const char *message) {
  if (status == GANTRY_OK)
    return;
  std::fprintf(stderr, "error: %s\n", message);
  std::exit(1);
}

/// One op over kChunk elements as a plan, ready to run on one thread.
template <typename T>
class Kernel {
public:
  Kernel(const std::string &op, bool isBinary, const std::string &cpu) : isBinary(isBinary) {
    const std::string type =
        "tensor<" + std::to_string(kChunk) + (sizeof(T) == 8 ? "xf64>" : "xf32>");
    const std::string graph = "func.func @main(%x: " + type + (isBinary ? ", %y: " + type : "") +
                              ") -> " + type + " {\n  %0 = gantry." + op +
                              (isBinary ? " %x, %y : (" + type + ", " : " %x : (") + type +
                              ") -> " + type + "\n  return %0 : " + type + "\n}\n";
    const std::string flag = "target-cpu=" + cpu;
    const char *flags[] = {flag.c_str()};
    gantry_compile_request_t request{};
    request.struct_size = sizeof request;
    request.data = graph.data();
    request.data_size = graph.size();
    request.name = "graph.mlir";
    request.flags = flags;
    request.num_flags = 1;
    check(gantry_compile(&request, &artifact), gantry_compiler_last_error());
    gantry_runtime_options_t options{};
    options.struct_size = sizeof options;
    options.threads = 1;
    size_t size = 0;
    const void *bytes = gantry_artifact_data(artifact, &size);
    check(gantry_runtime_create(&options, &runtime), gantry_last_error());
    check(gantry_plan_load_memory(runtime, bytes, size, nullptr, nullptr, &plan),
          gantry_last_error());
    check(gantry_session_create(plan, nullptr, &session), gantry_last_error());
    check(gantry_bindings_create(plan, 0, &bindings), gantry_last_error());
  }
  ~Kernel() {
    gantry_bindings_destroy(bindings);
    gantry_session_destroy(session);
    gantry_plan_destroy(plan);
    gantry_runtime_destroy(runtime);
    gantry_artifact_destroy(artifact);
  }
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  const T *run(const T *x, const T *y) {
    bind("input0", x);
    if (isBinary)
      bind("input1", y);
    check(gantry_session_run(session, bindings), gantry_last_error());
    const void *data = nullptr;
    check(gantry_bindings_output_at(bindings, 0, &data), gantry_last_error());
    return static_cast<const T *>(data);
  }

private:
  bool isBinary;
  gantry_artifact_t *artifact = nullptr;
  gantry_runtime_t *runtime = nullptr;
  gantry_plan_t *plan = nullptr;
  gantry_session_t *session = nullptr;
  gantry_bindings_t *bindings = nullptr;

  void bind(const char *name, const T *data) {
    const int64_t dims[] = {int64_t(kChunk)};
    check(gantry_bindings_set_input(bindings, name, data, sizeof(T) == 8 ? GANTRY_F64 : GANTRY_F32,
                                    dims, 1),
          gantry_last_error());
  }
};

/// The largest error so far and where it was.
struct Worst {
  double units = 0, x = 0, y = 0;
};

/// In units of the last place of the exact result; infinite where kind or sign
/// are wrong. The last number and infinity are one unit apart.
template <typename T, typename Wide>
double errorOf(T actual, Wide exact) {
  using Limits = std::numeric_limits<T>;
  const double wrong = std::numeric_limits<double>::infinity();
  if (std::isnan(exact) || std::isnan(actual))
    return std::isnan(exact) && std::isnan(actual) ? 0 : wrong;
  if (std::signbit(exact) != std::signbit(actual))
    return wrong;
  if (std::isinf(actual))
    return std::fabs(exact) >= Limits::max() ? 0 : std::fabs(exact) > Limits::max() / 2 ? 1 : wrong;
  if (std::isinf(exact))
    return wrong;
  int exponent = 0;
  std::frexp(exact, &exponent);
  exponent = std::max(exponent, Limits::min_exponent) - Limits::digits;
  return double(std::ldexp(std::fabs(Wide(actual) - exact), -exponent));
}

template <typename T, typename Wide>
void compare(const T *x, const T *y, const T *actual, const Wide *exact, Worst &worst) {
  // A unit is at least so much of the number that it is told of; most results
  // need no closer look.
  const Wide part = std::ldexp(Wide(1), -std::numeric_limits<T>::digits);
  for (size_t i = 0; i < kChunk; ++i) {
    if (std::fabs(Wide(actual[i]) - exact[i]) <= Wide(worst.units) * part * std::fabs(exact[i]) &&
        std::signbit(actual[i]) == std::signbit(exact[i]))
      continue;
    if (const double units = errorOf(actual[i], exact[i]); units > worst.units)
      worst = {units, double(x[i]), y ? double(y[i]) : 0};
  }
}

Worst measureF32(const Function &function, const std::string &cpu, uint64_t stride) {
  Kernel<float> kernel(function.name, false, cpu);
  std::vector<float> x(kChunk);
  std::vector<double> exact(kChunk);
  Worst worst;
  uint64_t next = 0;
  while (next < uint64_t(1) << 32) {
    for (size_t i = 0; i < kChunk; ++i, next += stride) {
      const auto bits = uint32_t(next);
      std::memcpy(&x[i], &bits, sizeof bits);
    }
    function.narrow(x.data(), exact.data(), kChunk);
    compare(x.data(), static_cast<const float *>(nullptr), kernel.run(x.data(), nullptr),
            exact.data(), worst);
  }
  return worst;
}

/// Random arguments, a kind a chunk.
template <typename T>
T draw(std::mt19937_64 &random, size_t kind) {
  constexpr bool isWide = sizeof(T) == 8;
  const double unit = std::ldexp(double(random() >> 11), -53), sign = random() & 1 ? 1 : -1;
  switch (kind % 6) {
  case 0: {
    const uint64_t bits = random();
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }
  case 1:
    return T(sign * unit * (isWide ? 760 : 110));
  case 2:
    return T(sign * std::exp2(-60 * unit + 5));
  case 3:
    return T(sign * (1 + (random() & 1 ? 1 : -1) * std::exp2(-(isWide ? 52 : 23) * unit)));
  case 4:
    return T(sign * unit * 1e6);
  default:
    return T(sign * unit * 8);
  }
}

Worst measureF64(const Function &function, const std::string &cpu, uint64_t samples) {
  Kernel<double> kernel(function.name, false, cpu);
  std::mt19937_64 random(1);
  std::vector<double> x(kChunk);
  std::vector<long double> exact(kChunk);
  Worst worst;
  for (uint64_t chunk = 0; chunk * kChunk < samples; ++chunk) {
    for (double &value : x)
      value = draw<double>(random, chunk);
    for (size_t i = 0; i < kChunk; ++i)
      exact[i] = function.wide(x[i]);
    compare(x.data(), static_cast<const double *>(nullptr), kernel.run(x.data(), nullptr),
            exact.data(), worst);
  }
  return worst;
}

/// Two operands; half of the chunks are chosen so that the power is neither 0
/// nor infinite.
template <typename T, typename Wide>
Worst measureTwo(const std::string &name, Wide (*function)(Wide, Wide), const std::string &cpu,
                 uint64_t samples) {
  Kernel<T> kernel(name, true, cpu);
  std::mt19937_64 random(2);
  std::vector<T> x(kChunk), y(kChunk);
  std::vector<Wide> exact(kChunk);
  Worst worst;
  for (uint64_t chunk = 0; chunk * kChunk < samples; ++chunk) {
    for (size_t i = 0; i < kChunk; ++i) {
      x[i] = draw<T>(random, chunk / 2);
      y[i] = draw<T>(random, random());
      const double logarithm = std::log(std::fabs(double(x[i])));
      if (chunk % 2 && std::isfinite(logarithm) && logarithm != 0)
        y[i] = T(double(draw<T>(random, 1)) / logarithm);
      exact[i] = function(x[i], y[i]);
    }
    compare(x.data(), y.data(), kernel.run(x.data(), y.data()), exact.data(), worst);
  }
  return worst;
}

void print(const char *name, const char *type, const Worst &worst, bool isBinary) {
  std::printf("%-6s %s %6.3f  %a", name, type, worst.units, worst.x);
  if (isBinary)
    std::printf(", %a", worst.y);
  std::printf("\n");
  std::fflush(stdout);
}
} // namespace

int main(int argc, char **argv) {
  uint64_t stride = 1, samples = 10000000;
  std::string cpu = "native";
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--stride="))
      stride = std::max(1ull, std::strtoull(argv[i] + 9, nullptr, 10));
    else if (argument.starts_with("--samples="))
      samples = std::strtoull(argv[i] + 10, nullptr, 10);
    else if (argument.starts_with("--cpu="))
      cpu = argument.substr(6);
    else
      names.push_back(argument);
  }
  auto isWanted = [&](const char *name) {
    return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const Function &function : kFunctions) {
    if (!isWanted(function.name))
      continue;
    print(function.name, "f32", measureF32(function, cpu, stride), false);
    print(function.name, "f64", measureF64(function, cpu, samples), false);
  }
  if (isWanted("pow")) {
    print("pow", "f32", measureTwo<float, double>("pow", std::pow, cpu, samples), true);
    print("pow", "f64", measureTwo<double, long double>("pow", std::pow, cpu, samples), true);
  }
  if (isWanted("rem")) {
    print("rem", "f32", measureTwo<float, double>("rem", std::fmod, cpu, samples), true);
    print("rem", "f64", measureTwo<double, long double>("rem", std::fmod, cpu, samples), true);
  }
  return 0;
}
