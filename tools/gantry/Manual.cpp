// Manual pages in the macros of man(7), from the words of --help.
#include "CommandTable.h"

#include "gantry/Support/Version.h"

namespace gantry::tool {

namespace {
/// Text as roff reads it: no escape, no minus that becomes a hyphen, no request at the line's
/// begin.
std::string roff(const std::string &text) {
  std::string out;
  for (char c : text) {
    if (out.empty() || out.back() == '\n')
      if (c == '.' || c == '\'')
        out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string section(const std::string &title) { return ".SH " + title + "\n"; }

std::string preformatted(const std::string &text) {
  return ".nf\n" + roff(text) + (text.ends_with("\n") ? "" : "\n") + ".fi\n";
}

std::string flagEntry(const FlagEntry &flag) {
  std::string text = ".TP\n";
  for (const std::string &name : flag.names)
    text += (&name == &flag.names.front() ? "" : ", ") + ("\\fB" + roff(name) + "\\fR");
  if (!flag.metavar.empty())
    text += (flag.isSwitch ? "\\fI" : " \\fI") + roff(flag.metavar) + "\\fR";
  return text + "\n" + roff(flag.help) + "\n";
}

/// `Exit status:` of a footer, and what stands before it.
std::pair<std::string, std::string> splitFooter(const std::string &footer) {
  const size_t at = footer.find("Exit status: ");
  return at == footer.npos ? std::pair(footer, std::string())
                           : std::pair(footer.substr(0, at), footer.substr(at + 13));
}

std::string header(const std::string &name, const std::string &summary) {
  std::string title;
  for (char c : name)
    title += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return ".TH " + roff(title) + " 1 \"\" \"gantry " GANTRY_VERSION_STRING "\" \"Gantry\"\n" +
         section("NAME") + roff(name + " - " + summary) + "\n";
}

constexpr char exitStatus[] =
    "0 success, 1 an error in what was given, 2 wrong usage, 3 does not fit.\n";

std::string pageOf(const CommandEntry &command) {
  std::string text = header("gantry-" + command.name, command.help) + section("SYNOPSIS") +
                     "\\fBgantry " + roff(command.name) + "\\fR";
  for (const auto &[name, help] : command.positionals)
    text += " \\fI" + roff(name) + "\\fR";
  text += " [flags]\n" + section("ARGUMENTS");
  if (command.positionals.empty())
    text.resize(text.size() - section("ARGUMENTS").size());
  for (const auto &[name, help] : command.positionals)
    text += ".TP\n\\fI" + roff(name) + "\\fR\n" + roff(help) + "\n";
  text += section("OPTIONS");
  std::string group = "OPTIONS";
  for (const FlagEntry &flag : command.flags) {
    if (flag.group != group && flag.group != "OPTIONS" && flag.group != "Options")
      text += ".SS " + roff(flag.group) + "\n";
    group = flag.group;
    text += flagEntry(flag);
  }
  const auto [examples, status] = splitFooter(command.footer);
  if (const size_t colon = examples.find("Examples:\n"); colon != examples.npos)
    text += section("EXAMPLES") + preformatted(examples.substr(colon + 10));
  return text + section("EXIT STATUS") + roff(status.empty() ? exitStatus : status) +
         section("SEE ALSO") + "\\fBgantry\\fR(1)\n";
}

std::string pageOf(const CommandTable &table) {
  std::string text = header("gantry", table.help) + section("SYNOPSIS") +
                     "\\fBgantry\\fR \\fICOMMAND\\fR [arguments]\n" + section("COMMANDS");
  for (const CommandEntry &command : table.commands)
    text += ".TP\n\\fBgantry\\-" + roff(command.name) + "\\fR(1)\n" + roff(command.help) + "\n";
  return text + section("EXIT STATUS") + exitStatus;
}
} // namespace

std::string manualPage(const CommandTable &table, const std::string &command) {
  for (const CommandEntry &entry : table.commands)
    if (entry.name == command)
      return pageOf(entry);
  return pageOf(table);
}

} // namespace gantry::tool
