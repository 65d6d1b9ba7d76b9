// A user's program with NVTX annotations, for `ddpprof record`: `recorded_job STEPS [EXIT_CODE] [WORD…]`. WORD: fork (a
// child annotates too), thread (another thread annotates all the time), plain (steps without a number), signals (prints
// each SIGUSR2), streams (writes to standard error, reads standard input, and prints which of them is closed).
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<bool> ended{false};

void range(const char* name, useconds_t us) {
  nvtxRangePushA(name);
  usleep(us);
  nvtxRangePop();
}

void say_signal(int) {
  constexpr char said[] = "a signal\n";
  [[maybe_unused]] const ssize_t written = write(1, said, sizeof said - 1);
}

void use_streams() {
  const std::string words(256, 'x');
  if (write(STDERR_FILENO, words.data(), words.size()) < 0 && errno == EBADF) std::puts("standard error is closed");
  char byte = 0;
  if (read(STDIN_FILENO, &byte, 1) < 0 && errno == EBADF) std::puts("standard input is closed");
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 3;
  const std::vector<std::string> words(argv + std::min(argc, 3), argv + argc);
  const auto asked = [&](const char* word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (asked("signals")) std::signal(SIGUSR2, say_signal);
  std::thread beside;
  if (asked("thread"))
    beside = std::thread([] {
      while (!ended) range("beside", 100);
    });
  for (int step = 0; step < steps; ++step) {
    nvtxRangePushA(asked("plain") ? "train_step" : ("step " + std::to_string(step)).c_str());
    range("forward", 1000);
    range("backward", 2000);
    range("optimizer", 500);
    nvtxRangePop();
    range("between", 200);
  }
  if (asked("streams")) use_streams();
  ended = true;
  if (beside.joinable()) beside.join();
  if (asked("fork")) {  // like a worker of a data loader: it inherits RANK
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 50; ++i) range("load", 100);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  std::puts("the job's own words");
  std::fflush(stdout);
  return argc > 2 ? std::atoi(argv[2]) : 0;
}
