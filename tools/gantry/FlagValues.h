// What flags take: those of the compiler, and what of a value is told wrong before anything starts.
#pragma once

#include "gantry/Support/Names.h"
#include "gantry/Support/Status.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gantry::tool {

/// A flag that the tool passes on to the compiler.
struct CompileFlag {
  std::string name;
  std::string metavar; ///< empty: a switch
  bool repeatable;
  std::string help;
  std::string group;
  std::vector<std::string> values; ///< all that there are; empty: any
};

/// In the order of Support/CompileFlags.def.
const std::vector<CompileFlag> &compileFlagTable();

inline constexpr uint64_t atMost = uint64_t(1) << 30; ///< of what is counted
inline constexpr uint64_t mostThreads = 1024;
inline constexpr double largestTolerance = 1e30, day = 86400;

CLI::Validator wholeNumber(uint64_t least, uint64_t most);
CLI::Validator numberUpTo(double most);
CLI::Validator oneOf(std::vector<std::string> known);

/// What `parse` says of the value.
template <typename Parse>
CLI::Validator readableBy(Parse parse) {
  return CLI::Validator(
      [parse](const std::string &text) {
        // That there is nothing is told of all flags alike.
        return text.empty() ? "" : printable(parse(text).status().message());
      },
      "");
}

/// Of --op and --why-not.
CLI::Validator readablePattern();

/// Of --scaling, "1,2,4": numbers of tasks, each once.
Expected<std::vector<uint32_t>> parseTaskCounts(const std::string &text);

/// Of --fill, "[NAME=]SPEC".
CLI::Validator readableFill();

/// What the text of a compile flag's value can be told by itself; the rest is the compiler's.
CLI::Validator valueOf(const CompileFlag &flag);

} // namespace gantry::tool
