// The driver of NVIDIA GPUs in the conformance suite, on the fake libcuda: as it comes, without
// access between devices, and without mapped memory.
#include "gantry/Drivers/CUDADriver.h"

#include "DriverConformance.h"
#include "TestPTX.h"
#include "fake_cuda/Client.h"

namespace gantry::runtime::test {
namespace {

std::vector<uint8_t> code() { return {testPTX.begin(), testPTX.end()}; }

Expected<std::unique_ptr<Driver>> make(const fake_cuda_options_t &options) {
  fakeCUDA(GANTRY_FAKE_CUDA).reset(&options);
  return createCUDADriver();
}

Expected<std::unique_ptr<Driver>> create() { return make(fakeOptions()); }

Expected<std::unique_ptr<Driver>> createWithoutPeers() {
  fake_cuda_options_t options = fakeOptions(/*seed=*/7);
  options.has_peers = 0;
  return make(options);
}

Expected<std::unique_ptr<Driver>> createWithoutMapping() {
  fake_cuda_options_t options = fakeOptions(/*seed=*/8);
  options.has_vmm = options.has_peers = 0;
  return make(options);
}

/// Larger numbers are parts of those that are there, as --split makes them.
template <int devices>
Expected<std::unique_ptr<Driver>> createWith() {
  fake_cuda_options_t options = fakeOptions(/*seed=*/9);
  options.devices = devices;
  return make(options);
}

INSTANTIATE_TEST_SUITE_P(cudaOnFake, DriverConformance,
                         ::testing::Values(DriverCase{"cuda", create, code},
                                           DriverCase{"cuda", createWith<1>, code, /*cards=*/1},
                                           DriverCase{"cuda", createWith<8>, code},
                                           DriverCase{"cuda", createWithoutPeers, code},
                                           DriverCase{"cuda", createWithoutMapping, code}));

/// The GPU that is there, where GANTRY_TEST_CUDA=real says that there is one.
std::vector<DriverCase> realGPU() {
  const char *which = std::getenv("GANTRY_TEST_CUDA");
  if (!which || std::string_view(which) != "real")
    return {};
  auto create = [] { return Expected<std::unique_ptr<Driver>>(createCUDADriver()); };
  return {DriverCase{"cuda", create, code, /*cards=*/1}};
}

INSTANTIATE_TEST_SUITE_P(cudaReal, DriverConformance, ::testing::ValuesIn(realGPU()));

class CUDADriver : public ::testing::Test {
protected:
  void SetUp() override {
    const fake_cuda_options_t options = fakeOptions();
    fake.reset(&options);
    driver = createCUDADriver();
  }
  void TearDown() override {
    driver.reset();
    EXPECT_STREQ(fake.faults(), "");
    EXPECT_STREQ(fake.leaks(), "");
  }
  std::unique_ptr<Device> open(uint32_t physical, uint64_t limit = 0) {
    auto opened = driver->open({"GPU:" + std::to_string(physical), limit, 0, physical});
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened ? opened.take() : nullptr;
  }

  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  std::unique_ptr<Driver> driver;
};

TEST_F(CUDADriver, makesNoContextBeforeItIsUsed_d7) {
  auto first = open(0), second = open(1);
  std::unique_ptr<Queue> queue = first->createQueue();
  std::unique_ptr<Event> event = first->createEvent();
  EXPECT_FALSE(first->unmet({}));
  EXPECT_FALSE(fake.has_context(0) || fake.has_context(1));
  {
    auto memory = first->allocate(64, "test");
    ASSERT_TRUE(memory.ok());
    EXPECT_TRUE(fake.has_context(0));
    EXPECT_FALSE(fake.has_context(1));
  }
  EXPECT_FALSE(fake.has_context(0)); // and it goes with its last user
}

TEST_F(CUDADriver, saysWhichGPUsThereAre) {
  auto opened = driver->open({"GPU:2", 0, 0, 2});
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::unavailable);
  EXPECT_EQ(opened.status().message(),
            "'GPU:2': this machine has 2 GPUs that CUDA can see, there is no number 2");
}

TEST_F(CUDADriver, saysWhatIsWrongWithItsLibrary_d9) {
  auto why = [](const char *library) {
    ::setenv("GANTRY_CUDA_LIB", library, 1);
    auto opened = createCUDADriver()->open({"GPU:0", 0, 0, 0});
    ::setenv("GANTRY_CUDA_LIB", GANTRY_FAKE_CUDA, 1);
    EXPECT_EQ(opened.status().code(), StatusCode::unavailable);
    return opened.status().message();
  };
  EXPECT_EQ(why("/etc/passwd").find("'GPU:0': NVIDIA's driver cannot be opened: /etc/passwd: "),
            0u);
  EXPECT_EQ(why("/etc").find("'GPU:0': NVIDIA's driver cannot be opened: /etc: "), 0u);
  EXPECT_EQ(why("libc.so.6"), "'GPU:0': 'libc.so.6' has no function cuGetErrorName: a driver for "
                              "CUDA 12 or newer is needed");
  fake_cuda_options_t options = fakeOptions();
  options.version = 11080;
  fake.reset(&options);
  EXPECT_EQ(why(GANTRY_FAKE_CUDA), "'GPU:0': '" GANTRY_FAKE_CUDA "' is for CUDA 11.8: a driver for "
                                   "CUDA 12 or newer is needed");
}

TEST_F(CUDADriver, honoursVisibleDevices_d8) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  const fake_cuda_options_t options = fakeOptions();
  fake.reset(&options);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  auto only = open(0);
  auto memory = only->allocate(64, "test");
  ASSERT_TRUE(memory.ok());
  EXPECT_TRUE(fake.has_context(1));
  EXPECT_FALSE(fake.has_context(0));
}

