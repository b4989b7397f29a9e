// What is wrong with a command line, in the tool's own words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
} // namespace CLI

namespace gantry::tool {

/// Says why `app` could not parse `arguments`, which it did not just now.
std::string describeUsageError(const CLI::App &app, const CLI::ParseError &error,
                               const std::vector<std::string> &arguments);

} // namespace gantry::tool
