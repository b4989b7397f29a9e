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

/// Refuses the value of a flag: the text of a CLI::ValidationError, for what describeUsageError
/// tells as it is.
std::string doesNotTake(const std::string &flag, const std::string &value);

/// Parses the command line of a small tool that has the name of `app`. False where --help or the
/// like was printed, or what is wrong was told: *status is then the exit status.
bool parseOrTell(CLI::App &app, int argc, char **argv, int *status);

} // namespace gantry::tool
