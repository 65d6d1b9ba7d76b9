// The parser of the whole command line: every subcommand with its options, examples and exit codes.
#pragma once

#include <memory>
#include <vector>

#include "cli/subcommand.hpp"

namespace ddpprof::cli {

extern const char* const version_text;  // "ddpprof 0.1.0"
extern const char* const exit_codes;    // the lines about exit codes in every help

struct CommandTree {
  // Parsing sets `context.quiet`.
  explicit CommandTree(Context& context);
  ~CommandTree();
  CommandTree(const CommandTree&) = delete;
  CommandTree& operator=(const CommandTree&) = delete;

  std::vector<std::unique_ptr<Subcommand>> subcommands;
  std::unique_ptr<CLI::App> root;
  std::vector<CLI::App*> apps;  // of `subcommands`, in the same order
};

}  // namespace ddpprof::cli
