// What every queue of every device does over a run, drawn for the terminal.
#pragma once

#include "gantry/Show/Explain.h"

#include <string>

namespace gantry::show {

/// A line per queue that does something: how busy it is in each slice of the run, darker for
/// busier, and its share of the whole; a scale below. Commands of no length are not seen. "" when
/// nothing takes time.
std::string chartOf(const Subject &subject, const plan::fb::Function &function,
                    const Moments &moments);

} // namespace gantry::show
