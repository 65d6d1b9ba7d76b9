// The program `ddpprof`: connects the standard streams to the command line.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "cli/subcommand.hpp"
#include "runner/host/within.hpp"

namespace {

// Returns 0 if standard output is not a terminal. Tables then have no limit of width.
int terminal_width() {
  if (isatty(STDOUT_FILENO) == 0) return 0;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  ddpprof::cli::Context context{.out = std::cout, .messages = std::cerr};
  context.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  context.messages_is_terminal = isatty(STDERR_FILENO) != 0;
  context.width = terminal_width();
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
