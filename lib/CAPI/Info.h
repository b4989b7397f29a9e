// How infos are handed out, to callers of any age.
#pragma once

#include "Outcome.h"

#include <algorithm>
#include <cstring>

namespace gantry::capi {

/// Hands out as much of it as the caller's version of the struct has room for.
template <typename Info>
gantry_status_t give(Info full, Info *info, const char *type) {
  size_t callerSize = info->struct_size;
  if (callerSize < sizeof(size_t))
    return finish(Status::invalidArgument(std::string(type) + ": struct_size is not set"));
  full.struct_size = callerSize;
  std::memcpy(static_cast<void *>(info), &full, std::min(callerSize, sizeof(Info)));
  return GANTRY_OK;
}

/// The caller's struct; of one that was built against a shorter, older header the rest is zeros.
template <typename Given>
Expected<Given> take(const Given *given, const char *type) {
  Given taken{};
  if (given->struct_size < sizeof(size_t))
    return Status::invalidArgument(std::string(type) + ": struct_size is not set");
  std::memcpy(static_cast<void *>(&taken), given, std::min(given->struct_size, sizeof taken));
  return taken;
}

inline gantry_status_t noSuch(const std::string &what, size_t index, size_t count) {
  return finish(Status::invalidArgument("there is no " + what + " number " + std::to_string(index) +
                                        " of " + std::to_string(count)));
}

} // namespace gantry::capi
