// What every driver must do, whatever it drives. A driver registers in a file of its own:
//
//   INSTANTIATE_TEST_SUITE_P(host, DriverConformance, ::testing::Values(DriverCase{...}));
//
// A driver whose hardware or library is not here gives its reason in `create`, and the tests skip.
#pragma once

#include "gantry/Runtime/Driver.h"

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

namespace gantry::runtime::test {

struct DriverCase {
  std::string name;
  /// A driver, or why there is none on this machine.
  std::function<Expected<std::unique_ptr<Driver>>()> create;
  /// Code for the driver with a kernel `add_f32`: buffers[2][i] = buffers[0][i] + buffers[1][i].
  std::function<std::vector<uint8_t>()> code;
};

class DriverConformance : public ::testing::TestWithParam<DriverCase> {
protected:
  void SetUp() override {
    Expected<std::unique_ptr<Driver>> made = GetParam().create();
    if (!made)
      GTEST_SKIP() << made.status().message();
    driver = made.take();
  }

  /// Device memory for the length of a test.
  class Memory {
  public:
    Memory(Driver &driver, uint64_t bytes);
    ~Memory();
    Memory(const Memory &) = delete;
    uint8_t *data() const { return start; }

  private:
    Driver &driver;
    uint64_t bytes;
    uint8_t *start = nullptr;
  };

  std::vector<uint8_t> read(const void *data, uint64_t bytes);
  void write(void *data, const std::vector<uint8_t> &bytes);

  std::unique_ptr<Driver> driver;
};

} // namespace gantry::runtime::test
