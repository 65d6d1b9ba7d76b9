// Parses the arguments with CLI11, runs the subcommand, and prints every error in one form.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <exception>
#include <iterator>
#include <ostream>
#include <string>

#include "cli/failure.hpp"
#include "cli/option_values.hpp"
#include "cli/parser/command_tree.hpp"
#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/schema/migrations.hpp"
#include "tracer/store/schema/schema.hpp"

namespace ddpprof::cli {
namespace {

// Text of `ddpprof --version --verbose`.
std::string versions() {
  int oldest = store::schema_version;
  for (const store::Migration& step : store::migrations()) oldest = std::min(oldest, step.from);
  return std::string(version_text) + "\ndatabase schema " + std::to_string(store::schema_version) +
         " (databases of versions " + std::to_string(oldest) + " to " + std::to_string(store::schema_version - 1) +
         " are upgraded when they are opened)\n"
         "torch: records trainings with torch 2.1 or newer, imports traces of torch 1.8 to 2.15\n";
}

// Returns true for launchers and interpreters of trainings, and for scripts.
bool is_program(const std::string& word) {
  const std::string name = word.substr(word.rfind('/') + 1);
  for (const char* known : {"torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "srun"})
    if (name == known) return true;
  return name.starts_with("python") || name.ends_with(".py") || name.ends_with(".sh");
}

std::string prefix(const CLI::App* app) { return app == nullptr ? "ddpprof: " : "ddpprof " + app->get_name() + ": "; }

std::string help_hint(const CLI::App* app) {
  return app == nullptr ? "see ddpprof --help" : "see ddpprof " + app->get_name() + " --help";
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string with_guess(const std::string& guess, const CLI::App* app) {
  return guess.empty() ? help_hint(app) : "did you mean '" + guess + "'? " + help_hint(app);
}

Failure unknown_argument(const CLI::App& root, const CLI::App* app) {
  std::string argument;
  for (const std::string& left : (app != nullptr ? *app : root).remaining()) {
    if (argument.empty() || (argument[0] != '-' && !left.empty() && left[0] == '-')) argument = left;
  }
  if (argument.empty()) {
    const auto left = root.remaining(true);
    if (!left.empty()) argument = left.front();
  }
  const std::string name = argument.substr(0, argument.find('='));
  if (name.starts_with("-")) {
    return Failure(ExitCode::usage, "unknown option '" + name + "'", "",
                   with_guess(nearest(name, option_names(app != nullptr ? *app : root)), app));
  }
  return Failure(ExitCode::usage, "argument '" + argument + "' is unexpected", "", help_hint(app));
}

Failure unknown_subcommand(const std::string& word, const std::vector<std::unique_ptr<Subcommand>>& all) {
  std::vector<std::string> names;
  std::string listed;
  for (const auto& subcommand : all) {
    names.emplace_back(subcommand->name());
    listed += (listed.empty() ? "" : ", ") + names.back();
  }
  return Failure(ExitCode::usage, "unknown subcommand '" + word + "'", "one of " + listed,
                 with_guess(nearest(word, names), nullptr));
}

// For a subcommand that takes a command after "--", without "--" among the arguments: returns the arguments from the
// first program on with "--" before it: "--out x.db -- torchrun --nproc-per-node 2 train.py". Empty if no argument is a
// program.
std::string command_without_dashes(const std::vector<std::string>& arguments,
                                   const std::vector<std::unique_ptr<Subcommand>>& all) {
  const auto subcommand = std::ranges::find_if(all, [&](const auto& one) { return one->name() == arguments.front(); });
  if (subcommand == all.end() || (*subcommand)->verbatim() == nullptr ||
      std::ranges::find(arguments, "--") != arguments.end())
    return "";
  const auto program = std::find_if(arguments.begin() + 1, arguments.end(), is_program);
  if (program == arguments.end()) return "";
  std::string text;
  for (auto word = arguments.begin() + 1; word != arguments.end(); ++word)
    text += std::string(text.empty() ? "" : " ") + (word == program ? "-- " : "") + *word;
  return text;
}

// Returns the arguments of "help", "help COMMAND" as "--help" asks for it; other arguments as they are. "help" explains
// itself in the help of all commands.
std::vector<std::string> with_help_word(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  if (arguments.size() == 1 || arguments[1] == "help") return {"--help"};
  return {arguments[1], "--help"};
}

int report_failure(Context& context, const CLI::App* app, const std::string& text, ExitCode code) {
  context.out.flush();
  context.messages << prefix(app) << text << '\n';
  return static_cast<int>(code);
}

}  // namespace

int run_command_line(const std::vector<std::string>& given, Context& context) {
  const std::vector<std::string> arguments = with_help_word(given);
  if (std::ranges::is_permutation(arguments, std::vector<std::string>{"--version", "--verbose"})) {
    context.out << versions();
    context.out.flush();
    return static_cast<int>(ExitCode::done);
  }
  CommandTree tree(context);
  const std::vector<std::unique_ptr<Subcommand>>& subcommands = tree.subcommands;
  CLI::App& root = *tree.root;
  const std::vector<CLI::App*>& apps = tree.apps;

  const CLI::App* chosen = nullptr;
  try {
    if (arguments.empty()) {
      throw Failure(ExitCode::usage, "no subcommand", "", help_hint(nullptr));
    }
    if (!arguments.front().starts_with("-") &&
        std::none_of(apps.begin(), apps.end(), [&](CLI::App* app) { return app->get_name() == arguments.front(); })) {
      throw unknown_subcommand(arguments.front(), subcommands);
    }
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    std::vector<std::string>* verbatim = nullptr;
    if (arguments.end() - dashes > 1)
      for (const auto& subcommand : subcommands)
        if (subcommand->name() == arguments.front()) verbatim = subcommand->verbatim();
    // CLI11 parses only the first word after "--"; `verbatim` receives all of them.
    const auto end = verbatim == nullptr ? arguments.end() : dashes + 2;
    std::vector<std::string> reversed(std::make_reverse_iterator(end),
                                      arguments.rend());  // the order that CLI11 expects
    try {
      root.parse(std::move(reversed));
      if (verbatim != nullptr) verbatim->assign(dashes + 1, arguments.end());
      if (root.get_subcommands().empty()) {
        throw Failure(ExitCode::usage, "no subcommand", "", help_hint(nullptr));
      }
    } catch (const CLI::ParseError& error) {
      const auto parsed = root.get_subcommands();
      chosen = parsed.empty() ? nullptr : parsed.front();
      if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help, --version
        root.exit(error, context.out, context.messages);
        context.out.flush();
        return static_cast<int>(ExitCode::done);
      }
      if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
        if (const std::string command = command_without_dashes(arguments, subcommands); !command.empty())
          throw Failure(ExitCode::usage, "options of your own command need -- before the command", "",
                        "ddpprof " + arguments.front() + " " + command);
        throw unknown_argument(root, chosen);
      }
      throw Failure(ExitCode::usage, error.what(), "", help_hint(chosen));
    }

    for (std::size_t i = 0; i < apps.size(); ++i) {
      if (!apps[i]->parsed()) continue;
      chosen = apps[i];
      const ExitCode code = subcommands[i]->run(context);
      if (!context.out.flush()) {
        throw Failure(ExitCode::failed, "standard output cannot be written", "", "check whether the disk is full");
      }
      return static_cast<int>(code);
    }
    return static_cast<int>(ExitCode::usage);  // not reached: a subcommand is required above
  } catch (const UserError& error) {
    return report_failure(context, chosen, error.text(), exit_code_of(error));
  } catch (const store::DatabaseError& error) {
    return report_failure(context, chosen, error.what(), exit_code_of(error));
  } catch (const std::exception& error) {
    return report_failure(context, chosen, error.what(), ExitCode::failed);
  }
}

}  // namespace ddpprof::cli
