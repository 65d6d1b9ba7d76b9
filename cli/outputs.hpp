// What subcommands share when they read a database and print from it.
#pragma once

#include <string>

#include "analysis/report/render.hpp"
#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {

// Throws Failure (usage) on anything but table, csv, json, markdown.
report::Format parse_format(const std::string& name);

// One report to standard output. Throws Failure (usage) on an unknown name.
void print_report(Context& context, store::Database& database, const std::string& name, report::Format format);

}  // namespace ddpprof::cli
