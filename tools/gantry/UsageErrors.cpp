// CLI11 says what kind of error it is by the exit code, and which option it is about by the
// part of the text before the colon. What the text says behind it is for programmers.
#include "UsageErrors.h"

#include "gantry/Support/Names.h"

#include <CLI/CLI.hpp>

#include <cstdio>

namespace gantry::tool {

namespace {

std::string joined(const std::vector<std::string> &words) { return CLI::detail::join(words, ", "); }

std::vector<std::string> commandsOf(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::App *sub : app.get_subcommands({}))
    names.push_back(sub->get_name());
  return names;
}

/// "--input", "-v" and the like.
std::vector<std::string> flagsOf(const CLI::App &command) {
  std::vector<std::string> names;
  for (const CLI::Option *option : command.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

std::string describeCommand(const CLI::App &app, const std::vector<std::string> &arguments) {
  const std::vector<std::string> commands = commandsOf(app);
  if (arguments.empty())
    return "a command is missing; the commands are " + joined(commands);
  const std::string &given = arguments.front();
  if (given.starts_with("-"))
    return "unknown flag '" + printable(given) + "'" + didYouMean(given, flagsOf(app)) +
           "; a command comes first: " + joined(commands);
  const std::string suggestion = didYouMean(given, commands);
  return "unknown command '" + printable(given) + "'" +
         (suggestion.empty() ? "; the commands are " + joined(commands) : suggestion);
}

/// What was left over: a flag that does not exist, or a file too many.
std::string describeExtra(const CLI::App &command, const std::string &extra) {
  const std::string name = extra.substr(0, extra.find('='));
  if (name.starts_with("-") && name != "-")
    return "unknown flag '" + printable(name) + "'" + didYouMean(name, flagsOf(command));
  return "'" + printable(extra) + "' is one file too many";
}

std::string describeMismatch(const CLI::Option &option, const std::string &name,
                             const std::string &why) {
  if (option.get_items_expected_max() == 0)
    return name + " takes no value";
  if (why.find("At Most") != why.npos)
    return name + " is given more than once";
  return name + " needs a value: " + name + " " + option.get_option_text();
}

} // namespace

std::string describeUsageError(const CLI::App &app, const CLI::ParseError &error,
                               const std::vector<std::string> &arguments) {
  const auto chosen = app.get_subcommands();
  if (chosen.empty() && !app.get_subcommands({}).empty())
    return describeCommand(app, arguments);
  const CLI::App &command = chosen.empty() ? app : *chosen.front();
  const std::string text = error.what();
  const auto is = [&](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  const std::string name = text.substr(0, text.find(':'));
  // A flag that is misspelled is told before what else is missing.
  for (const std::string &extra : app.remaining(/*recurse=*/true))
    if (extra.starts_with("-") && extra != "-")
      return describeExtra(command, extra);
  if (is(CLI::ExitCodes::ExtrasError))
    return describeExtra(command, text.substr(text.find(": ") + 2));
  if (is(CLI::ExitCodes::RequiredError))
    return text.substr(0, text.find(' ')) + " is missing";
  if (text.ends_with("disallowed flag override"))
    return "--" + text.substr(0, text.find(' ')) + " takes no value";
  if (const CLI::Option *option = command.get_option_no_throw(name))
    if (is(CLI::ExitCodes::ArgumentMismatch))
      return describeMismatch(*option, name, text);
  return text;
}

std::string doesNotTake(const std::string &flag, const std::string &value) {
  return flag + " does not take '" + printable(value) + "'";
}

bool parseOrTell(CLI::App &app, int argc, char **argv, int *status) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::Success &asked) { // --help, --version
    *status = app.exit(asked);
  } catch (const CLI::ParseError &error) {
    const std::string name = app.get_name();
    std::fprintf(stderr, "%s: error: %s; see %s --help\n", name.c_str(),
                 describeUsageError(app, error, {argv + 1, argv + argc}).c_str(), name.c_str());
    *status = 2;
  }
  return false;
}

} // namespace gantry::tool
