#include "DriverConformance.h"

#include "gantry/Support/Bytes.h"

#include <numeric>

namespace gantry::runtime::test {

#define ASSERT_OK(expr)                                                                            \
  do {                                                                                             \
    ::gantry::Status testStatus = (expr);                                                          \
    ASSERT_TRUE(testStatus.ok()) << testStatus.message();                                          \
  } while (false)

DriverConformance::Memory::Memory(Driver &driver, uint64_t bytes) : driver(driver), bytes(bytes) {
  Expected<void *> data = driver.allocate(bytes);
  EXPECT_TRUE(data.ok()) << data.status().message();
  start = data ? static_cast<uint8_t *>(*data) : nullptr;
}

DriverConformance::Memory::~Memory() {
  if (start)
    driver.release(start, bytes);
}

std::vector<uint8_t> DriverConformance::read(const void *data, uint64_t bytes) {
  std::vector<uint8_t> values(bytes, 0xee);
  Status status = driver->download(values.data(), data, bytes);
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

void DriverConformance::write(void *data, const std::vector<uint8_t> &bytes) {
  Status status = driver->upload(data, bytes.data(), bytes.size());
  EXPECT_TRUE(status.ok()) << status.message();
}

namespace {

std::vector<uint8_t> ramp(uint64_t bytes) {
  std::vector<uint8_t> values(bytes);
  std::iota(values.begin(), values.end(), uint8_t(1));
  return values;
}

TEST_P(DriverConformance, hasItsName) { EXPECT_EQ(driver->name(), GetParam().name); }

TEST_P(DriverConformance, knowsItsMemory_d7) {
  Expected<MemoryInfo> info = driver->memoryInfo();
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_GT(info->total, 0u);
  EXPECT_LE(info->free, info->total);
}

TEST_P(DriverConformance, allocatesAlignedAndApart) {
  for (uint64_t bytes : {uint64_t(1), uint64_t(63), uint64_t(4096), uint64_t(5) << 20}) {
    Memory a(*driver, bytes), b(*driver, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % bufferAlignment, 0u);
    EXPECT_FALSE(rangesOverlap(reinterpret_cast<uintptr_t>(a.data()), bytes,
                               reinterpret_cast<uintptr_t>(b.data()), bytes));
    write(a.data(), ramp(bytes));
    ASSERT_OK(driver->fill(b.data(), 0, bytes));
    EXPECT_EQ(read(a.data(), bytes), ramp(bytes));
  }
}

TEST_P(DriverConformance, saysWhenMemoryIsShort_m5) {
  Expected<void *> data = driver->allocate(uint64_t(1) << 62);
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), StatusCode::doesNotFit);
  Memory small(*driver, 64); // and goes on
  EXPECT_NE(small.data(), nullptr);
}

TEST_P(DriverConformance, copiesAndFills) {
  Memory memory(*driver, 256);
  write(memory.data(), ramp(256));
  ASSERT_OK(driver->copy(memory.data() + 128, memory.data(), 128));
  std::vector<uint8_t> expected = ramp(128), all = read(memory.data(), 256);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + 128));
  ASSERT_OK(driver->fill(memory.data() + 1, 0xab, 3));
  EXPECT_EQ(read(memory.data(), 5), (std::vector<uint8_t>{1, 0xab, 0xab, 0xab, 5}));
}

TEST_P(DriverConformance, copiesOverlappingRanges) {
  for (bool forward : {false, true}) {
    Memory memory(*driver, 256);
    write(memory.data(), ramp(256));
    uint8_t *from = memory.data() + (forward ? 0 : 8), *to = memory.data() + (forward ? 8 : 0);
    std::vector<uint8_t> expected = read(from, 200);
    ASSERT_OK(driver->copy(to, from, 200));
    EXPECT_EQ(read(to, 200), expected);
  }
}

TEST_P(DriverConformance, copiesBetweenDevicesOfItsKind) {
  if (driver->runsInline())
    GTEST_SKIP() << "its devices share the host's memory";
  auto other = GetParam().create();
  ASSERT_TRUE(other.ok()) << other.status().message();
  Memory here(*driver, 256), there(**other, 256);
  write(here.data(), ramp(256));
  ASSERT_OK((*other)->fill(there.data(), 0, 256));
  ASSERT_OK((*other)->copyFrom(*driver, there.data() + 64, here.data(), 64));
  ASSERT_OK(driver->copyFrom(**other, here.data() + 128, there.data(), 128));
  std::vector<uint8_t> expected = ramp(256);
  std::fill(expected.begin() + 128, expected.begin() + 192, uint8_t(0));
  std::copy_n(expected.begin(), 64, expected.begin() + 192);
  EXPECT_EQ(read(here.data(), 256), expected);
}

TEST_P(DriverConformance, takesZeroBytes) {
  Memory memory(*driver, 64);
  EXPECT_TRUE(driver->copy(memory.data(), memory.data(), 0).ok());
  EXPECT_TRUE(driver->fill(memory.data(), 1, 0).ok());
  EXPECT_TRUE(driver->upload(memory.data(), nullptr, 0).ok());
  EXPECT_TRUE(driver->download(nullptr, memory.data(), 0).ok());
}

TEST_P(DriverConformance, refusesWhatIsNotCode) {
  for (std::vector<uint8_t> bytes : {std::vector<uint8_t>(), ramp(16), ramp(4096)}) {
    auto code = driver->loadCode(bytes);
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.status().code(), StatusCode::corrupt);
  }
}

TEST_P(DriverConformance, loadsCodeAndFindsKernels) {
  std::vector<uint8_t> bytes = GetParam().code();
  auto code = driver->loadCode(bytes);
  ASSERT_TRUE(code.ok()) << code.status().message();
  bytes.assign(bytes.size(), 0); // the driver has what it needs
  EXPECT_TRUE((*code)->lookup("add_f32").ok());
  EXPECT_EQ((*code)->lookup("no_such_kernel").status().code(), StatusCode::notFound);
}

TEST_P(DriverConformance, launchesKernels) {
  auto code = driver->loadCode(GetParam().code());
  ASSERT_TRUE(code.ok()) << code.status().message();
  auto kernel = (*code)->lookup("add_f32");
  ASSERT_TRUE(kernel.ok());
  for (int64_t items : {1, 3, 1000}) {
    uint64_t bytes = static_cast<uint64_t>(items) * sizeof(float);
    std::vector<float> a(static_cast<size_t>(items)), b(a.size(), 0.5f), sum(a.size());
    std::iota(a.begin(), a.end(), 1.0f);
    Memory first(*driver, bytes), second(*driver, bytes), result(*driver, bytes);
    ASSERT_OK(driver->upload(first.data(), a.data(), bytes));
    ASSERT_OK(driver->upload(second.data(), b.data(), bytes));
    void *buffers[] = {first.data(), second.data(), result.data()};
    ASSERT_OK(driver->launch({*kernel, buffers, 3, items, 16}));
    ASSERT_OK(driver->download(sum.data(), result.data(), bytes));
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(sum[i], a[i] + 0.5f) << i;
  }
}

} // namespace
} // namespace gantry::runtime::test