/// As CUDA reads it: numbers with anything behind them, or beginnings of UUIDs; up to the first
/// that is no GPU, and none at all where one comes twice.
TEST_F(CUDADriver, readsVisibleDevicesAsCUDA_d8) {
  const fake_cuda_options_t options = fakeOptions();
  const std::string first = "GPU-00000000-0000-0000-0000-000000000001";
  for (auto [text, count] : {std::pair<std::string, unsigned>{"", 0},
                             {"-1", 0},
                             {"1,-1,0", 1},
                             {"0,x", 1},
                             {"0,0", 0},
                             {" 1, 0", 2},
                             {"1gpu", 1},
                             {"2", 0},
                             {"0,", 1},
                             {first, 1},
                             {"GPU-", 0},
                             {first + ",1", 1}}) {
    ::setenv("CUDA_VISIBLE_DEVICES", text.c_str(), 1);
    fake.reset(&options);
    driver = createCUDADriver();
    auto opened = driver->open({"GPU:0", 0, 0, 0});
    EXPECT_EQ(opened.ok(), count > 0) << text;
    EXPECT_EQ(driver->numDevices(DeviceType::GPU), count) << text;
    if (!opened.ok()) {
      EXPECT_EQ(opened.status().message(), "'GPU:0': NVIDIA's driver is installed, but it shows no "
                                           "GPU (CUDA_VISIBLE_DEVICES is '" +
                                               text + "')");
    }
  }
  ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(CUDADriver, growthMovesNothing_m3) {
  auto device = open(0);
  std::vector<Allocation> all;
  std::vector<uint8_t *> places;
  for (uint64_t bytes : {100, 3 << 20, 64, 40 << 20, 5 << 20}) {
    auto memory = device->allocate(bytes, "test");
    ASSERT_TRUE(memory.ok()) << memory.status().message();
    ASSERT_TRUE(device->fill(memory->data(), uint8_t(all.size() + 1), bytes).ok());
    places.push_back(memory->data());
    all.push_back(memory.take());
  }
  uint8_t byte = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(device->download(&byte, places[i] + all[i].size() - 1, 1).ok());
    EXPECT_EQ(byte, i + 1);
  }
  // 48 MiB and 164 bytes in units of 2 MiB, and pieces that share them.
  EXPECT_EQ(fake.bytes(0), uint64_t(50) << 20);
  all.erase(all.begin() + 3);
  EXPECT_LE(fake.bytes(0), uint64_t(14) << 20);
}

TEST_F(CUDADriver, partsOfACardShareItsContextAndCode_d4) {
  auto opened = driver->open({"GPU:0", uint64_t(1) << 20, 0, 0}),
       other = driver->open({"GPU:1", uint64_t(2) << 20, 0, 0});
  ASSERT_TRUE(opened.ok() && other.ok());
  std::unique_ptr<Device> half = opened.take(), rest = other.take();
  EXPECT_EQ(half->codeDomain(), rest->codeDomain());
  EXPECT_EQ(half->memoryInfo()->total, uint64_t(1) << 20);
  EXPECT_EQ(half->allocate((1 << 20) + 1, "test").status().code(), StatusCode::doesNotFit);
  auto a = half->allocate(1 << 20, "test"), b = rest->allocate(2 << 20, "test");
  ASSERT_TRUE(a.ok() && b.ok());
  std::unique_ptr<Queue> queue = rest->createQueue();
  EXPECT_TRUE(queue->fill(b->data(), 3, 64).ok());
  EXPECT_TRUE(queue->copyFrom(*half, b->data(), a->data(), 64).ok());
  EXPECT_TRUE(queue->finish().status.ok());
}

