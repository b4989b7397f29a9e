// The driver of emulated GPUs in the conformance suite, and what only it does: it finds what a
// kernel must not do.
#include "gantry/Drivers/EmulatedDriver.h"

#include "DriverConformance.h"
#include "TestPTX.h"

namespace gantry::runtime::test {
namespace {

std::vector<uint8_t> code() { return {testPTX.begin(), testPTX.end()}; }

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
