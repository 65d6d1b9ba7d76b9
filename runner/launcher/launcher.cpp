#include "runner/launcher/launcher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

#include "runner/launcher/diagnosis.hpp"
#include "runner/launcher/guardian.hpp"
#include "runner/launcher/process.hpp"

namespace ddpprof::launcher {
namespace {

constexpr double seconds = 1e-9;
constexpr std::int64_t poll_ns = 50'000'000;
constexpr std::int64_t progress_ns = 200'000'000;
// A longer gap between two polls means that this process was stopped. The ranks' idle time before it does not count.
constexpr std::int64_t own_gap_ns = 2'000'000'000;
constexpr std::int64_t culprit_wait_ns =
    2'000'000'000;  // for the rank that closed the connection to the rank that failed
constexpr std::int64_t killed_wait_ns = 10'000'000'000;  // for a process in an uninterruptible wait

struct Rank {
  Process process;
  StatusFile status_file;
  Status status;
  std::int64_t moved_ns;  // when its status was last seen to change
};

class Launch {
 public:
  explicit Launch(const LaunchOptions& options) : options_(options), started_ns_(monotonic_ns()) {}

  LaunchResult run() {
    if (start()) watch();
    result_.wall_ns = monotonic_ns() - started_ns_;
    for (const Rank& rank : ranks_) {
      result_.ranks.push_back(
          {.exit_code = rank.process.exit_code(), .signal = rank.process.signal(), .status = rank.status_file.read()});
    }
    return std::move(result_);
  }

 private:
  std::filesystem::path file(std::size_t rank, const char* extension) const {
    return options_.run_directory / fmt::format("rank-{}{}", rank, extension);
  }

  bool start() {
    std::size_t rank = 0;
    try {
      if (options_.ranks.empty()) throw std::system_error(EINVAL, std::generic_category(), "no ranks to start");
      if (options_.ranks.size() > Guardian::most_groups) {
        throw std::system_error(EINVAL, std::generic_category(),
                                fmt::format("at most {} ranks", Guardian::most_groups));
      }
      std::filesystem::create_directories(options_.run_directory);
      guardian_.emplace();
      ranks_.reserve(options_.ranks.size());
      for (; rank < options_.ranks.size(); ++rank) {
        start_rank(rank);
        if (interrupted()) {
          end_all();
          return false;
        }
      }
    } catch (const std::system_error& error) {
      if (options_.listener != nullptr) options_.listener->close();
      result_.outcome = LaunchResult::Outcome::could_not_start;
      result_.rank = static_cast<int>(rank);
      result_.message = fmt::format("Rank {} could not be started: {}.", rank, error.what());
      end_all();
      return false;
    }
    return true;
  }

  void start_rank(std::size_t rank) {
    const RankCommand& command = options_.ranks[rank];
    StatusFile status_file = StatusFile::create(file(rank, ".status"));
    ProcessOptions process{.argv = command.argv,
                           .environment = command.environment,
                           .log = file(rank, ".log"),
                           .inherited_descriptor = -1};
    process.environment[status_file_variable] = std::filesystem::absolute(file(rank, ".status")).string();
    const bool serves = rank == 0 && options_.listener != nullptr && options_.listener->descriptor() >= 0;
    if (serves) {
      process.inherited_descriptor = options_.listener->descriptor();
      process.environment[master_fd_variable] = std::to_string(process.inherited_descriptor);
    }
    ranks_.push_back(
        {.process = Process(process), .status_file = std::move(status_file), .status = {}, .moved_ns = monotonic_ns()});
    guardian_->watch(ranks_.back().process.pid());
    // From here on only rank 0 has the socket open. If rank 0 ends, connections are refused instead of waiting in the
    // backlog.
    if (serves) options_.listener->close();
  }

