// ddpprof completion: prints a shell's completion script, or writes those of all shells and the manual pages.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <system_error>

#include "cli/manual/help_tables.hpp"
#include "cli/manual/manual_page.hpp"
#include "cli/manual/shell_completion.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {
namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (error || !file)
    throw Failure(ExitCode::failed, "cannot write " + path.string(), "",
                  "check that the folder can be written and the disk is not full");
}

class CompletionSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "completion"; }
  std::string_view summary() const override { return "Print a script that completes command lines in your shell"; }
  std::vector<std::string_view> examples() const override {
    return {"source <(ddpprof completion bash)", "ddpprof completion --folder ~/.local/share"};
  }

  void declare(CLI::App& app) override {
    with_words(app.add_option("SHELL", shell_, "bash, zsh or fish"), shells());
    app.add_option("--folder", folder_,
                   "Instead of printing: write the completions of all shells and the manual pages below this folder,\n"
                   "where the shells and man look for them if it is ~/.local/share or the folder share of a prefix")
        ->type_name("FOLDER");
  }

  ExitCode run(Context& context) override {
    if (shell_.empty() == folder_.empty())
      throw Failure(ExitCode::usage, "what to print is not clear", "one of bash, zsh, fish; or --folder");
    if (!shell_.empty()) check_word("SHELL", shell_, shells());
    const Help help = read_help(context);
    if (folder_.empty())
      context.out << completion_of(shell_, help);
    else
      write_all(help);
    return ExitCode::done;
  }

 private:
  void write_all(const Help& help) const {
    const std::filesystem::path folder = folder_;
    write_text(folder / "bash-completion/completions/ddpprof", bash_completion(help));
    write_text(folder / "zsh/site-functions/_ddpprof", zsh_completion(help));
    write_text(folder / "fish/vendor_completions.d/ddpprof.fish", fish_completion(help));
    write_text(folder / "man/man1/ddpprof.1", manual_page(help));
    for (const CommandHelp& command : help.commands)
      write_text(folder / "man/man1" / ("ddpprof-" + command.name + ".1"), manual_page(help, command));
  }

  std::string shell_, folder_;
};

}  // namespace

std::unique_ptr<Subcommand> make_completion() { return std::make_unique<CompletionSubcommand>(); }

}  // namespace ddpprof::cli
