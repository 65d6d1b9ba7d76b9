// A program that annotates five steps and then ends in the given way: `ending_job WAY`. It does the same with and
// without a recording.
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

void range(const char* name, useconds_t us) {
  nvtxRangePushA(name);
  usleep(us);
  nvtxRangePop();
}

void five_steps() {
  for (int step = 0; step < 5; ++step) {
    nvtxRangePushA(("step " + std::to_string(step)).c_str());
    range("forward", 300);
    range("backward", 600);
    nvtxRangePop();
  }
}

void say(const char* text) {
  std::puts(text);
  std::fflush(stdout);
}

[[noreturn]] void die_by(int signal_number) {
  std::signal(signal_number, SIG_DFL);
  raise(signal_number);
  pause();
  std::abort();
}

// Overflows any stack. The compiler cannot detect that the recursion never ends.
volatile std::size_t deepest = SIZE_MAX;

__attribute__((noinline)) int deeper(std::size_t depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return depth == deepest ? 0 : deeper(depth + 1) + frame[0];
}

int in_the_middle_of_ranges() {
  nvtxRangePushA("step 5");
  nvtxRangePushA("forward");
  die_by(SIGKILL);
}

int while_threads_annotate(const std::function<int()>& end) {
  static std::atomic<int> busy{0};
  for (int i = 0; i < 3; ++i)
    std::thread([] {
      ++busy;
      for (;;) range("work", 50);
    }).detach();
  while (busy < 3) usleep(100);
  usleep(5'000);
  return end();
}

int child_goes_on(bool daemon_like) {
  if (fork() != 0) return 6;  // the parent ends before its child
  if (daemon_like) {
    setsid();
    if (fork() != 0) _exit(0);
    for (int file = 0; file < 64; ++file) close(file);
  }
  usleep(20'000);  // its parent has ended before the first annotation
  for (int i = 0; i < 20; ++i) range("afterwards", 1'000);
  _exit(0);
}

int in_a_child(const std::function<int()>& rest) {
  const pid_t child = fork();
  if (child == 0) _exit(rest());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

int out_of_memory() {
  const rlimit limit{1, 1};
  setrlimit(RLIMIT_AS, &limit);
  std::vector<char*> taken;
  for (;;) taken.push_back(new char[1 << 20]);
}

int no_more_disk() {
  const rlimit limit{4096, 4096};
  setrlimit(RLIMIT_FSIZE, &limit);
  const std::string name(30'000, 'n');  // large enough to need new chunks
  for (int i = 0; i < 400; ++i) range((name + std::to_string(i)).c_str(), 1);
  return 12;
}

// Closes all descriptors, as daemons do. Files that are opened next reuse their numbers.
int every_file_closed() {
  for (int file = 3; file < 256; ++file) close(file);
  char name[] = "/tmp/ddpprof-ending-XXXXXX";
  const int own = mkstemp(name);
  for (int i = 0; i < 20; ++i)
    if (dup(own) < 0) return 1;
  for (int i = 0; i < 30'000; ++i) range("without files", 0);
  unlink(name);
  struct stat now {};
  return fstat(own, &now) == 0 && now.st_size == 0 ? 13 : 1;
}

int in_a_removed_folder() {
  char folder[] = "/tmp/ddpprof-ending-XXXXXX";
  if (mkdtemp(folder) == nullptr || chdir(folder) != 0 || rmdir(folder) != 0) return 1;
  range("nowhere", 100);
  return 14;
}

void annotate_at_exit() { range("at exit", 100); }

int into_a_broken_pipe() {
  int ends[2];
  if (pipe(ends) != 0) return 1;
  close(ends[0]);
  std::signal(SIGPIPE, SIG_DFL);
  return static_cast<int>(write(ends[1], "x", 1)) + 20;
}

int after_being_stopped() {
  const pid_t self = getpid();
  if (fork() == 0) {
    for (int i = 0; i < 50; ++i) usleep(1'000), kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
  range("goes on", 100);
  wait(nullptr);
  return 15;
}

int from_a_signal_handler() {
  std::signal(SIGUSR1, [](int) {
    range("in the handler", 0);
    _exit(16);
  });
  std::thread([] { usleep(3'000), kill(getpid(), SIGUSR1); }).detach();
  for (;;) range("work", 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "return";
  const std::map<std::string, std::function<int()>> ways = {
      {"return", [] { return 0; }},
      {"code", [] { return 7; }},
      {"_exit", []() -> int { _exit(9); }},
      {"quick_exit", []() -> int { std::quick_exit(4); }},
      {"exit-in-thread",
       []() -> int {
         std::thread([] { std::exit(5); }).join();
         return 1;
       }},
      {"at-exit", [] { return std::atexit(annotate_at_exit) + 3; }},
      {"exception", []() -> int { throw std::runtime_error("uncaught"); }},
      {"abort", []() -> int { std::abort(); }},
      {"segfault", []() -> int { die_by(SIGSEGV); }},
      {"stack-overflow", [] { return deeper(0); }},
      {"terminated", []() -> int { die_by(SIGTERM); }},
      {"killed", []() -> int { die_by(SIGKILL); }},
      {"killed-in-ranges", in_the_middle_of_ranges},
      {"alarm",
       []() -> int {
         std::signal(SIGALRM, SIG_DFL);
         ualarm(2'000, 0);
         for (;;) range("work", 10);
       }},
      {"broken-pipe", into_a_broken_pipe},
      {"killed-while-threads-annotate", [] { return while_threads_annotate([]() -> int { die_by(SIGKILL); }); }},
      {"returns-while-threads-annotate", [] { return while_threads_annotate([] { return 8; }); }},
      {"signal-handler", from_a_signal_handler},
      {"stopped-and-continued", after_being_stopped},
      {"exec",
       [argv]() -> int {
         execl(argv[0], argv[0], "code", nullptr);
         return 1;
       }},
      {"exec-another",
       []() -> int {
         execl("/bin/sh", "sh", "-c", "echo another; exit 11", nullptr);
         return 1;
       }},
      {"child-ends-it",
       [] {
         return in_a_child([] {
           five_steps();
           return 10;
         });
       }},
      {"child-crashes",
       [] {
         return in_a_child([]() -> int {
           five_steps();
           die_by(SIGSEGV);
         });
       }},
      {"child-goes-on", [] { return child_goes_on(false); }},
      {"daemon", [] { return child_goes_on(true); }},
      {"out-of-memory", out_of_memory},
      {"no-more-disk", no_more_disk},
      {"files-closed", every_file_closed},
      {"folder-removed", in_a_removed_folder},
  };
  if (way == "list") {
    for (const auto& each : ways) std::puts(each.first.c_str());
    return 0;
  }
  const auto found = ways.find(way);
  if (found == ways.end()) {
    std::fprintf(stderr, "ending_job: no way is called %s (list: all of them)\n", way.c_str());
    return 2;
  }
  five_steps();
  say("five steps are done");
  return found->second();
}
