// Libraries in the place of kernels, by plans that are made by hand on the fake libcuda and its
// cuBLASLt: what a symbol says is computed, in graphs and on streams; where the library is not
// there or does not do it the next variant runs; a failure at any of its calls has the right
// status.
#include "FakeLibraryTest.h"
#include "Runtime/PlanBuilder.h"
#include "TestPTX.h"
#include "gantry/Plan/MatrixProduct.h"
#include "gantry/Runtime/Session.h"

#include <bit>
#include <cmath>
#include <set>

namespace gantry::runtime::test {
namespace {

using plan::MatrixProduct;

constexpr int notSupported = 801, captureUnsupported = 900;
constexpr uint64_t scratchBytes = 1024;
const std::string gpu = "/job:localhost/replica:0/task:0/device:GPU:0";

/// result[2, 4, 5] = left[2, 4, 6] * right[6, 5]: the largest of the tests.
MatrixProduct usual() {
  MatrixProduct product;
  product.batch = 2, product.rows = 4, product.columns = 5, product.terms = 6;
  product.left = {0, false, 6, 24};
  product.right = {1, false, 5, 0};
  product.result = {2, false, 5, 20};
  return product;
}

/// As MatrixProduct.h says it.
std::vector<float> multiply(const MatrixProduct &product, const std::vector<float> &left,
                            const std::vector<float> &right, std::vector<float> result) {
  auto at = [](const plan::StoredMatrix &matrix, uint64_t batch, uint64_t row, uint64_t column) {
    return batch * matrix.stride +
           (matrix.isTurned ? column * matrix.line + row : row * matrix.line + column);
  };
  for (uint64_t b = 0; b < product.batch; ++b)
    for (uint64_t row = 0; row < product.rows; ++row)
      for (uint64_t column = 0; column < product.columns; ++column) {
        float sum = 0;
        for (uint64_t t = 0; t < product.terms; ++t)
          sum = std::fma(left[at(product.left, b, row, t)], right[at(product.right, b, t, column)],
                         sum);
        result[at(product.result, b, row, column)] = sum;
      }
  return result;
}

struct CUDALibraries : FakeLibraryTest {
  static constexpr uint64_t elements = 64, bytes = elements * sizeof(float);

  CUDALibraries() : FakeLibraryTest("GANTRY_CUBLASLT_LIB") {}

  static fb::VariantT &addVariant(fb::KernelT &kernel) {
    kernel.variants.push_back(std::make_unique<fb::VariantT>());
    kernel.variants.back()->driver = "cuda";
    return *kernel.variants.back();
  }

  /// y = the product of x and w, or x + w where only the other variant runs; y is NaN before.
  struct Plan : PlanBuilder {
    fb::VariantT *library;

    /// `elements`: of each array.
    explicit Plan(const MatrixProduct &product, bool hasOther = true,
                  uint64_t elements = CUDALibraries::elements) {
      const uint64_t bytes = elements * sizeof(float);
      addDevice(gpu, "cuda");
      plan.devices[1]->physical = 0;
      const uint32_t code = addCode({testPTX.begin(), testPTX.end()});
      plan.code[code]->kind = fb::CodeKind::ptx;
      plan.code[code]->target = "sm_75";
      const uint32_t kernel = addKernel("add_f32", code);
      library = &addVariant(*plan.kernels[kernel]);
      library->source = fb::KernelSource::library, library->library = "cublasLt";
      library->library_version = "12.0", library->scratch = scratchBytes;
      library->symbol = product.text();
      if (hasOther) {
        fb::VariantT &other = addVariant(*plan.kernels[kernel]);
        other.code = code;
        other.grid = std::make_unique<fb::Extent>(uint32_t(elements), 1, 1);
        other.block = std::make_unique<fb::Extent>(1, 1, 1);
      }
      const uint32_t arena = addArena(fb::ArenaKind::transient, 3 * bytes + scratchBytes, 1);
      auto place = [&](uint64_t i) { return memory(arena, i * bytes, bytes); };
      addFunction("main");
      const auto count = static_cast<int64_t>(elements);
      addInput("x", {count}), addInput("w", {count}), addOutput("y", {count});
      upload(input(0, bytes), place(0));
      upload(input(1, bytes), place(1));
      fb::CommandT &fill = addCommand(fb::Opcode::fill);
      fill.buffers = {place(2)}, fill.value = 0xff, fill.device = 1;
      fb::CommandT &command = launch(kernel, {place(0), place(1)},
                                     {place(2), memory(arena, 3 * bytes, scratchBytes)}, 1);
      command.device = 1, command.name = "product", command.has_scratch = true;
      fb::CommandT &down = copy(place(2), output(0, bytes));
      down.device = 1, down.copy_kind = fb::CopyKind::deviceToHost;
    }

