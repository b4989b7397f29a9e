// What every driver must do, whatever it drives, and each of its devices. A driver registers in a
// file of its own:
//
//   INSTANTIATE_TEST_SUITE_P(host, DriverConformance, ::testing::Values(DriverCase{...}));
//
// A driver whose hardware or library is not here gives its reason in `create`, and the tests skip.
#pragma once

#include "gantry/Runtime/Device.h"
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
  /// Code for the driver with a kernel `add_f32`: buffers[2][i] = buffers[0][i] + buffers[1][i],
  /// where the driver counts in blocks for the number of each.
  std::function<std::vector<uint8_t>()> code;
  uint32_t cards = 10; ///< devices with larger numbers are parts of these
};

class DriverConformance : public ::testing::TestWithParam<DriverCase> {
protected:
  /// A device and a queue of it are open.
  void SetUp() override;

  std::unique_ptr<Device> open(const std::string &name);

  static std::vector<uint8_t> read(Device &device, const void *data, uint64_t bytes);
  std::vector<uint8_t> read(const void *data, uint64_t bytes) { return read(*device, data, bytes); }
  void write(void *data, const std::vector<uint8_t> &bytes);

  /// Device memory for the length of a test.
  static Allocation take(Device &device, uint64_t bytes);
  Allocation take(uint64_t bytes) { return take(*device, bytes); }

  std::unique_ptr<Driver> driver; // first: it outlives its devices
  std::unique_ptr<Device> device;
  std::unique_ptr<Queue> queue;
};

} // namespace gantry::runtime::test
