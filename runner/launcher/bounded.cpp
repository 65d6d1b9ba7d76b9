#include "runner/launcher/bounded.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <set>
#include <system_error>
#include <thread>

#include "runner/launcher/guardian.hpp"
#include "runner/launcher/process.hpp"

namespace ddpprof::launcher {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds polling{100};
constexpr std::chrono::seconds guarding{1};               // between two looks for new process groups
constexpr std::chrono::seconds time_to_end_by_itself{2};  // after it has done enough

// Orphans of the command become children of this process, so that they are found and waited for.
class Subreaper {
 public:
  Subreaper() {
    prctl(PR_GET_CHILD_SUBREAPER, &before_);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, before_); }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

 private:
  int before_ = 0;
};

// Parent and state of a process; parent 0 if it does not exist.
struct Relation {
  pid_t parent = 0;
  char state = 'X';
};

Relation relation_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end = line.rfind(") ");  // the name before it may contain any character
  Relation relation;
  if (end == std::string::npos || end + 4 >= line.size()) return relation;
  relation.state = line[end + 2];
  std::from_chars(line.data() + end + 4, line.data() + line.size(), relation.parent);
  return relation;
}

// Returns all running descendants of this process that are not in `others`.
std::vector<pid_t> descendants(const std::set<pid_t>& others = {}) {
  std::map<pid_t, std::vector<pid_t>> children;
  std::set<pid_t> ended;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || stop != name.data() + name.size()) continue;
    const Relation relation = relation_of(name);
    children[relation.parent].push_back(pid);
    if (relation.state == 'Z' || relation.state == 'X') ended.insert(pid);
  }
  std::vector<pid_t> found, waiting = {getpid()};
  while (!waiting.empty()) {
    const pid_t parent = waiting.back();
    waiting.pop_back();
    for (const pid_t child : children[parent]) {
      if (others.contains(child)) continue;
      waiting.push_back(child);
      if (!ended.contains(child)) found.push_back(child);
    }
  }
  return found;
}

// Waits for orphans that have ended.
void reap(const std::set<pid_t>& except) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [stop, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc{} || stop != name.data() + name.size() || except.contains(pid)) continue;
    const Relation relation = relation_of(name);
    if (relation.parent == getpid() && relation.state == 'Z') waitpid(pid, nullptr, WNOHANG);
  }
}

// Returns the process groups of this process's descendants, without those of `except`. Reads only the descendants, and
// of each only the children of its main thread, because it is called while the command is measured.
std::set<pid_t> groups_below(const std::set<pid_t>& except) {
  std::set<pid_t> groups, seen;
  std::vector<pid_t> waiting = {getpid()};
  while (!waiting.empty()) {
    const std::string parent = std::to_string(waiting.back());
    waiting.pop_back();
    std::ifstream children("/proc/" + parent + "/task/" + parent + "/children");
    for (pid_t child = 0; children >> child;) {
      if (except.contains(child) || !seen.insert(child).second) continue;
      waiting.push_back(child);
      if (const pid_t group = getpgid(child); group > 0) groups.insert(group);
    }
  }
  groups.erase(getpgid(0));
  return groups;
}

class BoundedRun {
 public:
  explicit BoundedRun(const BoundedCommand& command)
      : command_(command), others_(own_children()), process_({command.argv, command.environment, command.log}) {}

  BoundedEnd run() {
    while (process_.running() && end_.reason == BoundedEnd::Reason::by_itself) {
      std::this_thread::sleep_for(polling);
      process_.update();
      if (process_.running()) look();
    }
    if (end_.reason == BoundedEnd::Reason::enough) wait_until(SteadyClock::now() + time_to_end_by_itself);
    if (process_.running()) {
      process_.send(SIGTERM);
      wait_for_all(SteadyClock::now() + command_.grace);
    }
    end_rest();
    end_.exit_code = process_.exit_code();
    end_.signal = process_.signal();
    end_.took = SteadyClock::now() - begin_;
    return end_;
  }

 private:
  std::set<pid_t> own_children() const {
    const std::vector<pid_t> all = descendants();
    return {all.begin(), all.end()};
  }

  // Launchers start ranks in sessions of their own: if this process is killed, the kernel kills the launcher only.
  void guard() {
    const SteadyClock::time_point now = SteadyClock::now();
    if (now < next_guard_) return;
    next_guard_ = now + guarding;
    const std::set<pid_t> groups = groups_below(others_);
    for (const pid_t group : guarded_)
      if (!groups.contains(group)) guardian_.forget(group);
    for (const pid_t group : groups)
      if (!guarded_.contains(group)) guardian_.watch(group);
    guarded_ = groups;
  }

  void look() {
    guard();
    using Reason = BoundedEnd::Reason;
    if (command_.interrupted && command_.interrupted())
      end_.reason = Reason::interrupted;
    else if (command_.enough && command_.enough())
      end_.reason = Reason::enough;
    else if (SteadyClock::now() - begin_ >= command_.limit)
      end_.reason = Reason::limit;
  }

  void wait_until(SteadyClock::time_point until) {
    while (process_.running() && SteadyClock::now() < until) {
      std::this_thread::sleep_for(polling);
      process_.update();
    }
  }

  // Waits for all processes of the command. Process::update() kills the group when its first process has ended: a shell
  // ends at once on SIGTERM, and the launcher that it started needs time to end its ranks.
  void wait_for_all(SteadyClock::time_point until) {
    while (!descendants(others_).empty() && SteadyClock::now() < until) std::this_thread::sleep_for(polling);
    process_.update();
  }

  // Kills what is left of the command. A process that was started meanwhile is found in the next round.
  void end_rest() {
    constexpr int rounds = 100;
    for (int round = 0; round < rounds; ++round) {
      const std::vector<pid_t> rest = descendants(others_);
      if (rest.empty()) break;
      end_.killed = true;
      for (const pid_t pid : rest) kill(pid, SIGKILL);
      std::this_thread::sleep_for(polling);
      process_.update();
      reap(others_);
    }
    process_.update();
    reap(others_);
  }

  const BoundedCommand& command_;
  const SteadyClock::time_point begin_ = SteadyClock::now();
  Subreaper subreaper_;
  Guardian guardian_;       // before others_, to which it belongs
  std::set<pid_t> others_;  // children of this process that do not belong to the command
  Process process_;
  std::set<pid_t> guarded_;
  SteadyClock::time_point next_guard_ = begin_;
  BoundedEnd end_;
};

}  // namespace

BoundedEnd run_bounded(const BoundedCommand& command) { return BoundedRun(command).run(); }

std::string why_not_startable(const std::string& program) {
  const std::string path = program_path(program);
  return access(path.c_str(), X_OK) == 0 ? "" : path + ": " + std::generic_category().message(errno);
}

}  // namespace ddpprof::launcher
