// What tests of GPUs' libraries have in common: the fake libcuda, which has a fake of each library,
// too, named by the variable that names the library, and what a runtime logs.
#pragma once

#include "fake_cuda/Client.h"
#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Runtime/Runtime.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace gantry::runtime::test {

/// Issuing command by command instead of in graphs, and with a wait for each.
inline const CUDAOptions inStreams{.graphs = false, .syncEach = false},
    eachByItself{.graphs = false, .syncEach = true};

struct FakeLibraryTest : ::testing::Test {
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);
  std::vector<std::string> logged, noted; ///< what is not as it should be; what just is

  explicit FakeLibraryTest(const char *variable) : variable(variable) {}

  void SetUp() override {
    ::setenv(variable, GANTRY_FAKE_CUDA, 1);
    reset(3);
  }
  void TearDown() override {
    EXPECT_STREQ(fake.faults(), "");
    EXPECT_STREQ(fake.leaks(), "");
    ::unsetenv(variable);
  }
  /// Starts the fake anew, its streams in the order of that seed.
  virtual void reset(uint64_t seed) {
    const fake_cuda_options_t options = fakeOptions(seed);
    fake.reset(&options);
  }
  std::shared_ptr<Runtime> makeRuntime(CUDAOptions options = {}) {
    RuntimeOptions settings{.threads = 1};
    settings.log = [this](Severity severity, const std::string &text) {
      (severity == Severity::note ? noted : logged).push_back(text);
    };
    return createRuntime(std::move(settings), {}, options);
  }

private:
  const char *variable;
};

} // namespace gantry::runtime::test