  void watch() {
    std::int64_t looked_ns = monotonic_ns();
    std::int64_t shown_ns = 0;
    bool was_starting = true;
    while (std::ranges::any_of(ranks_, [](const Rank& rank) { return rank.process.running(); })) {
      wait_a_moment();
      const std::int64_t now = monotonic_ns();
      update_ranks(now);
      // Waiting for a rank that starts slowly does not count as idle time.
      const bool still_starting = starting();
      if (now - looked_ns > own_gap_ns || (was_starting && !still_starting)) excused_ns_ = now;
      was_starting = still_starting;
      looked_ns = now;
      if (options_.on_progress && now - shown_ns >= progress_ns) {
        show(now);
        shown_ns = now;
      }
      if (failed() || hung(now) || interrupted()) return end_all();
    }
    if (options_.on_progress) show(monotonic_ns());
  }

  // Returns when a rank ends, a signal arrives, or the poll interval is over.
  void wait_a_moment() {
    std::vector<pollfd> ends;
    for (const Rank& rank : ranks_) {
      if (rank.process.running() && rank.process.descriptor() >= 0) {
        ends.push_back({.fd = rank.process.descriptor(), .events = POLLIN, .revents = 0});
      }
    }
    const timespec interval{.tv_sec = 0, .tv_nsec = poll_ns};
    ppoll(ends.data(), ends.size(), &interval, nullptr);
  }

  void update_ranks(std::int64_t now) {
    for (Rank& rank : ranks_) {
      const bool ran = rank.process.running();
      rank.process.update();
      const Status status = rank.status_file.read();  // after update(): an ended rank reports nothing more
      if (status != rank.status) {
        rank.status = status;
        rank.moved_ns = now;
      }
      if (ran && !rank.process.running()) guardian_->forget(rank.process.pid());
    }
  }

  bool starting() const {
    return std::ranges::any_of(ranks_, [](const Rank& rank) {
      return rank.process.running() &&
             (rank.status.activity == Activity::starting || rank.status.activity == Activity::rendezvous);
    });
  }

  std::vector<Observation> observe(std::int64_t now) const {
    std::vector<Observation> seen;
    for (const Rank& rank : ranks_) {
      seen.push_back({.status = rank.status,
                      .running = rank.process.running(),
                      .exit_code = rank.process.exit_code(),
                      .signal = rank.process.signal(),
                      .stopped_by = std::nullopt,
                      .idle_s = static_cast<double>(now - std::max(rank.moved_ns, excused_ns_)) * seconds,
                      .last_lines = {}});
    }
    return seen;
  }

  bool failed() {
    std::vector<Observation> seen = observe(monotonic_ns());
    if (std::ranges::none_of(seen, has_failed)) return false;
    for (std::size_t rank = 0; rank < seen.size(); ++rank) seen[rank].last_lines = last_lines(file(rank, ".log"));
    const int blamed = failed_rank(seen);
    const std::int64_t now = monotonic_ns();
    if (first_end_ns_ == 0) first_end_ns_ = now;
    // The rank that closed the connections may still be ending. Its output explains more than that of the other ranks.
    const bool more_to_come = std::ranges::any_of(seen, [](const Observation& rank) { return rank.running; });
    if (more_to_come && reports_lost_connection(seen[static_cast<std::size_t>(blamed)]) &&
        now - first_end_ns_ < culprit_wait_ns)
      return false;
    blame(seen, blamed, LaunchResult::Outcome::rank_failed);
    const bool killed = seen[static_cast<std::size_t>(blamed)].signal == SIGKILL;
    result_.message = failure_message(seen, blamed, file(static_cast<std::size_t>(blamed), ".log"),
                                      killed && options_.who_kills ? options_.who_kills() : "");
    return true;
  }

  bool hung(std::int64_t now) {
    const double limit_s = starting() ? std::max(options_.start_timeout_s, options_.timeout_s) : options_.timeout_s;
    std::vector<Observation> seen = observe(now);
    if (hung_rank(seen, limit_s) < 0) return false;
    for (std::size_t rank = 0; rank < seen.size(); ++rank) {
      seen[rank].stopped_by = ranks_[rank].process.stopped_by();
      seen[rank].last_lines = last_lines(file(rank, ".log"));
    }
    const int blamed = hung_rank(seen, limit_s);
    blame(seen, blamed, LaunchResult::Outcome::hung);
    result_.message = hang_message(seen, blamed, limit_s, file(static_cast<std::size_t>(blamed), ".log"));
    return true;
  }

