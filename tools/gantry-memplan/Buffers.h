// Buffers as lines of a CSV file: id,lower,upper,size, and perhaps offset and alignment.
#pragma once

#include "gantry/Packing/Packing.h"

#include <string>
#include <string_view>
#include <vector>

namespace gantry::memplan {

struct BufferList {
  std::vector<std::string> ids;
  packing::Problem problem;
};

/// Reads what `text`, of the file `name`, says; `alignment` is that of buffers whose line has none.
/// Errors: INVALID_ARGUMENT, beginning with file and line, with a remedy.
Expected<BufferList> readBuffers(std::string_view text, const std::string &name,
                                 uint64_t alignment);

/// The same list with the offsets of a plan.
std::string writeBuffers(const BufferList &list, const packing::Solution &solution);

/// The plan as a picture: time to the right, offsets upwards.
std::string drawPlan(const BufferList &list, const packing::Solution &solution, uint64_t capacity);

} // namespace gantry::memplan
