// Training steps of transformers: what half of the peak costs.
#include "LongTests.h"
#include "Problems.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

namespace {
using namespace gantry;
using namespace gantry::remat;

struct Sized {
  uint32_t layers, fine;
  double mostAdded; ///< the part of the seconds that half of the peak may cost
};

class Transformers : public testing::TestWithParam<Sized> {};

TEST_P(Transformers, HalfOfThePeak) {
  Problem problem = test::Transformer(GetParam().layers, GetParam().fine).take();
  ASSERT_EQ(checkProblem(problem), "");
  problem.limit = UINT64_MAX;
  const Answer plain = solve(problem, 0);
  for (double part : {0.5, 0.3, 0.2}) {
    problem.limit = uint64_t(double(plain.peak) * part);
    auto start = std::chrono::steady_clock::now();
    const Answer found = solve(problem, test::shortOrLong(0, 100'000));
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(check(problem, found), "");
    EXPECT_LE(found.peak, problem.limit);
    EXPECT_LE(leastPeak(problem), found.peak);
    const double added = found.seconds / plain.seconds - 1;
    EXPECT_LE(added, part == 0.5 ? GetParam().mostAdded : 0.35);
    std::printf("%zu steps, %.0f MiB: %.0f MiB with %zu steps run again, %.1f %% more seconds; "
                "took %.2f s\n",
                problem.steps.size(), double(plain.peak) / (1 << 20),
                double(found.peak) / (1 << 20), found.again.size(), 100 * added, took.count());
  }
}

INSTANTIATE_TEST_SUITE_P(Remat, Transformers,
                         testing::Values(Sized{12, 1, 0.03}, Sized{12, 8, 0.1},
                                         Sized{24, 14, 0.15}));

} // namespace
