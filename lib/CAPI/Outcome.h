// How calls of the runtime library end: a status, and a message that the thread keeps.
#pragma once

#include "gantry-c/common.h"
#include "gantry/Support/Status.h"

#include <string>

namespace gantry::capi {

inline std::string &lastError() {
  thread_local std::string message;
  return message;
}

/// Text whose names may hold any bytes, as C takes it: a NUL in it does not end it.
inline std::string forC(const std::string &text) {
  std::string out;
  for (char c : text)
    c == '\0' ? out += "\\x00" : out += c;
  return out;
}

inline gantry_status_t finish(Status status) {
  if (status.ok())
    return GANTRY_OK;
  lastError() = forC(status.message());
  return static_cast<gantry_status_t>(status.code());
}

inline gantry_status_t nullArgument(const char *call) {
  return finish(Status::invalidArgument(std::string(call) + ": an argument is a null pointer"));
}

/// First of all in calls that set a pointer: it is null when they fail, whatever is wrong.
template <typename Pointer>
void clear(Pointer *out) {
  if (out)
    *out = nullptr;
}

} // namespace gantry::capi

#define GANTRY_NEED(condition)                                                                     \
  if (!(condition))                                                                                \
  return gantry::capi::nullArgument(__func__)
