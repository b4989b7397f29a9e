// Completion for three shells: commands, flags, the values that a flag may have, and files.
#include "CommandTable.h"

namespace gantry::tool {

namespace {
std::string joined(const std::vector<std::string> &words, const char *between = " ") {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : between) + word;
  return text;
}

std::string replaceAll(std::string text, const std::string &what, const std::string &by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// In single quotes, as bash and zsh read them.
std::string quoted(const std::string &text) { return "'" + replaceAll(text, "'", "'\\''") + "'"; }

/// The first part of a sentence: completion menus are narrow.
std::string brief(const std::string &help) { return help.substr(0, help.find_first_of(";:(")); }

std::vector<std::string> namesOf(const CommandTable &table) {
  std::vector<std::string> names;
  for (const CommandEntry &command : table.commands)
    names.push_back(command.name);
  return names;
}

//===----------------------------------------------------------------------===//
// bash
//===----------------------------------------------------------------------===//

/// Lines of a case over "COMMAND FLAG": what may stand behind the flag. Files are the default.
std::string bashValues(const CommandEntry &command) {
  std::string text;
  if (!command.values.empty())
    text += "  " + quoted(command.name + " " + command.name) +
            ") words=" + quoted(joined(command.values)) + " ;;\n";
  for (const FlagEntry &flag : command.flags) {
    if (flag.isSwitch ? flag.values.empty() : flag.takesFile)
      continue;
    std::vector<std::string> cases;
    for (const std::string &name : flag.names)
      cases.push_back(quoted(command.name + " " + name));
    text += "  " + joined(cases, "|") + ") words=" + quoted(joined(flag.values)) + " ;;\n";
  }
  return text;
}

std::string bashScript(const CommandTable &table) {
  std::string flags, values;
  for (const CommandEntry &command : table.commands) {
    std::vector<std::string> names;
    for (const FlagEntry &flag : command.flags)
      names.insert(names.end(), flag.names.begin(), flag.names.end());
    flags += "  " + command.name + ") flags=" + quoted(joined(names)) + " ;;\n";
    values += bashValues(command);
  }
  return R"(# Completion of gantry for bash; made by `gantry completion bash`.
_gantry() {
  local current=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD-1]} command='' word flags words
  # bash takes the "=" of --flag=value for a word of its own.
  if [[ $current == '=' ]]; then current=''
  elif [[ $flag == '=' ]]; then flag=${COMP_WORDS[COMP_CWORD-2]}; fi
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || { command=$word; break; }
  done
  COMPREPLY=()
  if [[ -z $command ]]; then
    mapfile -t COMPREPLY < <(compgen -W )" +
         quoted(joined(namesOf(table)) + " --help --version") + R"( -- "$current")
    return
  fi
  case $command in
)" + flags +
         R"(  esac
  case "$command $flag" in
)" + values +
         R"(  *) words=files ;;
  esac
  if [[ $current == -* ]]; then mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current")
  elif [[ $words == files ]]; then mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); fi
}
complete -o filenames -F _gantry gantry
)";
}

//===----------------------------------------------------------------------===//
// zsh
//===----------------------------------------------------------------------===//

std::string zshText(std::string text) {
  for (const char *special : {"\\", "[", "]", ":"})
    text = replaceAll(text, special, std::string("\\") + special);
  return text;
}

std::string zshFlag(const FlagEntry &flag) {
  const std::string help = "[" + zshText(brief(flag.help)) + "]";
  std::string value;
  if (!flag.isSwitch)
    value = ":" + zshText(flag.metavar) + ":" +
            (!flag.values.empty() ? "(" + joined(flag.values) + ")"
             : flag.takesFile     ? "_files"
                                  : " ");
  else if (!flag.values.empty())
    value = "::value:(" + joined(flag.values) + ")";
  std::string text;
  for (const std::string &name : flag.names)
    text += " \\\n      " + quoted((flag.repeatable ? "*" : "") + name +
                                   (value.empty() || !name.starts_with("--") ? ""
                                    : flag.isSwitch                          ? "=-"
                                                                             : "=") +
                                   help + value);
  return text;
}

std::string zshScript(const CommandTable &table) {
  std::string commands, cases;
  for (const CommandEntry &command : table.commands) {
    commands += "    " + quoted(command.name + ":" + zshText(brief(command.help))) + "\n";
    cases += "  " + command.name + ")\n    _arguments";
    for (const FlagEntry &flag : command.flags)
      cases += zshFlag(flag);
    const std::string files =
        command.values.empty() ? "_files" : "(" + joined(command.values) + ")";
    cases += " \\\n      " + quoted("*:file:" + files) + " ;;\n";
  }
  return "#compdef gantry\n# Completion of gantry for zsh; made by `gantry completion zsh`.\n"
         "_gantry() {\n  local -a commands\n  commands=(\n" +
         commands +
         "  )\n  if (( CURRENT == 2 )); then _describe command commands; return; fi\n"
         "  local command=$words[2]\n  shift words; (( CURRENT-- ))\n  case $command in\n" +
         cases + "  esac\n}\n_gantry \"$@\"\n";
}

//===----------------------------------------------------------------------===//
// fish
//===----------------------------------------------------------------------===//

std::string fishQuoted(const std::string &text) {
  return "'" + replaceAll(replaceAll(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fishFlag(const CommandEntry &command, const FlagEntry &flag) {
  std::string text = "complete -c gantry -n '__fish_seen_subcommand_from " + command.name + "'";
  for (const std::string &name : flag.names)
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!flag.values.empty() && !flag.isSwitch)
    text += " -x -a " + fishQuoted(joined(flag.values));
  else if (!flag.isSwitch)
    text += flag.takesFile ? " -r -F" : " -x";
  return text + " -d " + fishQuoted(brief(flag.help)) + "\n";
}

std::string fishScript(const CommandTable &table) {
  std::string text = "# Completion of gantry for fish; made by `gantry completion fish`.\n";
  for (const CommandEntry &command : table.commands) {
    text += "complete -c gantry -n __fish_use_subcommand -f -a " + command.name + " -d " +
            fishQuoted(brief(command.help)) + "\n";
    if (!command.values.empty())
      text += "complete -c gantry -n '__fish_seen_subcommand_from " + command.name + "' -f -a " +
              fishQuoted(joined(command.values)) + "\n";
    for (const FlagEntry &flag : command.flags)
      text += fishFlag(command, flag);
  }
  return text;
}
} // namespace

std::string completionScript(const CommandTable &table, const std::string &shell) {
  return shell == "bash"  ? bashScript(table)
         : shell == "zsh" ? zshScript(table)
                          : fishScript(table);
}

} // namespace gantry::tool
