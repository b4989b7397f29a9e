// The driver of emulated GPUs in the conformance suite, and what only it does: it finds what a
// kernel must not do.
#include "gantry/Drivers/EmulatedDriver.h"

#include "DriverConformance.h"

#include <string_view>

namespace gantry::runtime::test {
namespace {

/// The number of the block, and `add_f32` reads and writes the elements there; `beyond` the one
/// behind.
constexpr std::string_view kernels = R"ptx(
.version 7.0
.target sm_75
.address_size 64
.visible .entry add_f32(.param .u64 a, .param .u64 b, .param .u64 c)
{
  .reg .b32 %r<2>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd1, %r1, 4;
  ld.param.u64 %rd2, [a];
  ld.param.u64 %rd3, [b];
  ld.param.u64 %rd4, [c];
  add.s64 %rd5, %rd2, %rd1;
  add.s64 %rd6, %rd3, %rd1;
  add.s64 %rd7, %rd4, %rd1;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
  ret;
}
.visible .entry beyond(.param .u64 a)
{
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, 0;
  st.global.u32 [%rd1+16], %r1;
  ret;
}
)ptx";

std::vector<uint8_t> code() { return {kernels.begin(), kernels.end()}; }

Expected<std::unique_ptr<Driver>> create() { return createEmulatedDriver(EmulatorChecks::all); }

INSTANTIATE_TEST_SUITE_P(emulated, DriverConformance,
                         ::testing::Values(DriverCase{"cuda", create, code}));

TEST(EmulatedDriver, findsAnAccessBehindABuffer) {
  std::unique_ptr<Driver> driver = createEmulatedDriver(EmulatorChecks::memory);
  auto device = driver->open({.name = "device 0"});
  ASSERT_TRUE(device.ok());
  auto loaded = (*device)->loadCode(code());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto kernel = (*loaded)->lookup("beyond");
  ASSERT_TRUE(kernel.ok());
  auto memory = (*device)->allocate(64, "test");
  ASSERT_TRUE(memory.ok());
  void *buffers[] = {memory->data()};
  const uint64_t fits[] = {20}, tooSmall[] = {16};
  std::unique_ptr<Queue> queue = (*device)->createQueue();
  EXPECT_TRUE(queue->launch({*kernel, buffers, 1, 1, 1, fits}).ok());
  Status status = queue->launch({*kernel, buffers, 1, 1, 1, tooSmall});
  if (status.ok())
    status = queue->finish().status;
  EXPECT_EQ(status.code(), StatusCode::internal);
  for (const char *part : {"kernels.ptx:27:", "out-of-bounds", "beyond", "buffer 0"})
    EXPECT_NE(status.message().find(part), std::string::npos) << part << " in " << status.message();
}

} // namespace
} // namespace gantry::runtime::test
