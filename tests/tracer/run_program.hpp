// Runs an annotated program with the injected tracer and collects its results.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tracer/shard_walk.hpp"

namespace ddpprof::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ddpprof-tracer-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Outcome {
  int status = 0;  // from waitpid
  std::string out, err;
  bool exited_well() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
};

using Environment = std::map<std::string, std::string>;

inline Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                           const Environment& environment) {
  TemporaryFolder folder;
  const std::string out_path = folder.path() / "out", err_path = folder.path() / "err";
  std::vector<const char*> argv = {program.c_str()};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    const int out = open(out_path.c_str(), O_WRONLY | O_CREAT, 0600),
              err = open(err_path.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(out, 1), dup2(err, 2);
    alarm(60);  // SIGALRM ends a program that hangs
    execv(program.c_str(), const_cast<char* const*>(argv.data()));
    _exit(127);
  }
  Outcome outcome;
  waitpid(child, &outcome.status, 0);
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  outcome.out = read(out_path);
  outcome.err = read(err_path);
  return outcome;
}

// Runs the annotated program of these tests in `mode`; the tracer records into `directory`.
#ifdef TRACER_LIBRARY
inline Outcome run_annotated(const std::vector<std::string>& arguments, const std::filesystem::path& directory,
                             Environment environment = {}) {
  environment.try_emplace("NVTX_INJECTION64_PATH", TRACER_LIBRARY);
  environment.try_emplace("DDPPROF_TRACE_DIR", directory.string());
  return run_program(ANNOTATED_PROGRAM, arguments, environment);
}
#endif

}  // namespace ddpprof::test
