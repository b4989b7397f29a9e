#include "DriverConformance.h"

#include "gantry/Support/Bytes.h"

#include <future>
#include <numeric>

namespace gantry::runtime::test {

#define ASSERT_OK(expr)                                                                            \
  do {                                                                                             \
    ::gantry::Status testStatus = (expr);                                                          \
    ASSERT_TRUE(testStatus.ok()) << testStatus.message();                                          \
  } while (false)

void DriverConformance::SetUp() {
  Expected<std::unique_ptr<Driver>> made = GetParam().create();
  if (!made)
    GTEST_SKIP() << made.status().message();
  driver = made.take();
  device = open("device 0");
  ASSERT_TRUE(device);
  queue = device->createQueue();
}

std::unique_ptr<Device> DriverConformance::open(const std::string &name) {
  const auto physical = static_cast<uint32_t>(name.back() - '0') % GetParam().cards;
  Expected<std::unique_ptr<Device>> opened = driver->open({name, 0, 0, physical});
  EXPECT_TRUE(opened.ok()) << opened.status().message();
  return opened ? opened.take() : nullptr;
}

Allocation DriverConformance::take(Device &device, uint64_t bytes) {
  Expected<Allocation> memory = device.allocate(bytes, "test");
  EXPECT_TRUE(memory.ok()) << memory.status().message();
  return memory ? memory.take() : Allocation();
}

std::vector<uint8_t> DriverConformance::read(Device &device, const void *data, uint64_t bytes) {
  std::vector<uint8_t> values(bytes, 0xee);
  Status status = device.download(values.data(), data, bytes);
  EXPECT_TRUE(status.ok()) << status.message();
  return values;
}

void DriverConformance::write(void *data, const std::vector<uint8_t> &bytes) {
  Status status = device->upload(data, bytes.data(), bytes.size());
  EXPECT_TRUE(status.ok()) << status.message();
}

namespace {

std::vector<uint8_t> ramp(uint64_t bytes) {
  std::vector<uint8_t> values(bytes);
  std::iota(values.begin(), values.end(), uint8_t(1));
  return values;
}

TEST_P(DriverConformance, hasItsName) { EXPECT_EQ(driver->name(), GetParam().name); }

TEST_P(DriverConformance, opensDevicesByTheirNames) {
  EXPECT_EQ(device->name(), "device 0");
  EXPECT_EQ(&device->driver(), driver.get());
  EXPECT_EQ(&queue->device(), device.get());
}

/// For devices that count in threads; others have work items.
Geometry oneThreadEach(uint32_t items) { return {.grid = {items, 1, 1}}; }

/// Memory, counters and queues are a device's own; code is, unless the driver shares it.
TEST_P(DriverConformance, twoDevicesShareNothingUnsaid) {
  std::unique_ptr<Device> other = open("device 1");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->name(), "device 1");
  Allocation here = take(256), there = take(*other, 128);
  EXPECT_EQ(device->stats().bytesInUse, 256u);
  EXPECT_EQ(other->stats().bytesInUse, 128u);
  device->countStaged(5);
  EXPECT_EQ(other->stats().stagedBytes, 0u);
  write(here.data(), ramp(128));
  ASSERT_OK(other->fill(there.data(), 7, 128));
  EXPECT_EQ(read(here.data(), 128), ramp(128));
  auto mine = device->loadCode(GetParam().code()), theirs = other->loadCode(GetParam().code());
  ASSERT_TRUE(mine.ok() && theirs.ok());
  auto kernel = (*mine)->lookup("add_f32", oneThreadEach(32)),
       otherKernel = (*theirs)->lookup("add_f32", oneThreadEach(32));
  ASSERT_TRUE(kernel.ok() && otherKernel.ok());
  if (device->codeDomain() == other->codeDomain())
    otherKernel = *kernel; // then the code of one is as good
  else
    *mine = nullptr; // and otherwise does not miss it
  std::unique_ptr<Queue> theirQueue = other->createQueue();
  Allocation sum = take(*other, 128);
  ASSERT_OK(other->fill(there.data(), 0, 128));
  void *buffers[] = {there.data(), there.data(), sum.data()};
  const uint64_t sizes[] = {128, 128, 128};
  ASSERT_OK(theirQueue->launch({*otherKernel, buffers, 3, 32, 1, sizes}));
  ASSERT_OK(theirQueue->finish().status);
  EXPECT_EQ(read(*other, sum.data(), 128), std::vector<uint8_t>(128, 0));
}

/// The work of one queue, then that of another, and the host knows when both are over.
TEST_P(DriverConformance, eventsOrderQueues) {
  std::unique_ptr<Queue> second = device->createQueue();
  std::unique_ptr<Event> event = device->createEvent();
  Allocation memory = take(512);
  const std::vector<uint8_t> given = ramp(128);
  std::vector<uint8_t> back(128);
  for (uint8_t round = 0; round < 3; ++round) { // recorded anew, an event is the later moment
    ASSERT_OK(queue->fill(memory.data(), round, 128));
    ASSERT_OK(queue->copy(memory.data() + 128, memory.data(), 128));
    ASSERT_OK(queue->record(*event));
    ASSERT_OK(second->wait(*event));
    ASSERT_OK(second->download(back.data(), memory.data() + 128, 128));
    ASSERT_OK(second->finish().status);
    EXPECT_EQ(back, std::vector<uint8_t>(128, round));
    ASSERT_OK(event->wait());
  }
}

TEST_P(DriverConformance, anEventThatWasNeverRecordedHoldsNobodyUp) {
  std::unique_ptr<Event> event = device->createEvent();
  ASSERT_OK(event->wait());
  ASSERT_OK(queue->wait(*event));
  ASSERT_OK(queue->finish().status);
}

struct Told final : Completion {
  std::promise<Status> promise;
  void finished(Outcome outcome) override { promise.set_value(std::move(outcome.status)); }
};

TEST_P(DriverConformance, tellsOnceWhenTheWorkIsOver) {
  Allocation memory = take(64);
  Told first, second;
  ASSERT_OK(queue->fill(memory.data(), 1, 64));
  queue->notify(first);
  ASSERT_OK(queue->fill(memory.data(), 2, 64));
  queue->notify(second);
  EXPECT_TRUE(first.promise.get_future().get().ok());
  EXPECT_TRUE(second.promise.get_future().get().ok());
  EXPECT_EQ(read(memory.data(), 1), std::vector<uint8_t>{2});
}

TEST_P(DriverConformance, saysWhatItLacksForAVariant_g6) {
  VariantNeeds needs;
  EXPECT_FALSE(device->unmet(needs));
  needs.target = "vax";
  EXPECT_NE(device->unmet(needs).what.find("vax"), std::string::npos);
  needs.target = "", needs.features = {"warp9"};
  EXPECT_NE(device->unmet(needs).what.find("warp9"), std::string::npos);
  needs.features = {}, needs.archMin = 1 << 20;
  EXPECT_TRUE(device->unmet(needs));
  needs.archMin = 0, needs.source = VariantNeeds::Source::library, needs.library = "libnowhere";
  EXPECT_NE(device->unmet(needs).what.find("libnowhere"), std::string::npos);
}

TEST_P(DriverConformance, knowsItsMemory_d7) {
  Expected<MemoryInfo> info = device->memoryInfo();
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_GT(info->total, 0u);
  EXPECT_LE(info->free, info->total);
}

TEST_P(DriverConformance, allocatesAlignedAndApart) {
  for (uint64_t bytes : {uint64_t(1), uint64_t(63), uint64_t(4096), uint64_t(5) << 20}) {
    Allocation a = take(bytes), b = take(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a.data()) % bufferAlignment, 0u);
    EXPECT_FALSE(rangesOverlap(reinterpret_cast<uintptr_t>(a.data()), bytes,
                               reinterpret_cast<uintptr_t>(b.data()), bytes));
    write(a.data(), ramp(bytes));
    ASSERT_OK(device->fill(b.data(), 0, bytes));
    EXPECT_EQ(read(a.data(), bytes), ramp(bytes));
  }
}

