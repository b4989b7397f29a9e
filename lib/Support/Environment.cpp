#include "gantry/Support/Environment.h"

#include <cstdlib>

namespace gantry {

const char *environmentVariable(const char *name) { return ::secure_getenv(name); }

std::string environment(const char *name) {
  const char *value = environmentVariable(name);
  return value ? value : "";
}

} // namespace gantry
