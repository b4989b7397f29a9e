// The one view of a kernel's variants, over plans of today and from before variants.
#include "SamplePlan.h"

#include "gantry/Plan/KernelVariants.h"

#include <functional>
#include <gtest/gtest.h>

namespace {
using namespace gantry;
using namespace gantry::plan;
using namespace gantry::plan::test;

/// "driver symbol" of each variant of the sample's kernel, and what it is called.
std::vector<std::string> variantsAfter(const std::function<void(Sample &)> &change) {
  Sample sample = makeSample();
  change(sample);
  Expected<PlanFile> file = PlanFile::copyOf(sample.bytes());
  EXPECT_TRUE(file.ok()) << file.status().message();
  std::vector<std::string> lines;
  if (file)
    for (const KernelVariant &variant : variantsOf(file->plan(), *file->plan().kernels()->Get(0)))
      lines.push_back(std::string(variant.symbol) + ": " + variant.describe(file->plan()) + ", " +
                      std::string(variant.driver));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(KernelVariants, anOldKernelIsHostCodeForBothDriversThatRunIt) {
  EXPECT_EQ(variantsAfter([](Sample &) {}), (Lines{"add_0: code for x86-64 avx2 fma, host",
                                                   "add_0: code for x86-64 avx2 fma, sim"}));
}

TEST(KernelVariants, anOldCustomKernelIsRegistered) {
  EXPECT_EQ(variantsAfter([](Sample &s) { s.plan.kernels[0]->custom = true; }),
            Lines{"add_0: the registered kernel, host"});
}

TEST(KernelVariants, anOldKernelOfGPUCodeIsForTheirDriver) {
  EXPECT_EQ(variantsAfter([](Sample &s) {
              s.plan.code[0]->kind = fb::CodeKind::cubin;
              s.plan.code[0]->target = "sm_90", s.plan.code[0]->features = {};
              for (auto &device : s.plan.devices)
                device->driver = "cuda";
            }),
            Lines{"add_0: machine code for sm_90, cuda"});
}

TEST(KernelVariants, comeInTheirOrderWithTheKernelsNameWhereTheyHaveNone) {
  EXPECT_EQ(variantsAfter([](Sample &s) {
              fb::VariantT &fast = addVariant(*s.plan.kernels[0], "host");
              fast.symbol = "add_0_wide", fast.features = {"avx512f"};
              fb::VariantT &library = addVariant(*s.plan.kernels[0], "cuda");
              library.source = fb::KernelSource::library;
              library.library = "cublas", library.library_version = "12.4";
              addVariant(*s.plan.kernels[0], "host");
            }),
            (Lines{"add_0_wide: code for x86-64 avx2 fma avx512f, host", "add_0: cublas 12.4, cuda",
                   "add_0: code for x86-64 avx2 fma, host"}));
}

TEST(KernelVariants, aDeviceHasItsDriverAndThoseThatStandIn) {
  Sample sample = makeSample();
  sample.plan.devices[1]->also = {"cuda"};
  addVariant(*sample.plan.kernels[0], "host");
  sample.plan.devices[0]->driver = "";
  PlanFile file = PlanFile::copyOf(sample.bytes()).take();
  const auto &devices = *file.plan().devices();
  EXPECT_EQ(driversOf(*devices.Get(0)), std::vector<std::string_view>{"host"});
  EXPECT_EQ(driversOf(*devices.Get(1)), (std::vector<std::string_view>{"sim", "cuda"}));
}

} // namespace
