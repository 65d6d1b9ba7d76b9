// A subcommand of `ddpprof`: its name, its options, and a run that returns an exit code or throws an error.
//
// To add one: write cli/<name>.cpp with a class and `std::unique_ptr<Subcommand> make_<name>()`, then add one line to
// the list in cli/registry.cpp and the file to cli/CMakeLists.txt.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/failure.hpp"

namespace CLI {
class App;
}

namespace ddpprof::cli {

struct Context {
  std::ostream& out;       // standard output: tables
  std::ostream& messages;  // standard error: everything else
  bool quiet = false;      // -q: neither progress nor notes; warnings and errors are always printed
  bool full = false;       // --full: the whole report instead of one screen
  bool out_is_terminal = false;
  int width = 0;       // columns of tables: of the terminal of `out`, otherwise COLUMNS; 0: the default
  bool ascii = false;  // tables have ASCII characters only
  bool messages_is_terminal = false;
  std::string program = "ddpprof";  // argv[0], to find the programs installed beside it
};

class Subcommand {
 public:
  virtual ~Subcommand() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;                // its line in `ddpprof --help`
  virtual std::vector<std::string_view> examples() const = 0;  // two command lines, the end of its help
  virtual void declare(CLI::App& app) = 0;  // adds its options, bound to its members; -q and --help exist already
  virtual ExitCode run(
      Context& context) = 0;  // called after the options are parsed; throws UserError or store::DatabaseError
  // The list that receives the words after "--" unchanged; nullptr: they are arguments like others. CLI11 would parse
  // "[1,2]" as two arguments and "[]" as none.
  virtual std::vector<std::string>* verbatim() { return nullptr; }
};

// All subcommands, in the order of the help.
std::vector<std::unique_ptr<Subcommand>> all_subcommands();

// Parses the arguments, runs the subcommand, prints its error. Returns the exit code of the process.
int run_command_line(const std::vector<std::string>& arguments, Context& context);

}  // namespace ddpprof::cli
