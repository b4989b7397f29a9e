#include "gantry/Drivers/BuiltIn.h"

#include "gantry/Drivers/HostDriver.h"
#include "gantry/Drivers/SimDriver.h"

#include <cstdlib>

namespace gantry::runtime {

std::shared_ptr<Runtime> createRuntime(RuntimeOptions options) {
  std::shared_ptr<Runtime> runtime = Runtime::create(std::move(options));
  for (auto create : {createHostDriver, createSimDriver})
    if (!runtime->addDriver(create(runtime->threadPool())).ok())
      std::abort(); // a runtime without devices takes any driver
  return runtime;
}

} // namespace gantry::runtime
