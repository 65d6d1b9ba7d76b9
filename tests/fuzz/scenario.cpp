// Scenario files: any text gives problems with a position in it, or a valid scenario that is equal after writing and
// reading.
#include <algorithm>
#include <vector>

#include "runner/scenario/read.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

// Lines that begin with "#set " are also used as overrides. In YAML they are comments.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  std::vector<std::string> overrides;
  for (std::size_t at = text.find("#set "); at != std::string::npos; at = text.find("#set ", at + 1)) {
    const std::size_t begin = at + 5;
    overrides.push_back(text.substr(begin, std::min(text.find('\n', begin), text.size()) - begin));
  }
  const scenario::ReadResult result = scenario::read_text(text, "fuzz.yaml", overrides);
  const auto lines = std::ranges::count(text, '\n') + 1;
  for (const scenario::Problem& problem : result.problems) {
    fuzz::require(!problem.message.empty(), "a problem says what is wrong");
    fuzz::require(problem.file != "fuzz.yaml" || problem.line <= lines + 1, "a problem lies in the text");
    fuzz::require((problem.line == 0) == (problem.column == 0), "a place has a line and a column");
  }
  if (!result.problems.empty()) return 0;
  const scenario::ReadResult again = scenario::read_text(scenario::to_yaml(result.scenario), "written.yaml");
  fuzz::require(again.problems.empty(), "what was written can be read");
  fuzz::require(again.scenario == result.scenario, "what was written reads back alike");
  return 0;
}
