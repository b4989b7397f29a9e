// What tests have in common that run on each driver: the fake libcuda, which has to be without
// faults and leaks at the end, and runtimes with memory settings.
#pragma once

#include "fake_cuda/Client.h"
#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Runtime/Runtime.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gantry::runtime::test {

struct DriverOfPlans {
  const char *name;
  const char *inPlans;
  std::optional<EmulatorChecks> emulate;
};

inline std::string nameOf(const ::testing::TestParamInfo<DriverOfPlans> &info) {
  return info.param.name;
}

/// The drivers with devices of their own.
inline std::vector<DriverOfPlans> driversOfDevices() {
  return {
      {"cudaOnFake", "cuda", {}}, {"emulated", "cuda", EmulatorChecks::all}, {"sim", "sim", {}}};
}

inline std::vector<DriverOfPlans> everyDriver() {
  std::vector<DriverOfPlans> drivers = driversOfDevices();
  drivers.insert(drivers.begin(), {"host", "host", {}});
  return drivers;
}

struct EachDriverTest : ::testing::TestWithParam<DriverOfPlans> {
  const fake_cuda_control_t &fake = fakeCUDA(GANTRY_FAKE_CUDA);

  void SetUp() override {
    const fake_cuda_options_t options = fakeOptions();
    fake.reset(&options);
  }
  void TearDown() override {
    EXPECT_STREQ(fake.faults(), "");
    EXPECT_STREQ(fake.leaks(), "");
  }
  /// With memory settings as the flags have them.
  std::shared_ptr<Runtime> makeRuntime(const std::vector<std::string> &texts = {}) const {
    RuntimeOptions options{.threads = 1};
    for (const std::string &text : texts)
      options.memory.push_back(MemorySetting::parse(text).take());
    return createRuntime(std::move(options), GetParam().emulate);
  }
};

} // namespace gantry::runtime::test
