// The command line as plain tables: what --help shows of each subcommand and option.
#pragma once

#include <string>
#include <vector>

namespace ddpprof::cli {

struct Context;

struct OptionHelp {
  std::vector<std::string> names;  // "--quiet", "-q"; of an argument its one name: "FILE.db"
  std::string value;               // name of the value in the help, for example "PATH"; empty: no value
  std::string range;               // values that the parser accepts, in its words; may be empty
  std::string default_value;       // may be empty
  std::string text;
  std::vector<std::string> words;  // all values of this option; empty: any value
  bool required = false;
  bool repeatable = false;

  // Returns true if the value is a path.
  bool takes_file() const;
};

struct CommandHelp {
  std::string name;
  std::string summary;
  std::vector<OptionHelp> arguments;
  std::vector<OptionHelp> options;
  std::vector<std::string> examples;
  bool takes_command = false;  // the words after -- are a command of the user
};

struct Help {
  std::string version;  // "ddpprof 0.1.0"
  std::string summary;
  std::string exit_codes;
  std::vector<OptionHelp> options;  // without a subcommand
  std::vector<CommandHelp> commands;
};

// `context`: of the running command; it is not changed.
Help read_help(const Context& context);

}  // namespace ddpprof::cli