TEST_F(CUDADriver, aPartTakesNoMoreUnitsThanItsLimitHas_d4) {
  auto part = open(0, uint64_t(4) << 20);
  std::vector<Allocation> all;
  for (int i = 0; i < 4; ++i)
    all.push_back(part->allocate(1 << 20, "test").take());
  EXPECT_EQ(fake.bytes(0), uint64_t(4) << 20);
  // Half of each unit is free, which is no unit.
  all[0] = Allocation(), all[2] = Allocation();
  auto more = part->allocate(2 << 20, "test");
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.status().code(), StatusCode::doesNotFit);
  EXPECT_EQ(more.status().message(), "'GPU:0': test: memory of fake GPU comes in units of 2 MiB, "
                                     "and 4 MiB of 4 MiB are taken by them");
  EXPECT_TRUE(part->allocate(1 << 20, "test").ok());
  EXPECT_EQ(fake.bytes(0), uint64_t(4) << 20);
}

TEST_F(CUDADriver, saysWhatIsFreeWhenMemoryIsShort_m5) {
  auto device = open(0), beside = open(0); // of 1 GiB together
  auto some = device->allocate(uint64_t(600) << 20, "test");
  ASSERT_TRUE(some.ok());
  auto more = beside->allocate(uint64_t(500) << 20, "test");
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.status().message(), "'GPU:0': test: cuMemCreate: CUDA_ERROR_OUT_OF_MEMORY (out of "
                                     "memory); 424 MiB of 1 GiB of the GPU are free now");
}

/// What is left of a unit is free to those who share it, though CUDA counts it as taken.
TEST_F(CUDADriver, fitsIntoTheRestOfAUnit_m2) {
  fake_cuda_options_t options = fakeOptions();
  options.memory = uint64_t(4) << 20;
  fake.reset(&options);
  driver = createCUDADriver();
  auto device = open(0);
  auto most = device->allocate(uint64_t(3) << 20, "test");
  ASSERT_TRUE(most.ok());
  EXPECT_EQ(fake.bytes(0), uint64_t(4) << 20);
  EXPECT_EQ(device->cardMemory()->free, 0u);
  EXPECT_EQ(device->memoryInfo()->free, uint64_t(1) << 20);
  EXPECT_TRUE(device->checkFits(1 << 20, "test").ok());
  EXPECT_EQ(device->checkFits((1 << 20) + 1, "test").code(), StatusCode::doesNotFit);
  EXPECT_TRUE(device->allocate(1 << 20, "test").ok());
}

TEST_F(CUDADriver, countsPinnedMemory_m1) {
  auto whole = open(0), part = open(0, uint64_t(4) << 20);
  EXPECT_EQ(whole->stats().pinnedBytes, 0u);
  {
    auto memory = part->allocate(64, "test");
    EXPECT_TRUE(part->fill(memory->data(), 1, 64).ok());
    EXPECT_EQ(part->stats().pinnedBytes, uint64_t(8) << 20); // four buffers of 2 MiB
    EXPECT_EQ(whole->stats().pinnedBytes, uint64_t(8) << 20);
  }
  EXPECT_EQ(part->stats().pinnedBytes, 0u);
}

TEST_F(CUDADriver, saysWhatTheCompilerSays) {
  auto device = open(0);
  const std::string text = ".version 7.0\n.target sm_75\n.visible .entry k() { nonsense; }\n";
  auto code = device->loadCode({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), StatusCode::corrupt);
  EXPECT_NE(code.status().message().find("kernels.ptx:"), std::string::npos)
      << code.status().message();
}

TEST_F(CUDADriver, aFailureOnTheGPUIsToldUntilItsUsersAreGone) {
  auto device = open(0), other = open(1);
  {
    auto memory = device->allocate(64, "test");
    auto loaded = device->loadCode(code());
    ASSERT_TRUE(memory.ok() && loaded.ok());
    auto kernel = (*loaded)->lookup("beyond");
    ASSERT_TRUE(kernel.ok());
    void *wrong[] = {reinterpret_cast<void *>(uintptr_t(64))};
    std::unique_ptr<Queue> queue = device->createQueue();
    ASSERT_TRUE(queue->launch({*kernel, wrong, 1, 1, 1}).ok());
    const Status first = queue->finish().status;
    EXPECT_EQ(first.code(), StatusCode::internal);
    EXPECT_NE(first.message().find("CUDA_ERROR_ILLEGAL_ADDRESS"), std::string::npos)
        << first.message();
    EXPECT_EQ(device->allocate(64, "test").status().message(), "'GPU:0': test: " + first.message());
    EXPECT_TRUE(other->allocate(64, "test").ok()); // the other GPU goes on
  }
  EXPECT_NE(std::string(fake.faults()).find("out-of-bounds"), std::string::npos);
  auto again = device->allocate(64, "test"); // in a new context
  EXPECT_TRUE(again.ok()) << again.status().message();
  const fake_cuda_options_t options = fakeOptions();
  if (again)
    *again = Allocation();
  device.reset(), other.reset();
  EXPECT_STREQ(fake.leaks(), "");
  fake.reset(&options); // the fault was meant
}

} // namespace
} // namespace gantry::runtime::test
