// Device names: any text is refused or becomes a name that prints and parses back (spec D2).
#include "gantry/Device/DeviceName.h"

#include <cstddef>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  gantry::Expected<gantry::DeviceName> name = gantry::DeviceName::parse(text);
  if (!name) {
    if (name.status().message().empty())
      std::abort();
    return 0;
  }
  gantry::Expected<gantry::DeviceName> again = gantry::DeviceName::parse(name->str());
  if (!again || *again != *name || !name->matches(*name) ||
      gantry::mergeScopes(*name, *name) != *name || (name->id && !name->type))
    std::abort();
  return 0;
}
