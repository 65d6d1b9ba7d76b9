// ddpprof gui: replaces this process by the desktop program ddpprof-gui.
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cli/subcommand.hpp"
#include "runner/measure/installation.hpp"

namespace ddpprof::cli {
namespace {

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// A display is not needed if QT_QPA_PLATFORM selects a platform such as offscreen or vnc.
void require_display() {
  if (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("QT_QPA_PLATFORM")) return;
  throw Failure(ExitCode::machine, "cannot open a window: this session has no display",
                "DISPLAY or WAYLAND_DISPLAY to be set",
                "log in to a desktop or use ssh -X, or read the file with ddpprof report");
}

class GuiSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "gui"; }
  std::string_view summary() const override { return "Open the window of ddpprof"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof gui job.db", "ddpprof gui job.db --page Timeline"};
  }

  void declare(CLI::App& app) override {
    app.add_option("FILE", files_, "Trace database, or traces, folders, tables and logs to import");
    app.add_option("--page", page_, "Start on this page, e.g. Timeline")->type_name("NAME");
  }

  ExitCode run(Context& context) override {
    for (const std::string& file : files_) {
      std::error_code error;
      if (!std::filesystem::exists(file, error))
        throw Failure(ExitCode::usage, file + ": " + (error ? error.message() : "no such file"),
                      "a trace database, or files that ddpprof import reads",
                      "correct the name, or omit it and open a file in the window");
    }
    const std::filesystem::path program = measure::find_gui();
    require_display();
    std::vector<std::string> words = {program.string()};
    if (!page_.empty()) words.insert(words.end(), {"--page", page_});
    if (!files_.empty()) words.emplace_back("--");
    words.insert(words.end(), files_.begin(), files_.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    context.out.flush();
    context.messages.flush();
    execv(program.c_str(), arguments.data());
    throw Failure(ExitCode::machine, program.string() + " cannot be started: " + std::strerror(errno),
                  "an executable program", "build it again, or name another in DDPPROF_GUI_PROGRAM");
  }

 private:
  std::vector<std::string> files_;
  std::string page_;
};

}  // namespace

std::unique_ptr<Subcommand> make_gui() { return std::make_unique<GuiSubcommand>(); }

}  // namespace ddpprof::cli
