#include "cli/manual/shell_completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ddpprof::cli {
namespace {

// Returns `text` with a backslash before each of `special`.
std::string with_backslashes(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string names_of_commands(const Help& help) {
  std::string names;
  for (const CommandHelp& command : help.commands) names += (names.empty() ? "" : " ") + command.name;
  return names;
}

std::string names_of(const std::vector<OptionHelp>& options) {
  std::string names;
  for (const OptionHelp& option : options)
    for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
  return names;
}

// Bash's patterns "report:--format|predict:--format" of options that a predicate selects, for a case statement.
template <typename Selects>
std::string bash_patterns(const Help& help, Selects selects) {
  std::string patterns;
  for (const CommandHelp& command : help.commands)
    for (const OptionHelp& option : command.options)
      if (!option.value.empty() && selects(option))
        for (const std::string& name : option.names)
          patterns += fmt::format("{}{}:{}", patterns.empty() ? "" : " | ", command.name, name);
  return patterns;
}

// A text in single quotes of the shells bash and zsh.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string zsh_text(const std::string& text) { return with_backslashes(text, "\\[]:"); }

// The part of zsh's _arguments after an option's text: the name of the value and its completion.
std::string zsh_value(const OptionHelp& option, const std::string& name) {
  if (name.empty()) return "";
  const std::string action = !option.words.empty() ? fmt::format("({})", fmt::join(option.words, " "))
                             : option.takes_file() ? std::string("_files")
                                                   : std::string(" ");
  return ":" + zsh_text(name) + ":" + action;
}

std::string zsh_option(const OptionHelp& option) {
  std::string lines;
  const std::string others = option.names.size() > 1 ? fmt::format("({})", fmt::join(option.names, " ")) : "";
  for (const std::string& name : option.names) {
    // "--out=": the value follows "=" or is the next word.
    const std::string equals = !option.value.empty() && name.starts_with("--") ? "=" : "";
    lines += " \\\n        " + quoted((option.repeatable ? "*" : others) + name + equals + "[" +
                                      zsh_text(first_line(option.text)) + "]" + zsh_value(option, option.value));
  }
  return lines;
}

std::string zsh_arguments(const CommandHelp& command) {
  for (const OptionHelp& argument : command.arguments)
    if (!argument.words.empty()) return " \\\n        " + quoted("1" + zsh_value(argument, argument.names.front()));
  return command.arguments.empty() ? "" : " \\\n        '*:file:_files'";
}

std::string fish_text(const std::string& text) { return "'" + with_backslashes(first_line(text), "\\'") + "'"; }

std::string fish_option(const CommandHelp& command, const OptionHelp& option) {
  std::string line = fmt::format("complete -c ddpprof -n '__fish_seen_subcommand_from {}'", command.name);
  for (const std::string& name : option.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!option.words.empty())
    line += fmt::format(" -x -a '{}'", fmt::join(option.words, " "));
  else if (option.takes_file())
    line += " -r -F";
  else if (!option.value.empty())
    line += " -x";
  return line + " -d " + fish_text(option.text) + "\n";
}

}  // namespace

std::string bash_completion(const Help& help) {
  std::string script = R"(# Completion of ddpprof for bash: source <(ddpprof completion bash)
_ddpprof() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command='' words='' files=no i
  COMPREPLY=()
  # Bash splits --format=csv into three words.
  if [ "$word" = = ]; then word=''; elif [ "$previous" = = ]; then previous=${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [ "${COMP_WORDS[i]}" = -- ]; then  # the user's own command follows
      if [ "$i" -eq $((COMP_CWORD - 1)) ]; then mapfile -t COMPREPLY < <(compgen -c -- "$word"); return; fi
      previous='' files=yes
    elif [ -z "$command" ] && [[ ${COMP_WORDS[i]} != -* ]]; then
      command=${COMP_WORDS[i]}
    fi
  done
  if [ "$files" = no ]; then
    case $command:$previous in
)";
  std::vector<std::vector<std::string>> lists;
  for (const CommandHelp& command : help.commands)
    for (const OptionHelp& option : command.options)
      if (!option.words.empty() && std::ranges::find(lists, option.words) == lists.end()) lists.push_back(option.words);
  for (const std::vector<std::string>& words : lists)
    script += fmt::format("      {}) words='{}' ;;\n",
                          bash_patterns(help, [&](const OptionHelp& option) { return option.words == words; }),
                          fmt::join(words, " "));
  script += fmt::format("      {}) files=yes ;;\n",
                        bash_patterns(help, [](const OptionHelp& option) { return option.takes_file(); }));
  script += fmt::format("      {}) return ;;\n", bash_patterns(help, [](const OptionHelp& option) {
                          return option.words.empty() && !option.takes_file();
                        }));
  script += "      *)\n        case $command in\n";
  script += fmt::format("          '') words='{} help {}' ;;\n", names_of_commands(help), names_of(help.options));
  script += fmt::format("          help) words='{}' ;;\n", names_of_commands(help));
  for (const CommandHelp& command : help.commands) {
    std::string otherwise = command.arguments.empty() ? "" : "files=yes";
    for (const OptionHelp& argument : command.arguments)
      if (!argument.words.empty()) otherwise = fmt::format("words='{}'", fmt::join(argument.words, " "));
    script += fmt::format("          {}) if [[ $word = -* ]]; then words='{}'; {}fi ;;\n", command.name,
                          names_of(command.options), otherwise.empty() ? "" : "else " + otherwise + "; ");
  }
  script += R"(        esac ;;
    esac
  fi
  if [ "$files" = yes ]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    compopt -o filenames 2>/dev/null
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}
complete -F _ddpprof ddpprof
)";
  return script;
}

