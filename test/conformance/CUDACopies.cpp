// Copies between host and device on the fake libcuda: in pieces through pinned buffers, by several
// threads, in any order that streams may work in; as they are where the caller has pinned them; and
// with each of their calls failing in turn.
#include "LongTests.h"
#include "Runtime/PlanBuilder.h"
#include "fake_cuda/Client.h"
#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Runtime/Session.h"
#include "gantry/Runtime/ThreadPool.h"

namespace gantry::runtime::test {
namespace {

constexpr uint64_t MiB = uint64_t(1) << 20, piece = 2 * MiB, few = 64 << 10; // of Staging

/// Different at any two places that a copy could confuse.
std::vector<uint8_t> numbered(uint64_t bytes) {
  std::vector<uint8_t> values(bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    values[i] = static_cast<uint8_t>((i * 2654435761u) >> 13);
  return values;
}

/// Memory of the host that CUDA knows, of the context that is current.
struct Pinned {
  void *library = ::dlopen(GANTRY_FAKE_CUDA, RTLD_NOW);
  void *context = nullptr, *data = nullptr;

  /// By the calling convention alone: the types are the callers', not those of the declarations.
  template <typename... Values>
#ifdef __clang__
  __attribute__((no_sanitize("function")))
#endif
  void call(const char *name, Values... values) {
    auto *function = reinterpret_cast<int (*)(Values...)>(::dlsym(library, name));
    ASSERT_TRUE(function) << name;
    ASSERT_EQ(function(values...), 0) << name;
  }
  explicit Pinned(size_t bytes) {
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("cuCtxPushCurrent_v2", context);
    call("cuMemHostAlloc", &data, bytes, 0u);
  }
  ~Pinned() {
    call("cuMemFreeHost", data);
    call("cuCtxPopCurrent_v2", &context);
    call("cuDevicePrimaryCtxRelease_v2", 0);
  }
  uint8_t *bytes() const { return static_cast<uint8_t *>(data); }
};

struct CUDACopies : ::testing::Test {
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  ThreadPool pool{4};
  std::unique_ptr<Driver> driver;
  std::unique_ptr<Device> device;

  void SetUp() override { start(0); }
  void start(uint64_t seed) {
    stop();
    const fake_cuda_options_t options = fakeOptions(seed);
    fake.reset(&options);
    driver = createCUDADriver({.graphs = true, .syncEach = false, .copyingPool = &pool});
    device = driver->open({"GPU:0", 0, 0, 0}).take();
  }
  void stop() {
    device.reset();
    driver.reset();
    EXPECT_STREQ(fake.faults(), "");
    EXPECT_STREQ(fake.leaks(), "");
  }
  void TearDown() override { stop(); }

  /// There and back again.
  Status roundTrip(const uint8_t *given, uint8_t *back, uint64_t bytes) const {
    Expected<Allocation> memory = device->allocate(bytes, "test");
    GANTRY_RETURN_IF_ERROR(memory.status());
    GANTRY_RETURN_IF_ERROR(device->upload(memory->data(), given, bytes));
    return device->download(back, memory->data(), bytes);
  }
};

TEST_F(CUDACopies, areTheSameInEveryOrderOfStreams) {
  for (uint64_t seed : {0, 1, 2, 3})
    for (uint64_t bytes : {uint64_t(1), piece - 1, piece, piece + 1, 9 * piece + 12345}) {
      start(seed);
      const std::vector<uint8_t> given = numbered(bytes);
      std::vector<uint8_t> back(bytes);
      ASSERT_OK(roundTrip(given.data(), back.data(), bytes));
      EXPECT_TRUE(given == back) << bytes << " bytes, seed " << seed;
      const uint64_t pieces = (bytes + piece - 1) / piece;
      EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), pieces);
      EXPECT_EQ(fake.calls("cuMemcpyDtoHAsync_v2"), pieces);
    }
}

TEST_F(CUDACopies, ofWhatTheCallerHasPinnedGoAsTheyAre) {
  constexpr uint64_t bytes = 3 * piece + 5;
  for (uint64_t seed : {0, 1}) {
    start(seed);
    Pinned from(bytes), to(bytes);
    const std::vector<uint8_t> given = numbered(bytes);
    std::memcpy(from.data, given.data(), bytes);
    ASSERT_OK(roundTrip(from.bytes(), to.bytes(), bytes));
    EXPECT_EQ(std::memcmp(to.data, given.data(), bytes), 0);
    EXPECT_EQ(fake.calls("cuMemcpyHtoDAsync_v2"), 1u);
    EXPECT_EQ(fake.calls("cuMemcpyDtoHAsync_v2"), 1u);
  }
}

/// Few bytes are not worth the question, and arrays that CUDA does not know go in pieces.
TEST_F(CUDACopies, askWhatIsPinnedForManyBytesOnly) {
  std::vector<uint8_t> given = numbered(2 * piece), back(2 * piece);
  ASSERT_OK(roundTrip(given.data(), back.data(), few));
  EXPECT_EQ(fake.calls("cuPointerGetAttribute"), 0u);
  ASSERT_OK(roundTrip(given.data(), back.data(), 2 * piece));
  EXPECT_EQ(fake.calls("cuPointerGetAttribute"), 2u);
  EXPECT_TRUE(given == back);
}

/// Whichever call fails, in the second way one in three: a status, nothing is left behind, and
/// afterwards the same works.
TEST_F(CUDACopies, failAtAnyCallAndLeaveNothing) {
  constexpr uint64_t bytes = 4 * piece + 7; // a buffer is used again
  const std::vector<uint8_t> given = numbered(bytes);
  std::vector<uint8_t> back(bytes);
  for (int error : {outOfMemory, illegalAddress})
    for (uint64_t n = 1;; n += error == outOfMemory || gantry::test::areLong() ? 1 : 3) {
      start(1);
      fake.fail(n, error);
      Status status = roundTrip(given.data(), back.data(), bytes);
      const std::string in = fake.failed() ? fake.failed() : "";
      fake.fail(0, 0);
      if (in.empty()) {
        ASSERT_OK(status);
        ASSERT_GT(n, 40u);
        break;
      }
      if (status.ok())
        EXPECT_TRUE(given == back) << "call " << n << ", " << in;
      else
        EXPECT_EQ(status.code(),
                  error == outOfMemory ? StatusCode::doesNotFit : StatusCode::internal)
            << "call " << n << ", " << in << ": " << status.message();
      status = roundTrip(given.data() + 1, back.data(), few);
      ASSERT_TRUE(status.ok()) << "after call " << n << ", " << in << ": " << status.message();
      EXPECT_EQ(std::memcmp(given.data() + 1, back.data(), few), 0) << "after call " << n;
    }
}

/// Inputs and outputs that are too large for a segment's own memory are counted as others are.
TEST_F(CUDACopies, ofARunAreCountedWhateverTheirSize) {
  for (uint64_t seed : {0, 1, 2})
    for (uint64_t bytes : {MiB, 4 * MiB, 6 * MiB, 17 * MiB}) {
      start(seed);
      auto runtime = createRuntime({.threads = 4});
      PlanBuilder b;
      b.plan.devices[b.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", "cuda")]
          ->physical = 0;
      const uint32_t arena = b.addArena(fb::ArenaKind::transient, bytes, 1);
      const auto count = static_cast<int64_t>(bytes / sizeof(float));
      b.addFunction("main");
      b.addInput("x", {count}), b.addOutput("y", {count});
      fb::CommandT &up = b.copy(input(0, bytes), memory(arena, 0, bytes));
      up.device = 1, up.copy_kind = fb::CopyKind::hostToDevice;
      fb::CommandT &down = b.copy(memory(arena, 0, bytes), output(0, bytes));
      down.device = 1, down.copy_kind = fb::CopyKind::deviceToHost;
      {
        auto plan = b.load(runtime).take();
        auto session = Session::create(plan).take();
        auto bindings = Bindings::create(plan, 0u).take();
        const TensorType type{ElementType::f32, {count}};
        Tensor x = Tensor::allocate(type).take(), y = Tensor::allocate(type).take();
        ASSERT_OK(bindings->bindInput(0, x));
        ASSERT_OK(bindings->bindOutput(0, y));
        for (uint64_t run = 1; run <= 2; ++run) {
          std::vector<uint8_t> given = numbered(bytes);
          given[run] ^= 0x55;
          std::memcpy(x.data(), given.data(), bytes);
          ASSERT_OK(session->run(*bindings));
          EXPECT_EQ(std::memcmp(y.data(), given.data(), bytes), 0) << bytes << ", seed " << seed;
          const plan::CopyTally tally = plan->device(1)->stats().run;
          for (fb::CopyKind kind : {fb::CopyKind::hostToDevice, fb::CopyKind::deviceToHost}) {
            EXPECT_EQ(tally[kind].copies, run);
            EXPECT_EQ(tally[kind].bytes, run * bytes);
          }
        }
      }
    }
}

} // namespace
} // namespace gantry::runtime::test
