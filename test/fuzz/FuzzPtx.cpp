// PTX: any text is refused with its place or runs, within a number of steps, without touching
// memory that no buffer has.
#include "gantry/PTX/Lint.h"
#include "gantry/PTX/Machine.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace gantry::ptx;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto module = parse(std::string(reinterpret_cast<const char *>(data), size), "fuzz.ptx");
  if (!module) {
    if (module.status().message().find("fuzz.ptx:") != 0)
      std::abort();
    return 0;
  }
  (void)lint(*module, {});
  for (const Variable &variable : module->variables)
    if (variable.size > (1u << 20))
      return 0; // only memory would be tested
  Memory memory;
  std::vector<uint64_t> buffer(64);
  if (!memory.add(buffer.data(), buffer.size() * 8, "buffer").ok())
    std::abort();
  auto image = Image::load(module.take(), memory);
  if (!image)
    return 0;
  for (const std::string &name : (*image)->kernelNames()) {
    auto kernel = (*image)->kernel(name);
    if (!kernel) {
      if (kernel.status().message().empty())
        std::abort();
      continue;
    }
    // Every parameter that a pointer fits into is one.
    std::vector<std::byte> arguments((*kernel)->parameterBytes);
    uint64_t address = reinterpret_cast<uint64_t>(buffer.data());
    for (const Parameter &parameter : (*kernel)->parameters)
      if (parameter.size == 8)
        std::memcpy(arguments.data() + parameter.offset, &address, 8);
    Launch launch;
    launch.kernel = name;
    launch.grid = {2, 1, 1};
    launch.block = {48, 1, 1};
    launch.arguments = arguments;
    launch.stepLimit = 2000;
    auto outcome = run(**image, launch);
    if (outcome)
      for (const Fault &fault : outcome->faults)
        (void)fault.text("fuzz.ptx");
  }
  return 0;
}