TEST_P(DriverConformance, saysWhenMemoryIsShort_m5) {
  Expected<Allocation> data = device->allocate(uint64_t(1) << 62, "test");
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.status().code(), StatusCode::doesNotFit);
  Allocation small = take(64); // and goes on
  EXPECT_NE(small.data(), nullptr);
}

TEST_P(DriverConformance, copiesAndFills) {
  Allocation memory = take(256);
  write(memory.data(), ramp(256));
  ASSERT_OK(queue->copy(memory.data() + 128, memory.data(), 128));
  ASSERT_OK(queue->finish().status);
  std::vector<uint8_t> expected = ramp(128), all = read(memory.data(), 256);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + 128));
  ASSERT_OK(queue->fill(memory.data() + 1, 0xab, 3));
  ASSERT_OK(queue->finish().status);
  EXPECT_EQ(read(memory.data(), 5), (std::vector<uint8_t>{1, 0xab, 0xab, 0xab, 5}));
}

TEST_P(DriverConformance, copiesOverlappingRanges) {
  for (bool forward : {false, true}) {
    Allocation memory = take(256);
    write(memory.data(), ramp(256));
    uint8_t *from = memory.data() + (forward ? 0 : 8), *to = memory.data() + (forward ? 8 : 0);
    std::vector<uint8_t> expected = read(from, 200);
    ASSERT_OK(queue->copy(to, from, 200));
    ASSERT_OK(queue->finish().status);
    EXPECT_EQ(read(to, 200), expected);
  }
}

