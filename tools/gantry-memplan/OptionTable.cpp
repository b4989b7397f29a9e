// --help, the manual page and scripts of shells, from the table.
#include "OptionTable.h"

#include "gantry/Support/Version.h"

using namespace gantry::memplan;

namespace {

std::string indented(std::string_view text, std::string_view by) {
  std::string made(by);
  for (char c : text.substr(0, text.size() - 1)) {
    made += c;
    if (c == '\n')
      made += by;
  }
  return made + "\n";
}

/// As roff reads it: no minus that becomes a hyphen, no request at the line's begin.
std::string roff(std::string_view text) {
  std::string made;
  for (char c : text) {
    bool atBegin = made.empty() || made.back() == '\n';
    made += atBegin && (c == '.' || c == '\'') ? "\\&" : "";
    made += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return made;
}

/// In lines of up to 78 characters.
std::string wrapped(std::string_view text) {
  std::string made;
  size_t column = 0;
  while (!text.empty()) {
    size_t end = text.find(' ');
    std::string_view word = text.substr(0, end);
    if (column != 0 && column + 1 + word.size() > 78)
      made += "\n", column = 0;
    made += (column ? " " : "") + std::string(word);
    column += (column ? 1 : 0) + word.size();
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return made;
}

/// The first part of a sentence: completion menus are narrow.
std::string brief(std::string_view help) {
  std::string_view first = help.substr(0, help.find_first_of(";:("));
  return std::string(first.substr(0, first.find_last_not_of(' ') + 1));
}

std::string bashScript() {
  std::string flags, values;
  for (const OptionEntry &option : optionTable) {
    flags += std::string(option.name) + " ";
    if (!option.takesFile && !option.metavar.empty())
      values +=
          "  " + std::string(option.name) + ") words='" + std::string(option.values) + "' ;;\n";
  }
  return R"(# Completion of gantry-memplan for bash; made by `gantry-memplan completion bash`.
_gantry_memplan() {
  local current=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} words
  # bash takes the "=" of --flag=value for a word of its own.
  if [[ $current == '=' ]]; then current=''
  elif [[ $flag == '=' ]]; then flag=${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
  case $flag in
  completion) words='bash zsh fish' ;;
)" + values +
         R"(  *) words=files ;;
  esac
  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W ')" +
         flags + R"(--help' -- "$current")
  elif [[ $words == files ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); fi
}
complete -o filenames -F _gantry_memplan gantry-memplan
)";
}

std::string zshScript() {
  std::string text = "#compdef gantry-memplan\n# Completion of gantry-memplan for zsh; made by "
                     "`gantry-memplan completion zsh`.\n_arguments";
  for (const OptionEntry &option : optionTable) {
    std::string value = option.metavar.empty()   ? ""
                        : !option.values.empty() ? ":value:(" + std::string(option.values) + ")"
                        : option.takesFile       ? ":value:_files"
                                                 : ":value: ";
    text += " \\\n  '" + std::string(option.name) + (value.empty() ? "" : "=") + "[" +
            brief(option.help) + "]" + value + "'";
  }
  return text + " \\\n  '1:command:(man completion)' \\\n  '2:shell:(bash zsh fish)'\n";
}

std::string fishScript() {
  std::string text =
      "# Completion of gantry-memplan for fish; made by `gantry-memplan completion fish`.\n";
  for (const OptionEntry &option : optionTable) {
    text += "complete -c gantry-memplan -l " + std::string(option.name.substr(2));
    text += option.metavar.empty() ? "" : option.takesFile ? " -r" : " -x";
    if (!option.values.empty())
      text += " -a '" + std::string(option.values) + "'";
    text += " -d '" + brief(option.help) + "'\n";
  }
  return text;
}

} // namespace

std::string gantry::memplan::helpText() {
  std::string text = "Usage: gantry-memplan --input=FILE [OPTIONS]\n"
                     "       gantry-memplan man\n"
                     "       gantry-memplan completion SHELL\n\n" +
                     wrapped(summary) + "\n\nOptions:\n";
  for (const OptionEntry &option : optionTable) {
    std::string name = std::string(option.name) + (option.metavar.empty() ? "" : "=") +
                       std::string(option.metavar);
    text += "  " + name + std::string(name.size() < 18 ? 19 - name.size() : 1, ' ') +
            std::string(option.help) + "\n";
    if (!option.values.empty())
      text += std::string(21, ' ') + std::string(option.values) + "\n";
  }
  return text + "\nExit status: " + std::string(exitStatus) + "\n\nExamples:\n" +
         indented(examples, "  ");
}

std::string gantry::memplan::manualPage() {
  std::string text = ".TH GANTRY\\-MEMPLAN 1 \"\" \"gantry " GANTRY_VERSION_STRING
                     "\" \"Gantry\"\n.SH NAME\ngantry\\-memplan \\- plans the memory of buffers\n"
                     ".SH SYNOPSIS\n\\fBgantry\\-memplan\\fR \\fB\\-\\-input\\fR=\\fIFILE\\fR "
                     "[options]\n.SH DESCRIPTION\n" +
                     roff(summary) + "\n.SH OPTIONS\n";
  for (const OptionEntry &option : optionTable)
    text += ".TP\n\\fB" + roff(option.name) + "\\fR" +
            (option.metavar.empty() ? "" : "=\\fI" + roff(option.metavar) + "\\fR") + "\n" +
            roff(option.help) + (option.values.empty() ? "" : ": " + roff(option.values)) + "\n";
  return text + ".SH EXAMPLES\n.nf\n" + roff(examples) + ".fi\n.SH EXIT STATUS\n" +
         roff(exitStatus) + "\n.SH SEE ALSO\n\\fBgantry\\fR(1)\n";
}

std::string gantry::memplan::completionScript(std::string_view shell) {
  return shell == "bash"   ? bashScript()
         : shell == "zsh"  ? zshScript()
         : shell == "fish" ? fishScript()
                           : "";
}
