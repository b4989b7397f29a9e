#include "Options.h"

#include "OptionTable.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"
#include "gantry/Support/Version.h"

#include <bit>
#include <charconv>
#include <cstdio>
#include <vector>

using namespace gantry;
using namespace gantry::memplan;

namespace {

int usage(const std::string &message) {
  std::fprintf(stderr, "gantry-memplan: error: %s; see gantry-memplan --help\n", message.c_str());
  return exitUsage;
}

bool parseCount(std::string_view text, unsigned most, unsigned *value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= 1 && *value <= most;
}

bool parseBytes(std::string_view text, uint64_t *value) {
  Expected<uint64_t> bytes = parseByteCount(text);
  if (bytes)
    *value = *bytes;
  return bytes.ok();
}

/// Named as in the table of options, in the order of the enumeration.
bool parsePlanner(std::string_view text, packing::Planner *planner) {
  constexpr std::string_view names[] = {"portfolio", "time-order", "largest-first", "skyline",
                                        "ejection",  "annealing",  "exact"};
  for (size_t i = 0; i < std::size(names); ++i)
    if (names[i] == text)
      return *planner = static_cast<packing::Planner>(i), true;
  return false;
}

/// True when the value fits the option, which is known.
bool apply(Options &options, std::string_view name, std::string_view value) {
  if (name == "--input")
    return options.input = value, !value.empty();
  if (name == "--output")
    return options.output = value, !value.empty();
  if (name == "--svg")
    return options.svg = value, !value.empty();
  if (name == "--capacity")
    return options.hasCapacity = parseBytes(value, &options.search.capacity);
  if (name == "--alignment")
    return parseBytes(value, &options.alignment) && std::has_single_bit(options.alignment) &&
           options.alignment <= uint64_t(1) << 32;
  if (name == "--planner")
    return parsePlanner(value, &options.search.planner);
  if (name == "--rounds")
    return parseCount(value, 8, &options.search.rounds);
  if (name == "--threads")
    return parseCount(value, 1024, &options.search.threads);
  return options.quiet = true, value.empty();
}

const OptionEntry *entryOf(std::string_view name) {
  for (const OptionEntry &option : optionTable)
    if (option.name == name)
      return &option;
  return nullptr;
}

/// What is made of the table of options. Gives the exit status.
int printMade(std::string_view command, std::string_view shell) {
  std::string text = command == "man" ? manualPage() : completionScript(shell);
  if (text.empty())
    return usage("expected a shell: bash, zsh or fish");
  std::fputs(text.c_str(), stdout);
  return exitSuccess;
}

} // namespace

std::optional<Options> gantry::memplan::parseOptions(int argc, char **argv, int *status) {
  Options options;
  std::vector<std::string> names;
  for (const OptionEntry &option : optionTable)
    names.emplace_back(option.name);
  auto fail = [&](const std::string &message) {
    *status = usage(message);
    return std::nullopt;
  };
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(helpText().c_str(), stdout);
      *status = exitSuccess;
      return std::nullopt;
    }
    if (word == "--version") {
      std::puts("gantry-memplan " GANTRY_VERSION_STRING);
      *status = exitSuccess;
      return std::nullopt;
    }
    if (word == "man" || word == "completion") {
      *status = printMade(word, i + 1 < argc ? argv[i + 1] : "");
      return std::nullopt;
    }
    if (word.substr(0, 2) != "--")
      return fail("unexpected argument '" + printable(word) +
                  "'; write --input=" + printable(word));
    size_t equals = word.find('=');
    std::string_view name = word.substr(0, equals), value;
    const OptionEntry *entry = entryOf(name);
    if (!entry)
      return fail("unknown option '" + printable(name) + "'" +
                  didYouMean(std::string(name), names));
    if (equals != word.npos)
      value = word.substr(equals + 1);
    else if (!entry->metavar.empty() && i + 1 < argc)
      value = argv[++i];
    if (!apply(options, name, value))
      return fail("option '" + printable(name) + "' does not take '" + printable(value) + "'");
  }
  if (options.input.empty())
    return fail("expected --input=FILE");
  return options;
}
