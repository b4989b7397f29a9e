#include "gantry/Drivers/CPUFeatures.h"

#include <gtest/gtest.h>

namespace gantry::runtime {
namespace {

using Names = std::vector<std::string>;

TEST(CPUFeatures, readsTheFirstProcessorsFlags) {
  EXPECT_EQ(parseCPUFeatures("processor\t: 0\nflags\t\t: sse avx2 fma\nvmx flags\t: vnmi\n\n"
                             "processor\t: 1\nflags\t\t: other\n"),
            (Names{"avx2", "fma", "sse"}));
  EXPECT_EQ(parseCPUFeatures("processor\t: 0\nFeatures\t: fp asimd\n"), (Names{"asimd", "fp"}));
  EXPECT_EQ(parseCPUFeatures(""), Names());
  EXPECT_EQ(parseCPUFeatures("flags"), Names());
  EXPECT_EQ(parseCPUFeatures("flags:"), Names());
}

TEST(CPUFeatures, thisMachineHasSome) { EXPECT_FALSE(machineFeatures().empty()); }

TEST(CPUFeatures, namesWhatIsMissing) {
  Names machine{"avx2", "fma", "sse"};
  EXPECT_FALSE(unmetByCPU(std::vector<std::string_view>{"fma", "sse"}, machine));
  Unmet lack = unmetByCPU(std::vector<std::string_view>{"avx512f", "fma", "amx_tile"}, machine);
  EXPECT_EQ(lack.what, "this machine's CPU lacks avx512f, amx_tile");
  EXPECT_EQ(lack.remedy, "compile the graph here, or for an older CPU with --target-cpu");
}

} // namespace
} // namespace gantry::runtime
