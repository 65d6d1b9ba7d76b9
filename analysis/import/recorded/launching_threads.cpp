#include "analysis/import/recorded/launching_threads.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string>

namespace ddpprof::import {
namespace {

constexpr std::size_t least_backwards = 3;
constexpr std::int64_t least_share = 10;  // autograd's thread launches at least a tenth of the main thread's launches
constexpr std::size_t least_launches_a_run = 3;  // threads that alternate at every launch do not mark phases

struct Threads {
  std::int64_t main = 0, autograd = 0;
};

std::optional<Threads> find_threads(const std::vector<Launch>& launches, std::int64_t process) {
  struct Count {
    std::int64_t all = 0, collectives = 0;
  };
  std::map<std::int64_t, Count> counts;
  for (const Launch& launch : launches)
    if (launch.work != Launch::Work::upload) {
      Count& own = counts[launch.thread];
      ++own.all;
      own.collectives += launch.work == Launch::Work::collective ? 1 : 0;
    }
  // Returns the thread with the largest count, except `other`; -1 if all counts are 0.
  const auto most = [&](std::int64_t other, auto count_of) {
    std::pair<std::int64_t, std::int64_t> best{0, -1};  // count, thread
    for (const auto& [thread, count] : counts)
      if (thread != other && count_of(count) > best.first) best = {count_of(count), thread};
    return best.second;
  };
  const auto all = [](const Count& count) { return count.all; };
  Threads threads{process, -1};
  if (counts.contains(process)) {
    threads.autograd = most(process, all);
  } else {
    threads.autograd = most(-1, [](const Count& count) { return count.collectives; });
    threads.main = most(threads.autograd, all);
  }
  if (threads.autograd < 0 || threads.main < 0) return std::nullopt;
  const std::int64_t backward = counts[threads.autograd].all;
  if (backward * least_share < counts[threads.main].all) return std::nullopt;
  for (const auto& [thread, count] : counts)  // replicas run in parallel
    if (thread != threads.main && thread != threads.autograd && count.all * 2 > backward) return std::nullopt;
  return threads;
}

// One backward, and the number of launches of the main thread from its end to the next one's start.
struct Turn {
  Span backward;
  std::size_t launches = 0;
  bool collectives = false;
  std::optional<std::int64_t> optimizer_end_ns, upload_ns;
};

std::vector<Turn> turns_of(const std::vector<Launch>& launches, const Threads& threads) {
  std::vector<Turn> turns;
  bool in_backward = false;
  for (const Launch& launch : launches) {
    if (launch.thread == threads.autograd) {
      if (!in_backward) {
        turns.emplace_back().backward = launch.time;
        in_backward = true;
      }
      Turn& turn = turns.back();
      turn.backward.end_ns = std::max(turn.backward.end_ns, launch.time.end_ns);
      ++turn.launches;
      turn.collectives = turn.collectives || launch.work == Launch::Work::collective;
    } else if (launch.thread == threads.main) {
      in_backward = false;
      if (turns.empty()) continue;
      if (launch.work == Launch::Work::optimizer) turns.back().optimizer_end_ns = launch.time.end_ns;
      if (launch.work == Launch::Work::upload && !turns.back().upload_ns) turns.back().upload_ns = launch.time.start_ns;
    }
  }
  return turns;
}

}  // namespace

bool is_optimizer_kernel(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::array<std::string_view, 9> words = {
      "multi_tensor_apply", "multitensorapply", "adam", "fusedsgd", "fused_sgd", "adagrad", "lamb", "rmsprop",
      "adafactor"};
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

LaunchedPhases phases_of(std::vector<Launch> launches, std::int64_t process) {
  const std::optional<Threads> threads = find_threads(launches, process);
  if (!threads) return {};
  std::stable_sort(launches.begin(), launches.end(),
                   [](const Launch& a, const Launch& b) { return a.time.start_ns < b.time.start_ns; });
  const std::vector<Turn> turns = turns_of(launches, *threads);
  std::size_t in_backward = 0;
  for (const Turn& turn : turns) in_backward += turn.launches;
  if (turns.size() < least_backwards || in_backward < least_launches_a_run * turns.size()) return {};

  const bool collectives = std::any_of(turns.begin(), turns.end(), [](const Turn& turn) { return turn.collectives; });
  const bool optimizers =
      std::any_of(turns.begin(), turns.end(), [](const Turn& turn) { return turn.optimizer_end_ns.has_value(); });
  LaunchedPhases phases;
  for (const Turn& turn : turns) {
    phases.backwards.push_back(turn.backward);
    if (collectives ? !turn.collectives : optimizers && !turn.optimizer_end_ns) continue;
    const std::int64_t begin_ns = turn.backward.end_ns;
    phases.optimizers.push_back(
        {begin_ns, std::max(begin_ns, turn.optimizer_end_ns.value_or(turn.upload_ns.value_or(begin_ns)))});
  }
  return phases;
}

}  // namespace ddpprof::import
