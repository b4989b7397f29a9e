// The driver of simulated devices in the conformance suite.
#include "gantry/Drivers/SimDriver.h"

#include "DriverConformance.h"
#include "gantry/Runtime/ThreadPool.h"

#include <fstream>
#include <iterator>

namespace gantry::runtime::test {
namespace {

Expected<std::unique_ptr<Driver>> create() {
  static ThreadPool pool(3);
  return createSimDriver(pool);
}

std::vector<uint8_t> code() {
  std::ifstream file(GANTRY_TEST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

INSTANTIATE_TEST_SUITE_P(sim, DriverConformance,
                         ::testing::Values(DriverCase{"sim", create, code}));

} // namespace
} // namespace gantry::runtime::test
