// The program `ddpprof`: connects the standard streams to the command line.
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <iostream>
#include <string>

#include "cli/subcommand.hpp"
#include "runner/host/within.hpp"

namespace {

// Returns the number in the variable COLUMNS, or 0 without a valid number.
int columns_variable() {
  const char* text = std::getenv("COLUMNS");
  const long columns = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
  return columns > 0 && columns <= 10'000 ? static_cast<int>(columns) : 0;
}

// Returns the width of the terminal. Without a terminal: COLUMNS, or 0 for the default width.
int terminal_width() {
  if (isatty(STDOUT_FILENO) == 0) return columns_variable();
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// Returns true if the locale is set and is not UTF-8. Without a locale, as in many containers, terminals show UTF-8.
bool locale_is_ascii() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    std::string text;
    for (const char* c = value; *c != '\0'; ++c)
      text += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
    return text.find("UTF-8") == std::string::npos && text.find("UTF8") == std::string::npos;
  }
  return false;
}

// A write beyond `ulimit -f` then fails with EFBIG, as on a full disk. A handler is not inherited by started programs,
// so these keep the default action.
void survive_file_limit() {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  sigaction(SIGXFSZ, &action, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  survive_file_limit();
  std::ios::sync_with_stdio(false);
  ddpprof::cli::Context context{.out = std::cout, .messages = std::cerr};
  context.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  context.messages_is_terminal = isatty(STDERR_FILENO) != 0;
  context.width = terminal_width();
  context.ascii = locale_is_ascii();
  context.program = argc > 0 ? argv[0] : "ddpprof";
  const int code =
      ddpprof::cli::run_command_line(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc), context);
  if (ddpprof::host::look_left_behind) {
    std::cout.flush();
    std::cerr.flush();
    std::_Exit(code);
  }
  return code;
}