    void upload(fb::BufferRef from, fb::BufferRef to) {
      fb::CommandT &up = copy(from, to);
      up.device = 1, up.copy_kind = fb::CopyKind::hostToDevice;
    }
  };

  struct Run {
    std::shared_ptr<Session> session;
    std::shared_ptr<Bindings> bindings;
    Tensor x, w, y;

    explicit Run(std::shared_ptr<const LoadedPlan> plan)
        : Run(plan, Session::create(plan).take()) {}
    Run(std::shared_ptr<const LoadedPlan> plan, std::shared_ptr<Session> in)
        : session(std::move(in)), bindings(Bindings::create(plan, 0u).take()) {
      const TensorType type{ElementType::f32, {int64_t(elements)}};
      x = Tensor::allocate(type).take(), w = Tensor::allocate(type).take();
      y = Tensor::allocate(type).take();
      for (uint64_t i = 0; i < elements; ++i) {
        x.dataAs<float>()[i] = static_cast<float>(int(i * 7 % 23) - 11) / 3;
        w.dataAs<float>()[i] = static_cast<float>(int(i * 5 % 19) - 9) / 7;
      }
      EXPECT_OK(bindings->bindInput(0, x));
      EXPECT_OK(bindings->bindInput(1, w));
      EXPECT_OK(bindings->bindOutput(0, y));
    }
    Status run() { return session->run(*bindings); }

    static std::vector<float> valuesOf(const Tensor &tensor) {
      return {tensor.dataAs<float>(), tensor.dataAs<float>() + elements};
    }
    void expect(const MatrixProduct &product) const {
      std::vector<float> nothing(elements);
      std::memset(nothing.data(), 0xff, bytes);
      const std::vector<float> wanted = multiply(product, valuesOf(x), valuesOf(w), nothing);
      EXPECT_EQ(std::memcmp(wanted.data(), y.data(), bytes), 0) << product.text();
    }
    void expectSum() const {
      for (uint64_t i = 0; i < elements; ++i)
        ASSERT_EQ(y.dataAs<float>()[i], x.dataAs<float>()[i] + w.dataAs<float>()[i]) << i;
    }
  };

