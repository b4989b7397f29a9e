// What every queue of every device does over a run, drawn for the terminal.
#pragma once

#include "Explain.h"

#include <string>
#include <vector>

namespace gantry::tool {

/// A line per queue that does something: how busy it is in each of `width` slices of the run,
/// darker for busier, and its share of the whole; a scale below. Commands of no length are not
/// seen.
std::string drawQueues(const plan::fb::Plan &plan, const std::vector<plan::Moment> &moments,
                       size_t width);

} // namespace gantry::tool
