#include "cli/parser/command_tree.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <string>

namespace ddpprof::cli {

const char* const version_text = "ddpprof " DDPPROF_VERSION;
const char* const exit_codes =
    "Exit codes: 0 done, 1 a limit of compare --fail-if is exceeded, 2 the command line or the scenario is wrong,\n"
    "            3 something is missing on this machine, 4 the run failed, 5 the data cannot support the answer.";

namespace {

std::string footer_of(const Subcommand& subcommand) {
  std::string text = std::string(exit_codes) + "\n\nExamples:";
  for (const std::string_view example : subcommand.examples()) text += "\n  " + std::string(example);
  return text;
}

}  // namespace

CommandTree::CommandTree(Context& context)
    : subcommands(all_subcommands()),
      root(std::make_unique<CLI::App>("Measures distributed training on the available workers and predicts N workers.",
                                      "ddpprof")) {
  root->set_help_flag("-h,--help", "Print this help and exit");
  root->set_version_flag("--version", version_text,
                         "Print the version and exit; with --verbose also the versions of databases and torch");
  root->footer("ddpprof help SUBCOMMAND shows the options and two examples of a subcommand.\n" +
               std::string(exit_codes));
  root->get_formatter()->column_width(38);
  for (const auto& subcommand : subcommands) {
    CLI::App* app = root->add_subcommand(std::string(subcommand->name()), std::string(subcommand->summary()));
    app->set_help_flag("-h,--help", "Print this help and exit");
    app->add_flag("-q,--quiet", context.quiet,
                  "Print neither progress nor notes; warnings and errors are always printed");
    app->footer(footer_of(*subcommand));
    subcommand->declare(*app);
    for (const char* name : {"--format", "--full", "--plot", "--progress", "--quiet"})
      if (CLI::Option* option = app->get_option_no_throw(name)) option->group("Output");
    apps.push_back(app);
  }
}

CommandTree::~CommandTree() = default;

}  // namespace ddpprof::cli