  /// The plan runs by its other variant, and the log says why.
  void expectOther(Plan &plan, const std::string &why) {
    logged.clear(), noted.clear();
    auto loaded = plan.load(makeRuntime());
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_EQ(logged, std::vector<std::string>{
                          "'test.gantry': kernel 'add_f32' runs on '" + gpu +
                          "' as PTX for sm_75; what comes before it in the plan cannot run here: "
                          "cublasLt " +
                          plan.library->library_version + " (" + why + ")"});
    EXPECT_TRUE(noted.empty());
    Run run(*loaded);
    ASSERT_OK(run.run());
    run.expectSum();
  }
};

TEST_F(CUDALibraries, computeWhatASymbolSays) {
  MatrixProduct turned = usual(), wide = usual(), line = usual(), column = usual();
  turned.left = {0, true, 4, 24}, turned.right = {1, true, 6, 30};
  wide.left.line = 7, wide.left.stride = 31, wide.right.line = 9, wide.result.line = 6;
  wide.result.stride = 30;
  line.batch = line.rows = 1, line.left.stride = line.result.stride = 0;
  column.columns = 1, column.right.line = 1, column.result = {2, false, 1, 4};
  for (const MatrixProduct &product : {usual(), turned, wide, line, column})
    for (CUDAOptions options : {CUDAOptions(), inStreams, eachByItself})
      for (uint64_t seed : {0, 1, 2}) {
        reset(seed);
        {
          Plan plan(product);
          auto loaded = plan.load(makeRuntime(options));
          ASSERT_TRUE(loaded.ok()) << loaded.status().message();
          Run run(*loaded);
          for (int i = 0; i < 2; ++i) {
            ASSERT_OK(run.run());
            run.expect(product);
          }
        }
        ASSERT_STREQ(fake.faults(), "");
      }
  EXPECT_TRUE(logged.empty());
  EXPECT_EQ(std::set(noted.begin(), noted.end()),
            std::set<std::string>{"'test.gantry': kernel 'add_f32' runs on '" + gpu +
                                  "' by the library cublasLt"});
}

/// Factors of bf16, whose sums are not rounded.
TEST_F(CUDALibraries, giveSumsOfNarrowFactors) {
  MatrixProduct product = usual();
  product.type = ElementType::bf16, product.isWide = true;
  Plan plan(product);
  Run run(plan.load(makeRuntime()).take());
  auto fill = [](Tensor &tensor, int step) {
    std::vector<float> values;
    for (int i = 0; i < int(2 * elements); ++i) {
      values.push_back(float(i * step % 23 - 11) / 16);
      tensor.dataAs<uint16_t>()[i] =
          static_cast<uint16_t>(std::bit_cast<uint32_t>(values.back()) >> 16);
    }
    return values;
  };
  const std::vector<float> x = fill(run.x, 7), w = fill(run.w, 5);
  ASSERT_OK(run.run());
  std::vector<float> nothing(elements);
  std::memset(nothing.data(), 0xff, bytes);
  const std::vector<float> wanted = multiply(product, x, w, nothing);
  EXPECT_EQ(std::memcmp(wanted.data(), run.y.data(), bytes), 0);
}

/// Captured once with its algorithm; a run asks the library for nothing any more.
TEST_F(CUDALibraries, areCapturedOnce) {
  Plan plan(usual());
  Run run(plan.load(makeRuntime()).take());
  EXPECT_EQ(fake.calls("cublasLtMatmulAlgoGetHeuristic"), 1u);
  fake.fail(0, 0); // counts from here
  for (int i = 0; i < 3; ++i)
    ASSERT_OK(run.run());
  EXPECT_EQ(fake.calls("cublasLtMatmul"), 1u);
  EXPECT_EQ(fake.calls("cuGraphLaunch"), 3u);
  for (const char *never : {"cublasLtMatmulAlgoGetHeuristic", "cublasLtMatrixLayoutCreate",
                            "cublasLtCreate", "cuMemCreate", "cuMemAlloc_v2"})
    EXPECT_EQ(fake.calls(never), 0u) << never;
}

// ---- where the library is not there, or does not do it ----

TEST_F(CUDALibraries, thatAreNotThereLeaveItToTheNextVariant) {
  Plan plan(usual());
  ::unsetenv("GANTRY_CUBLASLT_LIB");
  expectOther(plan, "GANTRY_CUDA_LIB names a libcuda, and GANTRY_CUBLASLT_LIB no cuBLASLt that "
                    "works with it");
  ::setenv("GANTRY_CUBLASLT_LIB", "/nowhere/libcublasLt.so", 1);
  expectOther(plan, "cuBLASLt cannot be opened: /nowhere/libcublasLt.so: cannot open shared object "
                    "file: No such file or directory");
  ::setenv("GANTRY_CUBLASLT_LIB", "libm.so.6", 1);
  expectOther(plan, "'libm.so.6' has no function cublasLtGetVersion: cuBLASLt 12 or newer is "
                    "needed");
}

TEST_F(CUDALibraries, areAskedForTheirVersion) {
  for (const char *enough : {"", "12", "12.9", "13", "13.1", "13.1.0"}) {
    Plan plan(usual());
    plan.library->library_version = enough;
    Run run(plan.load(makeRuntime()).take());
    ASSERT_OK(run.run());
    run.expect(usual());
  }
  for (const char *more : {"13.1.1", "13.2", "14"}) {
    Plan plan(usual());
    plan.library->library_version = more;
    expectOther(plan, "cuBLASLt is version 13.1.0 here");
  }
}

TEST_F(CUDALibraries, withoutAnAlgorithmLeaveItToTheNextVariant) {
  Plan plan(usual());
  fake.fail_in("cublasLtMatmulAlgoGetHeuristic", 0, notSupported);
  expectOther(plan, "cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED");
  fake.fail(0, 0);
}

/// What is suggested first has a block for each of the batch, what is suggested last six times as
/// many.
TEST_F(CUDALibraries, areAskedForAnAlgorithmThatKeepsTheGPUBusy) {
  MatrixProduct column = usual();
  column.columns = 1, column.right.line = 1, column.result = {2, false, 1, 4};
  for (auto &[product, tile] : {std::pair(usual(), "2x2"), {column, "128x256"}}) {
    Plan plan(product);
    Run run(plan.load(makeRuntime()).take());
    ASSERT_OK(run.run());
    run.expect(product);
    EXPECT_STREQ(fake.tile(), tile);
  }
}

TEST_F(CUDALibraries, thatWouldLeaveTheGPUIdleLeaveItToTheNextVariant) {
  fake_cuda_options_t options = fakeOptions();
  options.suggests_one = 1;
  fake.reset(&options);
  MatrixProduct large;
  large.rows = large.columns = 512, large.terms = 128;
  large.left = {0, false, 128, 0}, large.right = {1, false, 512, 0};
  large.result = {2, false, 512, 0};
  Plan plan(large, /*hasOther=*/true, /*elements=*/512 * 512);
  auto loaded = plan.load(makeRuntime());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(logged,
            std::vector<std::string>{
                "'test.gantry': kernel 'add_f32' runs on '" + gpu +
                "' as PTX for sm_75; what comes before it in the plan cannot run here: cublasLt "
                "12.0 (cuBLASLt 13.1.0 has no algorithm for '" +
                large.text() + "' on fake GPU that keeps it busy)"});
}

TEST_F(CUDALibraries, areMissedByAPlanWithoutAnotherVariant) {
  Plan plan(usual(), /*hasOther=*/false);
  fake.fail_in("cublasLtMatmulAlgoGetHeuristic", 0, notSupported);
  auto loaded = plan.load(makeRuntime());
  EXPECT_EQ(loaded.status().code(), StatusCode::unsupported);
  EXPECT_EQ(loaded.status().message(),
            "'test.gantry': 'product' on GPU:0: cublasLt 12.0 "
            "(cublasLtMatmulAlgoGetHeuristic: CUBLAS_STATUS_NOT_SUPPORTED)");
  fake.fail(0, 0);
  plan.library->library = "cusolver";
  loaded = plan.load(makeRuntime());
  EXPECT_EQ(loaded.status().message(),
            "'test.gantry': 'product' on GPU:0: there is no library 'cusolver' for GPUs");
}

// ---- failures ----

/// A call that CUDA does not capture makes the segment run command by command.
TEST_F(CUDALibraries, thatCannotBeCapturedAreIssued) {
  Plan plan(usual());
  Run run(plan.load(makeRuntime()).take());
  fake.fail_in("cublasLtMatmul", 1, captureUnsupported);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(run.run());
    run.expect(usual());
  }
  ASSERT_EQ(logged.size(), 1u);
  EXPECT_NE(logged[0].find("since there is no CUDA graph of it: "), std::string::npos) << logged[0];
}

TEST_F(CUDALibraries, thatFailNameTheOp) {
  Plan plan(usual());
  Run run(plan.load(makeRuntime(inStreams)).take());
  fake.fail_in("cublasLtMatmul", 1, outOfMemory);
  Status status = run.run();
  EXPECT_EQ(status.code(), StatusCode::doesNotFit);
  EXPECT_EQ(status.message(), "'product' on GPU:0: cublasLtMatmul: CUBLAS_STATUS_ALLOC_FAILED");
  EXPECT_OK(run.run());
  fake.fail_in("cublasLtMatmul", 1, launchFailed);
  status = run.run();
  EXPECT_EQ(status.code(), StatusCode::internal);
  EXPECT_EQ(
      status.message(),
      "the segment from a copy on GPU:0 to a copy on GPU:0 failed on GPU 0 of this machine: "
      "CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure); nothing runs on that GPU before "
      "all plans that use it are unloaded");
  fake.fail(0, 0);
}

/// Whichever call fails, of the library or of CUDA: a status, and nothing is left behind.
TEST_F(CUDALibraries, failAtAnyCallAndLeaveNothing) {
  Plan plan(usual());
  for (int error : {outOfMemory, launchFailed, illegalAddress})
    for (uint64_t n = 1;; ++n) {
      reset(0);
      fake.fail(n, error);
      Status status;
      bool isOver = false;
      {
        auto loaded = plan.load(makeRuntime());
        status = loaded.status();
        if (loaded) {
          auto session = Session::create(*loaded);
          status = session.status();
          if (session) {
            Run run(*loaded, session.take());
            for (int i = 0; i < 2 && status.ok(); ++i)
              if (status = run.run(); status.ok())
                run.expect(usual());
          }
        }
      }
      isOver = fake.failed() == nullptr;
      const std::string in = fake.failed() ? fake.failed() : "";
      fake.fail(0, 0);
      ASSERT_STREQ(fake.leaks(), "") << "call " << n << ", " << in;
      ASSERT_STREQ(fake.faults(), "") << "call " << n << ", " << in;
      if (isOver) {
        ASSERT_OK(status);
        ASSERT_GT(n, 40u);
        break;
      }
      ASSERT_FALSE(status.code() == StatusCode::corrupt) << status.message();
    }
}

/// The fake sees what a library touches: without the order of a queue it is a race.
TEST_F(CUDALibraries, areOrderedLikeKernels) {
  Plan plan(usual());
  plan.function().num_queues = 2;
  for (auto &command : plan.function().blocks[0]->commands)
    if (command->opcode == fb::Opcode::launch)
      command->queue = 1;
  {
    Run run(plan.load(makeRuntime()).take());
    ASSERT_OK(run.run());
  }
  EXPECT_NE(std::string(fake.faults()).find("cublasLtMatmul of 4x5x6"), std::string::npos)
      << fake.faults();
  fake.forget_faults();
}

} // namespace
} // namespace gantry::runtime::test
