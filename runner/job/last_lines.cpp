#include "runner/job/last_lines.hpp"

#include <deque>
#include <fstream>

namespace ddpprof::job {

std::string last_lines(const std::filesystem::path& log) {
  constexpr std::size_t most_lines = 8, longest = 300;
  std::ifstream file(log);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line.substr(0, longest));
    if (lines.size() > most_lines) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "\n    " + line;
  return text;
}

}  // namespace ddpprof::job
