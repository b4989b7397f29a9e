// Ranges in names, so that what is alike is written once: "n{0..63}" is n0 to n63. All lists of
// devices, tasks and hosts are read by this.
#pragma once

#include "gantry/Device/DeviceName.h"

#include <string>
#include <string_view>
#include <vector>

namespace gantry {

/// Names that one text may stand for.
inline constexpr size_t mostNames = 65536;

/// The names that a text stands for: those of each range in turn, the first range outermost. A text
/// without a range stands for itself. Errors: INVALID_ARGUMENT with the column for a range that is
/// not "{FIRST..LAST}" with FIRST <= LAST, and where there are more than mostNames.
Expected<std::vector<std::string>> expandRanges(std::string_view text);

/// The range as it is written, "{0..63}"; of one number that alone.
std::string rangeText(uint32_t first, uint32_t last);

/// The names that a text stands for, read as those of devices.
Expected<std::vector<DeviceName>> expandDevices(std::string_view text);

/// Full names of devices as people write them, "/job:worker/task:{0..63}/GPU:{0..7}": ids of a task
/// that follow one another are folded, and so are tasks that have the same devices among these. Of
/// the default task alone, "GPU:{0..1}".
std::string foldDevices(std::vector<DeviceName> devices);

/// Where `text` has a "*", the device is all that match, and not any of them.
inline bool namesAll(std::string_view text) { return text.find('*') != text.npos; }

} // namespace gantry
