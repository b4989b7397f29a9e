#include "gantry/Drivers/BuiltIn.h"

#include "gantry/Drivers/CUDADriver.h"
#include "gantry/Drivers/EmulatedDriver.h"
#include "gantry/Drivers/HostDriver.h"
#include "gantry/Drivers/SimDriver.h"

#include <cstdlib>

namespace gantry::runtime {

std::shared_ptr<Runtime> createRuntime(RuntimeOptions options,
                                       std::optional<EmulatorChecks> emulate, CUDAOptions cuda) {
  std::shared_ptr<Runtime> runtime = Runtime::create(std::move(options));
  cuda.copyingPool = &runtime->threadPool();
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.push_back(createHostDriver(runtime->threadPool()));
  drivers.push_back(createSimDriver(runtime->threadPool()));
  drivers.push_back(emulate ? createEmulatedDriver(*emulate) : createCUDADriver(cuda));
  for (std::unique_ptr<Driver> &driver : drivers)
    if (!runtime->addDriver(std::move(driver)).ok())
      std::abort(); // a runtime without devices takes any driver
  return runtime;
}

} // namespace gantry::runtime
