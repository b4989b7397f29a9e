#include "FlagValues.h"

#include "gantry/Device/Topology.h"
#include "gantry/Formats/Values.h"
#include "gantry/Placement/OpPattern.h"
#include "gantry/Support/Format.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gantry::tool {

namespace {

/// The words of "a, b, c".
std::vector<std::string> listOf(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return CLI::detail::split(text, ',');
}

/// The whole of `text` as a decimal number.
template <typename Number>
std::optional<Number> numberIn(const std::string &text) {
  Number value{};
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

} // namespace

const std::vector<CompileFlag> &compileFlagTable() {
  static const std::vector<CompileFlag> table = [] {
    std::vector<CompileFlag> flags;
    std::string group;
#define GANTRY_COMPILE_FLAG_GROUP(title) group = title;
#define GANTRY_COMPILE_FLAG(name, metavar, repeatable, help)                                       \
  flags.push_back({name, metavar, repeatable, help, group, {}});
#define GANTRY_COMPILE_FLAG_VALUES(name, listed) flags.back().values = listOf(listed);
#include "gantry/Support/CompileFlags.def"
    return flags;
  }();
  return table;
}

CLI::Validator wholeNumber(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [least, most](std::string &text) {
        const auto value = numberIn<uint64_t>(text);
        if (!value || *value < least || *value > most)
          return "expected a whole number from " + std::to_string(least) + " to " +
                 std::to_string(most) + ", got '" + printable(text) + "'";
        text = std::to_string(*value); // CLI11 takes a leading zero for octal
        return std::string();
      },
      "");
}

CLI::Validator numberUpTo(double most) {
  return CLI::Validator(
      [most](const std::string &text) {
        const auto value = numberIn<double>(text);
        return value && *value >= 0 && *value <= most
                   ? std::string()
                   : format("expected a number from 0 to %g, got '%s'", most,
                            printable(text).c_str());
      },
      "");
}

/// "expected one of a, b, got 'c'"; nothing for one of them.
static std::string wrongUnlessOneOf(const std::vector<std::string> &known,
                                    const std::string &text) {
  if (std::find(known.begin(), known.end(), text) != known.end())
    return "";
  return "expected one of " + CLI::detail::join(known, ", ") + ", got '" + printable(text) + "'" +
         didYouMean(text, known);
}

CLI::Validator oneOf(std::vector<std::string> known) {
  return CLI::Validator(
      [known = std::move(known)](const std::string &text) { return wrongUnlessOneOf(known, text); },
      "");
}

CLI::Validator readablePattern() {
  return readableBy([](const std::string &text) {
    auto read = placement::parseOpPattern(text);
    return read ? std::move(read)
                : Status(read.status().code(), "'" + text + "' " + read.status().message());
  });
}

CLI::Validator readableFill() {
  return readableBy(
      [](const std::string &text) { return arrays::parseFill(text.substr(text.find('=') + 1)); });
}

CLI::Validator valueOf(const CompileFlag &flag) {
  return CLI::Validator(
      [&flag](const std::string &text) -> std::string {
        const auto got = [&](const std::string &what) {
          return "expected " + what + ", got '" + printable(text) + "'";
        };
        if (!flag.values.empty())
          if (std::string wrong = wrongUnlessOneOf(flag.values, text); !wrong.empty())
            return wrong;
        if (flag.metavar == "N" && numberIn<uint64_t>(text).value_or(atMost + 1) > atMost)
          return got("a whole number from 0 to " + std::to_string(atMost));
        const size_t equals = text.rfind('=');
        if (flag.metavar == "NAME=N" &&
            (equals == 0 || equals == text.npos ||
             numberIn<int64_t>(text.substr(equals + 1)).value_or(-1) < 0))
          return got("NAME=N, N being a whole number from 0 on");
        return {};
      },
      "");
}

Expected<std::vector<uint32_t>> parseTaskCounts(const std::string &text) {
  std::vector<uint32_t> counts;
  for (const std::string &part : CLI::detail::split(text, ',')) {
    const auto count = numberIn<uint32_t>(part);
    if (!count || *count == 0 || *count > maxDevices)
      return Status::invalidArgument("expected numbers of tasks from 1 to " +
                                     std::to_string(maxDevices) + ", like 1,2,4, got '" + part +
                                     "'");
    if (std::find(counts.begin(), counts.end(), *count) != counts.end())
      return Status::invalidArgument("'" + part + "' is there twice; give each number once");
    counts.push_back(*count);
  }
  return counts;
}

} // namespace gantry::tool