std::string zsh_completion(const Help& help) {
  std::string script = R"(#compdef ddpprof
# Completion of ddpprof for zsh: source <(ddpprof completion zsh)
_ddpprof() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C)";
  for (const OptionHelp& option : help.options) script += zsh_option(option);
  script += R"( \
        '1: :->command' '*:: :->rest'
  if [[ $state = command || $words[1] = help ]]; then
    local -a commands
    commands=(
)";
  for (const CommandHelp& command : help.commands)
    script += fmt::format("      {}\n", quoted(command.name + ":" + command.summary));
  script += R"(      'help:Show the options of a subcommand'
    )
    _describe -t commands command commands
    return
  fi
  case $words[1] in
)";
  for (const CommandHelp& command : help.commands) {
    script += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionHelp& option : command.options) script += zsh_option(option);
    script += zsh_arguments(command) + " ;;\n";
  }
  script += R"(  esac
}
if [ "$funcstack[1]" = _ddpprof ]; then _ddpprof "$@"; else compdef _ddpprof ddpprof; fi
)";
  return script;
}

std::string fish_completion(const Help& help) {
  std::string script =
      "# Completion of ddpprof for fish: ddpprof completion fish | source\n"
      "complete -c ddpprof -f\n";
  for (const OptionHelp& option : help.options) {
    script += "complete -c ddpprof -n __fish_use_subcommand";
    for (const std::string& name : option.names)
      script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    script += " -d " + fish_text(option.text) + "\n";
  }
  for (const CommandHelp& command : help.commands)
    script += fmt::format("complete -c ddpprof -n __fish_use_subcommand -a {} -d {}\n", command.name,
                          fish_text(command.summary));
  script += "complete -c ddpprof -n __fish_use_subcommand -a help -d 'Show the options of a subcommand'\n";
  script += fmt::format("complete -c ddpprof -n '__fish_seen_subcommand_from help' -a '{}'\n", names_of_commands(help));
  for (const CommandHelp& command : help.commands) {
    for (const OptionHelp& option : command.options) script += fish_option(command, option);
    for (const OptionHelp& argument : command.arguments) {
      script += fmt::format("complete -c ddpprof -n '__fish_seen_subcommand_from {}'", command.name);
      script += argument.words.empty() ? " -F\n" : fmt::format(" -a '{}'\n", fmt::join(argument.words, " "));
    }
  }
  return script;
}

const std::vector<std::string>& shells() {
  static const std::vector<std::string> all = {"bash", "zsh", "fish"};
  return all;
}

std::string completion_of(std::string_view shell, const Help& help) {
  return shell == "bash" ? bash_completion(help) : shell == "zsh" ? zsh_completion(help) : fish_completion(help);
}

}  // namespace ddpprof::cli