TEST_P(DriverConformance, copiesBetweenDevicesOfItsKind) {
  if (device->runsInline())
    GTEST_SKIP() << "its devices share the host's memory";
  std::unique_ptr<Device> other = open("device 1");
  std::unique_ptr<Queue> theirQueue = other->createQueue();
  Allocation here = take(256), there = take(*other, 256);
  write(here.data(), ramp(256));
  ASSERT_OK(other->fill(there.data(), 0, 256));
  ASSERT_OK(theirQueue->copyFrom(*device, there.data() + 64, here.data(), 64));
  ASSERT_OK(theirQueue->finish().status);
  ASSERT_OK(queue->copyFrom(*other, here.data() + 128, there.data(), 128));
  ASSERT_OK(queue->finish().status);
  std::vector<uint8_t> expected = ramp(256);
  std::fill(expected.begin() + 128, expected.begin() + 192, uint8_t(0));
  std::copy_n(expected.begin(), 64, expected.begin() + 192);
  EXPECT_EQ(read(here.data(), 256), expected);
}

TEST_P(DriverConformance, takesZeroBytes) {
  Allocation memory = take(64);
  EXPECT_TRUE(queue->copy(memory.data(), memory.data(), 0).ok());
  EXPECT_TRUE(queue->fill(memory.data(), 1, 0).ok());
  EXPECT_TRUE(queue->upload(memory.data(), nullptr, 0).ok());
  EXPECT_TRUE(queue->download(nullptr, memory.data(), 0).ok());
  EXPECT_TRUE(queue->finish().status.ok());
  EXPECT_TRUE(device->fill(memory.data(), 1, 0).ok());
  EXPECT_TRUE(device->upload(memory.data(), nullptr, 0).ok());
  EXPECT_TRUE(device->download(nullptr, memory.data(), 0).ok());
}

TEST_P(DriverConformance, refusesWhatIsNotCode) {
  for (std::vector<uint8_t> bytes : {std::vector<uint8_t>(), ramp(16), ramp(4096)}) {
    auto code = device->loadCode(bytes);
    ASSERT_FALSE(code.ok());
    EXPECT_EQ(code.status().code(), StatusCode::corrupt);
  }
}

TEST_P(DriverConformance, loadsCodeAndFindsKernels) {
  std::vector<uint8_t> bytes = GetParam().code();
  auto code = device->loadCode(bytes);
  ASSERT_TRUE(code.ok()) << code.status().message();
  bytes.assign(bytes.size(), 0); // the driver has what it needs
  EXPECT_TRUE((*code)->lookup("add_f32").ok());
  EXPECT_EQ((*code)->lookup("no_such_kernel").status().code(), StatusCode::notFound);
}

TEST_P(DriverConformance, launchesKernels) {
  auto code = device->loadCode(GetParam().code());
  ASSERT_TRUE(code.ok()) << code.status().message();
  for (int64_t items : {1, 3, 1000}) {
    auto kernel = (*code)->lookup("add_f32", oneThreadEach(static_cast<uint32_t>(items)));
    ASSERT_TRUE(kernel.ok());
    uint64_t bytes = static_cast<uint64_t>(items) * sizeof(float);
    std::vector<float> a(static_cast<size_t>(items)), b(a.size(), 0.5f), sum(a.size());
    std::iota(a.begin(), a.end(), 1.0f);
    Allocation first = take(bytes), second = take(bytes), result = take(bytes);
    ASSERT_OK(queue->upload(first.data(), a.data(), bytes));
    ASSERT_OK(queue->upload(second.data(), b.data(), bytes));
    void *buffers[] = {first.data(), second.data(), result.data()};
    const uint64_t sizes[] = {bytes, bytes, bytes};
    ASSERT_OK(queue->launch({*kernel, buffers, 3, items, 16, sizes}));
    ASSERT_OK(queue->download(sum.data(), result.data(), bytes));
    ASSERT_OK(queue->finish().status);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(sum[i], a[i] + 0.5f) << i;
  }
}

} // namespace
} // namespace gantry::runtime::test
