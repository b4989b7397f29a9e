// The command line as a table: what completion scripts and manual pages are made of. Parsing,
// --help and these come from the same definitions in Options.cpp.
#pragma once

#include <string>
#include <vector>

namespace gantry::tool {

struct FlagEntry {
  std::vector<std::string> names; ///< "-v", "--verbose"
  std::string metavar;            ///< "NAME=FILE"; empty: a switch
  std::string help;
  std::string group;
  std::vector<std::string> values; ///< all that there are; empty: any
  bool isSwitch = false;           ///< takes a value behind "=" at most
  bool takesFile = false;
  bool repeatable = false;
};

struct CommandEntry {
  std::string name, help, footer;
  std::vector<std::pair<std::string, std::string>> positionals; ///< name and help
  std::vector<FlagEntry> flags;
  std::vector<std::string> values; ///< all that its argument may be; empty: files
};

struct CommandTable {
  std::string help, footer;
  std::vector<CommandEntry> commands;
};

/// A script for "bash", "zsh" or "fish".
std::string completionScript(const CommandTable &table, const std::string &shell);

/// Source of a manual page (man macros): of a command, or, when that is empty, of the tool.
std::string manualPage(const CommandTable &table, const std::string &command);

} // namespace gantry::tool
