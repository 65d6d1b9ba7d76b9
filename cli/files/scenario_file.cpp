#include "cli/files/scenario_file.hpp"

#include <ostream>

namespace ddpprof::cli {

scenario::ReadResult read_scenario(Context& context, const std::string& path, std::span<const std::string> overrides) {
  scenario::ReadResult result = scenario::read_file(path, overrides);
  for (const scenario::Problem& problem : result.problems) context.messages << problem.text() << '\n';
  if (!result.problems.empty()) {
    const std::size_t n = result.problems.size();
    throw Failure(ExitCode::usage, path + " has " + std::to_string(n) + (n == 1 ? " problem" : " problems"), "",
                  "docs/reference/scenario.md describes every key");
  }
  scenario::resolve_paths(result.scenario, path, overrides);
  return result;
}

}  // namespace ddpprof::cli
