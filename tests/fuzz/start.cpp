// Variables of the program that starts the ranks: any values give a valid rank environment, or an error message.
#include <algorithm>
#include <map>
#include <string>

#include "runner/launcher/start.hpp"
#include "tests/fuzz/fuzz_target.hpp"

using namespace ddpprof;

// One NAME=VALUE per line.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  std::map<std::string, std::string> variables;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) variables.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  try {
    const launcher::Start start = launcher::read_start([&](const std::string& name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      if (found == variables.end()) return std::nullopt;
      return found->second;
    });
    fuzz::require(start.rank >= 0 && start.rank < start.world_size, "a rank is one of its world");
    fuzz::require(start.local_rank >= 0 && start.local_world_size >= 0 && start.attempt >= 0,
                  "counts are not negative");
    fuzz::require(start.master_port != 0 || start.world_size == 1, "several ranks have a port to meet at");
    fuzz::require(!start.master_address.empty(), "ranks have a place to meet at");
    launcher::describe(start);
  } catch (const launcher::StartError&) {
  }
  return 0;
}
