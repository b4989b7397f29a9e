#include "gantry/Drivers/CPUFeatures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace gantry::runtime {
namespace {

using Names = std::vector<std::string>;

/// A processor whose leaves say what is given and nothing else.
CPUID processor(std::map<std::pair<uint32_t, uint32_t>, CPUIDRegisters> leaves, uint64_t xcr0) {
  return {[leaves = std::move(leaves)](uint32_t leaf, uint32_t subleaf) {
            auto found = leaves.find({leaf, subleaf});
            return found == leaves.end() ? CPUIDRegisters() : found->second;
          },
          xcr0};
}

/// All bits of every leaf, as no processor has them.
CPUID everything(uint64_t xcr0) {
  return {[](uint32_t, uint32_t) { return CPUIDRegisters{~0U, ~0U, ~0U, ~0U}; }, xcr0};
}

bool contains(const Names &names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(CPUFeatures, areReadFromTheirBits) {
  EXPECT_EQ(featuresOf(processor({}, ~0ULL)), Names());
  EXPECT_EQ(featuresOf(processor({{{1, 0}, {0, 0, 1U << 9 | 1U << 23, 0}}}, 0)),
            (Names{"popcnt", "ssse3"}));
  EXPECT_EQ(featuresOf(processor({{{7, 1}, {1U << 5, 0, 0, 0}}}, 0xe6)), (Names{"avx512_bf16"}));
}

TEST(CPUFeatures, needTheirRegistersSaved) {
  const Names none = featuresOf(everything(0)), ymm = featuresOf(everything(0x7)),
              zmm = featuresOf(everything(0xe7));
  EXPECT_TRUE(contains(none, "popcnt") && contains(none, "bmi2") && contains(none, "x86-64-v2"));
  EXPECT_FALSE(contains(none, "avx") || contains(none, "fma") || contains(none, "x86-64-v3"));
  EXPECT_TRUE(contains(ymm, "avx2") && contains(ymm, "xop") && contains(ymm, "x86-64-v3"));
  EXPECT_FALSE(contains(ymm, "avx512f") || contains(ymm, "x86-64-v4"));
  EXPECT_TRUE(contains(zmm, "avx512_fp16") && contains(zmm, "x86-64-v4"));
  EXPECT_TRUE(std::is_sorted(zmm.begin(), zmm.end()));
}

TEST(CPUFeatures, ofAMXNeedTheStateOfItsTiles) {
  const CPUID processorWithAMX =
      processor({{{7, 0}, {0, 0, 0, 1U << 22 | 1U << 24 | 1U << 25}}}, 0);
  const auto featuresWith = [&](uint64_t xcr0) {
    return featuresOf(CPUID{processorWithAMX.registers, xcr0});
  };
  EXPECT_EQ(featuresWith(0xe7), Names());
  EXPECT_EQ(featuresWith(0x200e7), Names()); // the shapes alone
  EXPECT_EQ(featuresWith(0x600e7), (Names{"amx_bf16", "amx_int8", "amx_tile"}));
}

/// Linux permits it where it says that it saves the registers, and nowhere else.
TEST(CPUFeatures, ofAMXArePermitted) {
  const Unmet unmet = unmetByPermission();
  EXPECT_EQ(!unmet, contains(machineFeatures(), "amx_tile"));
  if (unmet)
    EXPECT_EQ(unmet.what.find("Linux does not let this process use the registers of AMX: "), 0U);
}

TEST(CPUFeatures, makeUpLevels) {
  EXPECT_EQ(membersOf("fma"), (std::vector<std::string_view>{"fma"}));
  EXPECT_EQ(membersOf("x86-64-v2").size(), 7U);
  EXPECT_EQ(membersOf("x86-64-v4").size(), 20U);
  Unmet lack =
      unmetByCPU(std::vector<std::string_view>{"x86-64-v4", "gfni"}, featuresOf(everything(0x7)));
  EXPECT_EQ(lack.what, "this machine's CPU lacks avx512f, avx512dq, avx512cd, avx512bw, avx512vl");
}

TEST(CPUFeatures, ofAArch64AreReadFromTheKernelsWords) {
  EXPECT_EQ(featuresOf(Capabilities{}), Names());
  // The same bit of the other word is another feature.
  EXPECT_EQ(featuresOf(Capabilities{1U << 20 | 1U << 13, 1U << 14}), (Names{"asimddp", "bf16"}));
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
