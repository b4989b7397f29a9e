#include "EverydayFlags.h"

#include <algorithm>
#include <map>
#include <vector>

namespace gantry::tool {

namespace {
using Flags = std::vector<std::string_view>;

/// Of all commands that compile.
const Flags ofCompiler = {"dim",       "outputs", "devices",        "simulate",
                          "placement", "place",   "soft-placement", "over-limit"};

const std::map<std::string_view, Flags> ofCommand = {
    {"run", {"input", "fill", "output", "expect", "trace", "log-device-placement", "verbose"}},
    {"compile",
     {"output", "math", "target-cpu", "log-device-placement", "verbose", "train", "optimizer"}},
    {"check", {"json", "train"}},
    {"bench", {"input", "fill", "runs", "ops", "threads", "json"}},
    {"explain", {"all", "op", "why-not", "memory", "timeline", "scaling", "json"}},
    {"report", {"output", "measured"}},
    {"diff", {"all", "json"}},
};

bool has(const Flags &flags, std::string_view flag) {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}
} // namespace

bool isEveryday(std::string_view command, std::string_view flag) {
  const auto own = ofCommand.find(command);
  return own == ofCommand.end() || has(own->second, flag) || has(ofCompiler, flag) ||
         flag.starts_with("help");
}

} // namespace gantry::tool
