// Plan files: any bytes are refused or give a plan that may be used without a further check. The
// checksums are computed again first, or the fuzzer would never get past them.
#include "SamplePlan.h"

using namespace gantry;
using namespace gantry::plan;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::vector<uint8_t> bytes(data, data + size);
  if (size >= sizeof(FileHeader)) {
    std::memcpy(bytes.data() + offsetof(FileHeader, fileSize), &size, sizeof size);
    test::reseal(bytes);
  }
  if (Expected<PlanFile> file = PlanFile::copyOf(bytes))
    test::useEverything(*file);
  return 0;
}
