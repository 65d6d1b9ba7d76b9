#include "cli/manual/help_tables.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>

#include "cli/option_values.hpp"
#include "cli/parser/command_tree.hpp"

namespace ddpprof::cli {
namespace {

OptionHelp read_option(CLI::Option& option) {
  OptionHelp help;
  if (option.get_positional()) {
    help.names = {option.get_name(true, false)};
  } else {
    for (const std::string& name : option.get_lnames()) help.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) help.names.push_back("-" + name);
  }
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();  // "N:INT in [1 - 1000]"
    const std::size_t colon = type.find(':');
    help.value = type.substr(0, colon);
    if (colon != std::string::npos) help.range = type.substr(colon + 1);
    help.default_value = option.get_default_str();
    help.words = words_of(option);
    help.repeatable = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  }
  help.required = option.get_required();
  help.text = option.get_description();
  return help;
}

void read_options(CLI::App& app, std::vector<OptionHelp>& arguments, std::vector<OptionHelp>& options) {
  for (CLI::Option* option : app.get_options([](CLI::Option* one) { return !one->get_group().empty(); }))
    (option->get_positional() ? arguments : options).push_back(read_option(*option));
}

}  // namespace

bool OptionHelp::takes_file() const {
  constexpr std::array files = {"FILE", "FILE.db", "FOLDER", "LOG", "PATH", "SCENARIO.yaml"};
  return words.empty() && std::ranges::find(files, value) != files.end();
}

Help read_help(const Context& context) {
  Context unused = context;
  CommandTree tree(unused);
  Help help;
  help.version = version_text;
  help.summary = tree.root->get_description();
  help.exit_codes = exit_codes;
  std::vector<OptionHelp> no_arguments;
  read_options(*tree.root, no_arguments, help.options);
  for (std::size_t i = 0; i < tree.apps.size(); ++i) {
    Subcommand& subcommand = *tree.subcommands[i];
    CommandHelp command;
    command.name = subcommand.name();
    command.summary = subcommand.summary();
    read_options(*tree.apps[i], command.arguments, command.options);
    for (const std::string_view example : subcommand.examples()) command.examples.emplace_back(example);
    command.takes_command = subcommand.verbatim() != nullptr;
    help.commands.push_back(std::move(command));
  }
  return help;
}

}  // namespace ddpprof::cli
