// The flags that --help shows of a command with many; --help-all shows the others as well.
#pragma once

#include <string_view>

namespace gantry::tool {

/// Whether `flag`, without dashes, is used every day with `command`. Commands with few flags have
/// no others.
bool isEveryday(std::string_view command, std::string_view flag);

} // namespace gantry::tool
