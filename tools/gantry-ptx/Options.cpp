#include "Options.h"

#include "OptionTable.h"

#include "gantry/Support/Bytes.h"
#include "gantry/Support/Names.h"
#include "gantry/Support/Version.h"

#include <charconv>
#include <cstdio>

using namespace gantry;
using namespace gantry::ptx;
using namespace gantry::ptx::tool;

namespace {

void usage(const std::string &message) {
  std::fprintf(stderr, "gantry-ptx: error: %s; see gantry-ptx --help\n", message.c_str());
}

template <class T>
bool parseNumber(std::string_view text, T *value) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parseIndex(std::string_view text, Index3 *index) {
  *index = {1, 1, 1};
  for (size_t axis = 0; axis < 3; ++axis) {
    size_t comma = text.find(',');
    if (!parseNumber(text.substr(0, comma), &(*index)[axis]))
      return false;
    if (comma == text.npos)
      return true;
    text.remove_prefix(comma + 1);
  }
  return false;
}

bool parseNumbered(std::string_view text, std::vector<Options::Numbered> *to) {
  size_t colon = text.find(':');
  Options::Numbered made;
  if (colon == text.npos || !parseNumber(text.substr(0, colon), &made.argument))
    return false;
  made.path = std::string(text.substr(colon + 1));
  to->push_back(made);
  return !made.path.empty();
}

bool parseChecks(std::string_view text, Checks *checks) {
  if (text == "all")
    *checks = Checks::all;
  else if (text == "memory")
    *checks = Checks::memory;
  else if (text == "none")
    *checks = Checks::none;
  else
    return false;
  return true;
}

/// What is made of the table of options. Gives the exit status.
int printMade(const Options &options) {
  std::string text = options.command == "man" ? manualPage() : completionScript(options.file);
  if (text.empty()) {
    usage("expected a shell: bash, zsh or fish");
    return exitUsage;
  }
  std::fputs(text.c_str(), stdout);
  return exitSuccess;
}

/// True when the option is known and its value fits.
bool apply(Options &options, std::string_view name, std::string_view value, bool *known) {
  *known = true;
  if (name == "--allow") {
    while (!value.empty()) {
      size_t comma = value.find(',');
      options.allow.emplace_back(value.substr(0, comma));
      value.remove_prefix(comma == value.npos ? value.size() : comma + 1);
    }
    return true;
  }
  if (name == "--kernel")
    return options.kernel = std::string(value), true;
  if (name == "--grid")
    return parseIndex(value, &options.grid);
  if (name == "--block")
    return parseIndex(value, &options.block);
  if (name == "--shared") {
    auto bytes = parseByteCount(value);
    if (bytes)
      options.dynamicShared = *bytes;
    return bytes.ok();
  }
  if (name == "--arg")
    return options.arguments.emplace_back(value), true;
  if (name == "--save")
    return parseNumbered(value, &options.save);
  if (name == "--expect")
    return parseNumbered(value, &options.expect);
  if (name == "--rtol")
    return parseNumber(value, &options.rtol);
  if (name == "--atol")
    return parseNumber(value, &options.atol);
  if (name == "--checks")
    return parseChecks(value, &options.checks);
  if (name == "--threads")
    return parseNumber(value, &options.threads) && options.threads > 0;
  if (name == "--seed")
    return parseNumber(value, &options.seed);
  if (name == "--steps")
    return parseNumber(value, &options.steps) && options.steps > 0;
  if (name == "--repeat")
    return parseNumber(value, &options.repeat) && options.repeat > 0;
  *known = false;
  return false;
}

} // namespace

std::optional<Options> gantry::ptx::tool::parseOptions(int argc, char **argv, int *status) {
  Options options;
  *status = exitUsage;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(helpText().c_str(), stdout);
      *status = exitSuccess;
      return std::nullopt;
    }
    if (word == "--version") {
      std::puts("gantry-ptx " GANTRY_VERSION_STRING);
      *status = exitSuccess;
      return std::nullopt;
    }
    if (word == "--quiet") {
      options.quiet = true;
    } else if (word.substr(0, 2) == "--") {
      size_t equals = word.find('=');
      std::string_view name = word.substr(0, equals), value;
      if (equals != word.npos) {
        value = word.substr(equals + 1);
      } else if (i + 1 < argc) {
        value = argv[++i];
      }
      bool known;
      if (!apply(options, name, value, &known)) {
        usage(known ? "option '" + printable(name) + "' does not take '" + printable(value) + "'"
                    : "unknown option '" + printable(name) + "'");
        return std::nullopt;
      }
    } else if (options.command.empty()) {
      options.command = std::string(word);
    } else if (options.file.empty()) {
      options.file = std::string(word);
    } else {
      usage("unexpected argument '" + printable(word) + "'");
      return std::nullopt;
    }
  }
  std::vector<std::string> commands;
  bool known = false;
  for (const CommandEntry &each : commandTable) {
    commands.emplace_back(each.name);
    known |= each.name == options.command;
  }
  if (options.command.empty())
    usage("expected a command: parse, lint or run");
  else if (!known)
    usage("unknown command '" + printable(options.command) + "'" +
          didYouMean(options.command, commands));
  else if (options.command == "man" || options.command == "completion")
    *status = printMade(options);
  else if (options.file.empty())
    usage("expected a PTX file");
  else
    return options;
  return std::nullopt;
}