  void blame(const std::vector<Observation>& seen, int rank, LaunchResult::Outcome outcome) {
    const Observation& blamed = seen[static_cast<std::size_t>(rank)];
    result_.outcome = outcome;
    result_.rank = rank;
    result_.activity = blamed.status.activity;
    result_.step = blamed.status.step;
    result_.exit_code = blamed.exit_code;
    result_.signal = blamed.signal ? blamed.signal : blamed.stopped_by;
    result_.last_lines = blamed.last_lines;
  }

  bool interrupted() {
    if (!options_.interrupted || !options_.interrupted()) return false;
    result_.outcome = LaunchResult::Outcome::interrupted;
    // Report the progress of the rank that is furthest.
    for (const Rank& rank : ranks_) {
      if (rank.status.step < result_.step) continue;
      result_.step = rank.status.step;
      result_.activity = rank.status.activity;
    }
    const Status furthest{.activity = result_.activity, .step = result_.step, .steps_planned = 0, .updated_ns = 0};
    result_.message = fmt::format("Interrupted in {}; every rank was ended.", place(furthest));
    return true;
  }

  bool all_ended_within(std::int64_t limit_ns, bool hurry) {
    const std::int64_t begin = monotonic_ns();
    for (;;) {
      update_ranks(monotonic_ns());
      if (std::ranges::none_of(ranks_, [](const Rank& rank) { return rank.process.running(); })) return true;
      if (monotonic_ns() - begin >= limit_ns) return false;
      if (hurry && options_.interrupted && options_.interrupted()) return false;
      wait_a_moment();
    }
  }

  void end_all() {
    signal_all(SIGTERM);
    signal_all(SIGCONT);  // a stopped process receives SIGTERM only after it continues
    // A second interrupt while a failed run is cleaned up skips the grace period.
    const bool hurry = result_.outcome != LaunchResult::Outcome::interrupted;
    if (all_ended_within(static_cast<std::int64_t>(options_.grace_s / seconds), hurry)) return;
    signal_all(SIGKILL);
    if (all_ended_within(killed_wait_ns, false)) return;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (!ranks_[rank].process.running()) continue;
      result_.message +=
          fmt::format(" Rank {} (process {}) has not ended after SIGKILL; it is blocked inside the kernel.", rank,
                      ranks_[rank].process.pid());
      ranks_[rank].process.abandon();
    }
  }

  void signal_all(int signal) const {
    for (const Rank& rank : ranks_) {
      if (rank.process.running()) rank.process.send(signal);
    }
  }

  void show(std::int64_t now) const {
    Progress progress;
    progress.elapsed_s = static_cast<double>(now - started_ns_) * seconds;
    for (const Rank& rank : ranks_)
      progress.ranks.push_back({.status = rank.status, .running = rank.process.running()});
    options_.on_progress(progress);
  }

  const LaunchOptions& options_;
  std::int64_t started_ns_;
  std::int64_t first_end_ns_ = 0;     // when a failed rank was first seen
  std::int64_t excused_ns_ = 0;       // idle time before this moment does not count
  std::optional<Guardian> guardian_;  // must outlive ranks_, which it watches
  std::vector<Rank> ranks_;
  LaunchResult result_;
};

}  // namespace

const char* to_string(LaunchResult::Outcome outcome) {
  switch (outcome) {
    case LaunchResult::Outcome::ok:
      return "ok";
    case LaunchResult::Outcome::rank_failed:
      return "rank failed";
    case LaunchResult::Outcome::hung:
      return "hung";
    case LaunchResult::Outcome::interrupted:
      return "interrupted";
    case LaunchResult::Outcome::could_not_start:
      return "could not start";
  }
  return "unknown";
}

LaunchResult launch(const LaunchOptions& options) { return Launch(options).run(); }

}  // namespace ddpprof::launcher
