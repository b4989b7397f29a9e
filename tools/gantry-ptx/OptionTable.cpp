// --help, the manual page and scripts of shells, from the table.
#include "OptionTable.h"

#include "gantry/Support/Version.h"

#include <algorithm>

using namespace gantry::ptx::tool;

namespace {

std::string replaceAll(std::string text, std::string_view what, std::string_view by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

std::string namesOf(std::string_view command) {
  std::string names;
  for (const OptionEntry &option : optionTable)
    if (option.command == command)
      names += (names.empty() ? "" : " ") + std::string(option.name);
  return names;
}

std::string commandNames() {
  std::string names;
  for (const CommandEntry &command : commandTable)
    names += (names.empty() ? "" : " ") + std::string(command.name);
  return names;
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

/// The first part of a sentence: completion menus are narrow.
std::string brief(std::string_view help) {
  std::string_view first = help.substr(0, help.find_first_of(";:(\n"));
  return replaceAll(std::string(first.substr(0, first.find_last_not_of(' ') + 1)), "'", "");
}

std::string bashScript() {
  std::string flags, values;
  for (const CommandEntry &command : commandTable)
    flags += "  " + std::string(command.name) + ") flags='" + namesOf(command.name) + "' ;;\n";
  for (const OptionEntry &option : optionTable)
    if (!option.takesFile && !option.metavar.empty())
      values +=
          "  " + std::string(option.name) + ") words='" + std::string(option.values) + "' ;;\n";
  return R"(# Completion of gantry-ptx for bash; made by `gantry-ptx completion bash`.
_gantry_ptx() {
  local current=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} flags='' words
  # bash takes the "=" of --flag=value for a word of its own.
  if [[ $current == '=' ]]; then current=''
  elif [[ $flag == '=' ]]; then flag=${COMP_WORDS[COMP_CWORD-2]}; fi
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    mapfile -t COMPREPLY < <(compgen -W ')" +
         commandNames() + R"( --help' -- "$current")
    return
  fi
  case ${COMP_WORDS[1]} in
)" + flags +
         R"(  esac
  case $flag in
  completion) words='bash zsh fish' ;;
)" + values +
         R"(  *) words=files ;;
  esac
  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ $words == files ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); fi
}
complete -o filenames -F _gantry_ptx gantry-ptx
)";
}

std::string zshScript() {
  std::string commands, cases;
  for (const CommandEntry &command : commandTable) {
    commands += "    '" + std::string(command.name) + ":" + brief(command.help) + "'\n";
    cases += "  " + std::string(command.name) + ")\n    _arguments";
    for (const OptionEntry &option : optionTable) {
      if (option.command != command.name)
        continue;
      std::string value = option.metavar.empty() ? ""
                          : option.values.empty()
                              ? (option.takesFile ? ":value:_files" : ":value: ")
                              : ":value:(" + std::string(option.values) + ")";
      cases += " \\\n      '*" + std::string(option.name) + (value.empty() ? "" : "=") + "[" +
               brief(option.help) + "]" + value + "'";
    }
    cases += command.name == "completion" ? " \\\n      '*:shell:(bash zsh fish)' ;;\n"
                                          : " \\\n      '*:file:_files' ;;\n";
  }
  return "#compdef gantry-ptx\n# Completion of gantry-ptx for zsh; made by `gantry-ptx completion "
         "zsh`.\n_gantry_ptx() {\n  local -a commands\n  commands=(\n" +
         commands +
         "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  local command=$words[2]\n  shift words; (( CURRENT-- ))\n  case $command in\n" +
         cases + "  esac\n}\n_gantry_ptx \"$@\"\n";
}

std::string fishScript() {
  std::string text = "# Completion of gantry-ptx for fish; made by `gantry-ptx completion fish`.\n";
  for (const CommandEntry &command : commandTable)
    text += "complete -c gantry-ptx -n __fish_use_subcommand -f -a " + std::string(command.name) +
            " -d '" + brief(command.help) + "'\n";
  for (const OptionEntry &option : optionTable) {
    text += "complete -c gantry-ptx -n '__fish_seen_subcommand_from " +
            std::string(option.command) + "' -l " + std::string(option.name.substr(2));
    if (!option.metavar.empty())
      text += option.takesFile ? " -r" : " -x";
    if (!option.values.empty())
      text += " -a '" + std::string(option.values) + "'";
    text += " -d '" + brief(option.help) + "'\n";
  }
  return text + "complete -c gantry-ptx -n '__fish_seen_subcommand_from completion' -f -a 'bash "
                "zsh fish'\n";
}

} // namespace

std::string gantry::ptx::tool::helpText() {
  std::string text =
      "Usage: gantry-ptx COMMAND FILE.ptx [OPTIONS]\n\n" + std::string(summary) + "\n\nCommands:\n";
  for (const CommandEntry &command : commandTable)
    text += "  " + std::string(command.name) + std::string(12 - command.name.size(), ' ') +
            std::string(command.help) + "\n";
  std::string_view last;
  for (const OptionEntry &option : optionTable) {
    if (option.command != last)
      text += "\nOptions of " + std::string(option.command) + ":\n";
    last = option.command;
    std::string name = std::string(option.name) + (option.metavar.empty() ? "" : "=") +
                       std::string(option.metavar);
    text += "  " + name + std::string(name.size() < 16 ? 17 - name.size() : 1, ' ') +
            replaceAll(std::string(option.help), "\n", "\n" + std::string(19, ' ')) + "\n";
  }
  return text + "\nExit status: " + std::string(exitStatus) + "\n\nExamples:\n  " +
         replaceAll(std::string(examples.substr(0, examples.size() - 1)), "\n", "\n  ") + "\n";
}

std::string gantry::ptx::tool::manualPage() {
  std::string text = ".TH GANTRY\\-PTX 1 \"\" \"gantry " GANTRY_VERSION_STRING
                     "\" \"Gantry\"\n.SH NAME\ngantry\\-ptx \\- executes and checks PTX without a "
                     "GPU\n.SH SYNOPSIS\n\\fBgantry\\-ptx\\fR \\fICOMMAND\\fR \\fIFILE.ptx\\fR "
                     "[options]\n.SH DESCRIPTION\n" +
                     roff(summary) + "\n.SH COMMANDS\n";
  for (const CommandEntry &command : commandTable)
    text += ".TP\n\\fB" + roff(command.name) + "\\fR\n" + roff(command.help) + "\n";
  std::string_view last;
  for (const OptionEntry &option : optionTable) {
    if (option.command != last)
      text += ".SH OPTIONS OF " + std::string(option.command == "lint" ? "LINT" : "RUN") + "\n";
    last = option.command;
    text += ".TP\n\\fB" + roff(option.name) + "\\fR" +
            (option.metavar.empty() ? "" : "=\\fI" + roff(option.metavar) + "\\fR") + "\n";
    size_t line = option.help.find('\n');
    text += roff(option.help.substr(0, line)) + "\n";
    if (line != option.help.npos)
      text += ".nf\n" + roff(option.help.substr(line + 1)) + "\n.fi\n";
  }
  return text + ".SH EXAMPLES\n.nf\n" + roff(examples) + ".fi\n.SH EXIT STATUS\n" +
         roff(exitStatus) + "\n.SH SEE ALSO\n\\fBgantry\\fR(1)\n";
}

std::string gantry::ptx::tool::completionScript(std::string_view shell) {
  return shell == "bash"   ? bashScript()
         : shell == "zsh"  ? zshScript()
         : shell == "fish" ? fishScript()
                           : "";
}
