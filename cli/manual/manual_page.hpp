// Manual pages for the program man, in the language of groff's macros "man".
#pragma once

#include <string>

#include "cli/manual/help_tables.hpp"

namespace ddpprof::cli {

// The page ddpprof(1).
std::string manual_page(const Help&);

// The page of a subcommand, for example ddpprof-run(1). `command` is one of Help::commands.
std::string manual_page(const Help&, const CommandHelp& command);

}  // namespace ddpprof::cli
