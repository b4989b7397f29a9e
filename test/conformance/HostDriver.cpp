// The host driver in the conformance suite, with one thread and with several.
#include "gantry/Drivers/HostDriver.h"

#include "DriverConformance.h"
#include "gantry/Runtime/ThreadPool.h"

#include <fstream>
#include <iterator>

namespace gantry::runtime::test {
namespace {

template <unsigned threads>
Expected<std::unique_ptr<Driver>> create() {
  static ThreadPool pool(threads);
  return createHostDriver(pool);
}

std::vector<uint8_t> code() {
  std::ifstream file(GANTRY_TEST_KERNELS, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string nameOf(const ::testing::TestParamInfo<DriverCase> &info) {
  return info.index == 0 ? "oneThread" : "threeThreads";
}

INSTANTIATE_TEST_SUITE_P(host, DriverConformance,
                         ::testing::Values(DriverCase{"host", create<1>, code},
                                           DriverCase{"host", create<3>, code}),
                         nameOf);

} // namespace
} // namespace gantry::runtime::test
