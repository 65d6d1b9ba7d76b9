// What a subcommand is to `ddpprof`: a name, its options, and a run that ends in an exit code or a Failure.
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
  std::ostream& out;       // tables: standard output
  std::ostream& messages;  // everything else: standard error
  bool quiet = false;      // -q: no progress and no notes; errors are always said
  bool out_is_terminal = false;
  int width = 0;  // columns of the terminal behind `out`, 0 when it is none
  bool messages_is_terminal = false;
  std::string program = "ddpprof";  // argv[0], to find the programs installed beside it
};

class Subcommand {
 public:
  virtual ~Subcommand() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  // its line in `ddpprof --help`
  virtual void declare(CLI::App& app) = 0;       // adds its options, bound to its members; -q and --help are there
  virtual ExitCode run(Context& context) = 0;    // options are parsed; may throw Failure
  // Where the words behind "--" go as they are; nullptr: they are arguments like others. CLI11 would take "[1,2]" for
  // two of them and "[]" for none.
  virtual std::vector<std::string>* verbatim() { return nullptr; }
};

// Every subcommand that works, in the order of the help.
std::vector<std::unique_ptr<Subcommand>> all_subcommands();

// Parses the arguments, runs the subcommand, prints its failure. Returns the process's exit code.
int run_command_line(const std::vector<std::string>& arguments, Context& context);

}  // namespace ddpprof::cli
