#include "tests/cli/run_program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

namespace ddpprof::test {

std::string built_program() { return DDPPROF_PROGRAM; }

std::string read_all(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Outcome run_program(const std::vector<std::string>& words, const std::string& standard_output) {
  static std::atomic<int> number{0};
  const std::filesystem::path base = std::filesystem::temp_directory_path() /
                                     ("ddpprof_cli_test_" + std::to_string(getpid()) + "_" + std::to_string(number++));
  const std::string out = standard_output.empty() ? base.string() + ".out" : standard_output;
  const std::string messages = base.string() + ".err";
  std::string command = "timeout 60";
  for (const std::string& word : words) command += " " + shell_quoted(word);
  const int status = std::system((command + " >" + shell_quoted(out) + " 2>" + shell_quoted(messages)).c_str());
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (standard_output.empty()) {
    outcome.out = read_all(out);
    std::filesystem::remove(out);
  }
  outcome.messages = read_all(messages);
  std::filesystem::remove(messages);
  return outcome;
}

Outcome run_ddpprof(const std::vector<std::string>& arguments, const std::string& standard_output) {
  std::vector<std::string> words = {built_program()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_program(words, standard_output);
}

}  // namespace ddpprof::test
