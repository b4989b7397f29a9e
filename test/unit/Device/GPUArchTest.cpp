// Names of architectures, and which code a GPU runs.
#include "gantry/Device/GPUArch.h"

#include <gtest/gtest.h>

namespace {
using namespace gantry;

TEST(GPUArch, HasANameWhetherOrNotItIsKnown) {
  EXPECT_EQ(parseGPUArch(gpuArchName(90)), 90u);
  EXPECT_EQ(parseGPUArch("sm_131"), 131u);
  for (const char *wrong : {"", "sm_", "sm_0", "sm_90a", "sm_-1", "90", "sm_99999999999"})
    EXPECT_FALSE(parseGPUArch(wrong)) << wrong;
}

TEST(GPUArch, RunsTheNewestCodeThatIsNotNewer) {
  EXPECT_EQ(gpuArchFor(90), 90u);
  EXPECT_EQ(gpuArchFor(91), 90u);
  EXPECT_EQ(gpuArchFor(900), 121u);
  EXPECT_EQ(gpuArchFor(74), std::nullopt);
  EXPECT_EQ(gpuArchFor(0), std::nullopt);
}

} // namespace
