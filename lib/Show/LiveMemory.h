// Memory of a function over its commands, from the live ranges that the plan keeps for explaining.
#pragma once

#include "gantry/Plan/Plan_generated.h"

#include <string>
#include <vector>

namespace gantry::show {

/// Live bytes of one transient arena at each command, in the order of plan::commandsOf, which is
/// that of Value.first and last.
struct LiveMemory {
  std::vector<uint64_t> live;
  uint64_t peak = 0;
  size_t peakCommand = 0; ///< the first at which `peak` is live
};
LiveMemory liveMemoryOf(const plan::fb::Function &function, uint32_t arena, size_t numCommands);

/// Values of an arena that are live at a command, the largest first.
std::vector<const plan::fb::Value *> liveAt(const plan::fb::Function &function, uint32_t arena,
                                            size_t command);

/// All values of an arena, by when they begin to live, then by their place.
std::vector<const plan::fb::Value *> valuesOf(const plan::fb::Function &function, uint32_t arena);

/// A bar chart for the terminal: `height` lines of at most `width` columns, a column the largest of
/// the commands that it stands for, bars in eighths of a line; the scale is on the left.
std::string drawLiveMemory(const LiveMemory &memory, size_t width, size_t height);

} // namespace gantry::show
