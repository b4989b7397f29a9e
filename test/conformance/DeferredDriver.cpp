// The driver whose queues work later in the conformance suite: what the others are spared, since
// they do their work at once.
#include "DeferredDriver.h"

#include "DriverConformance.h"

#include <fstream>
#include <iterator>

namespace gantry::runtime::test {
namespace {

Expected<std::unique_ptr<Driver>> create() {
  static Deferral deferral;
  return std::unique_ptr<Driver>(std::make_unique<DeferredDriver>("deferred", deferral));
}

std::vector<uint8_t> code() {
  std::ifstream file(GANTRY_TEST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

INSTANTIATE_TEST_SUITE_P(deferred, DriverConformance,
                         ::testing::Values(DriverCase{"deferred", create, code}));

} // namespace
} // namespace gantry::runtime::test
