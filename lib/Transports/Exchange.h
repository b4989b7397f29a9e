// What all transports ask of an exchange.
#pragma once

#include "gantry/Runtime/Transport.h"

#include <cstddef>

namespace gantry::runtime {

inline char *at(void *data, uint64_t offset) { return static_cast<char *>(data) + offset; }
inline const char *at(const void *data, uint64_t offset) {
  return static_cast<const char *>(data) + offset;
}

/// The place of a rank in a group; the group's size where it is not in it.
size_t placeIn(const Group &group, uint32_t rank);

/// INVALID_ARGUMENT for a group of a rank that is not there, or that is there twice.
Status checkGroups(std::span<const Group> groups, uint32_t ranks);

/// INVALID_ARGUMENT for a part that `rank` cannot have.
Status checkExchange(const Exchange &exchange, uint32_t rank, uint32_t ranks,
                     std::span<const Group> groups);

} // namespace gantry::runtime
