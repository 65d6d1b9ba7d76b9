#include "runner/launcher/diagnosis.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <tuple>

namespace ddpprof::launcher {
namespace {

// How far a rank is: the step, then the phase within the step (Activity lists the phases in order).
auto position(const Observation& rank) { return std::tuple(rank.status.step, static_cast<int>(rank.status.activity)); }

std::string rank_list(const std::vector<int>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  std::string text = "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

// "; ranks 0 and 2 wait for it in step 17 (backward and all-reduce)"
std::string others_text(std::span<const Observation> ranks, int blamed) {
  std::vector<std::pair<std::string, std::vector<int>>> places;
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (rank == blamed || !ranks[static_cast<std::size_t>(rank)].running) continue;
    const std::string where = place(ranks[static_cast<std::size_t>(rank)].status);
    const auto same = std::ranges::find(places, where, [](const auto& entry) { return entry.first; });
    if (same != places.end()) {
      same->second.push_back(rank);
    } else {
      places.push_back({where, {rank}});
    }
  }
  std::string text;
  for (const auto& [where, list] : places) {
    text += fmt::format("; {} {} for it in {}", rank_list(list), list.size() == 1 ? "waits" : "wait", where);
  }
  return text;
}

}  // namespace

bool reports_lost_connection(const Observation& rank) {
  static constexpr std::string_view signs[] = {
      "onnection closed by peer",    "onnection reset by peer", "Broken pipe",
      "onnection was likely closed", "recvValue failed",        "sendBytes failed"};
  return std::ranges::any_of(rank.last_lines, [](const std::string& line) {
    return std::ranges::any_of(signs, [&](std::string_view sign) { return line.find(sign) != std::string::npos; });
  });
}

bool waits_for_others(Activity activity) {
  switch (activity) {
    case Activity::rendezvous:
    case Activity::broadcasting:
    case Activity::backward:
    case Activity::all_reduce:
    case Activity::clock_exchange:
    case Activity::finishing:  // rank 0 serves the store and leaves last, so all ranks wait here
      return true;
    default:
      return false;
  }
}

bool has_failed(const Observation& rank) {
  if (rank.running) return false;
  if (rank.signal || rank.exit_code.value_or(0) != 0) return true;
  return rank.status.activity != Activity::done;
}

int hung_rank(std::span<const Observation> ranks, double limit_s) {
  const bool one_moves =
      std::ranges::any_of(ranks, [&](const Observation& rank) { return rank.running && rank.idle_s < limit_s; });
  const bool hang = std::ranges::any_of(ranks, [&](const Observation& rank) {
    if (!rank.running || rank.idle_s < limit_s) return false;
    return !one_moves || rank.stopped_by || !waits_for_others(rank.status.activity);
  });
  if (!hang) return -1;
  int blamed = -1;
  const auto key = [&](int rank) {
    const Observation& seen = ranks[static_cast<std::size_t>(rank)];
    return std::tuple(!seen.stopped_by.has_value(), position(seen), -seen.idle_s);
  };
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    const Observation& seen = ranks[static_cast<std::size_t>(rank)];
    // A rank that still makes progress is not to blame, even if it is far behind.
    if (!seen.running || seen.idle_s < limit_s / 2) continue;
    if (blamed < 0 || key(rank) < key(blamed)) blamed = rank;
  }
  return blamed;
}

int failed_rank(std::span<const Observation> ranks) {
  int blamed = -1;
  const auto key = [&](int rank) {
    const Observation& seen = ranks[static_cast<std::size_t>(rank)];
    return std::tuple(reports_lost_connection(seen), !seen.signal.has_value(), seen.status.step);
  };
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (!has_failed(ranks[static_cast<std::size_t>(rank)])) continue;
    if (blamed < 0 || key(rank) < key(blamed)) blamed = rank;
  }
  return blamed;
}

std::string place(const Status& status) {
  if (status.step < 0) return fmt::format("its time before the first step ({})", to_string(status.activity));
  const std::string planned = status.steps_planned > 0 ? fmt::format(" of {}", status.steps_planned) : "";
  return fmt::format("step {}{} ({})", status.step, planned, to_string(status.activity));
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name != nullptr ? std::string("SIG") + name : fmt::format("signal {}", signal);
}

std::string hang_message(std::span<const Observation> ranks, int rank, double limit_s,
                         const std::filesystem::path& log) {
  const Observation& blamed = ranks[static_cast<std::size_t>(rank)];
  const std::string others = others_text(ranks, rank);
  const std::string limit = fmt::format("No progress for {:.3g} s. ", limit_s);
  const bool starting = std::ranges::any_of(ranks, [](const Observation& each) {
    const Activity doing = each.status.activity;
    return each.running && (doing == Activity::starting || doing == Activity::rendezvous);
  });
  const std::string remedy =
      starting
          ? fmt::format("Raise the timeout (measure.timeout_s) above {:.3g} if a start may take that long.", limit_s)
          : "Raise the timeout if a step may take that long.";
  const std::string kept = fmt::format(" Its output is in {}.", log.string());
  if (blamed.stopped_by) {
    return fmt::format(
        "Rank {} is stopped ({}) in {}{}. {}Resume it (kill -CONT), or find out which process stopped it.{}", rank,
        signal_name(*blamed.stopped_by), place(blamed.status), others, limit, kept);
  }
  const bool all_alike = std::ranges::all_of(ranks, [&](const Observation& other) {
    return !other.running || (!other.stopped_by && position(other) == position(blamed));
  });
  if (ranks.size() > 1 && all_alike && waits_for_others(blamed.status.activity)) {
    return fmt::format("All ranks hang in {}; rank {} has made no progress for the longest time. {}{}{}",
                       place(blamed.status), rank, limit, remedy, kept);
  }
  return fmt::format("Rank {} hangs in {}{}. {}{}{}", rank, place(blamed.status), others, limit, remedy, kept);
}

std::string failure_message(std::span<const Observation> ranks, int rank, const std::filesystem::path& log,
                            const std::string& killer) {
  const Observation& blamed = ranks[static_cast<std::size_t>(rank)];
  std::string how;
  if (blamed.signal) {
    how = fmt::format("was killed by {}", signal_name(*blamed.signal));
  } else if (*blamed.exit_code == 0) {
    how = "ended early, with exit code 0 before its work was done,";
  } else {
    how = fmt::format("ended with exit code {}", *blamed.exit_code);
  }
  std::string message = fmt::format("Rank {} {} in {}.", rank, how, place(blamed.status));
  if (blamed.signal == SIGKILL)
    message += " " + (killer.empty() ? "If no process killed it, the machine may have run out of memory." : killer);
  std::vector<int> others;
  for (int other = 0; other < static_cast<int>(ranks.size()); ++other) {
    if (other != rank && ranks[static_cast<std::size_t>(other)].running) others.push_back(other);
  }
  if (!others.empty()) {
    message += fmt::format(" The other{} still ran ({}) and {} ended.", others.size() == 1 ? " rank" : " ranks",
                           rank_list(others), others.size() == 1 ? "was" : "were");
  }
  return message + fmt::format(" Its output is in {}.", log.string());
}

std::vector<std::string> last_lines(const std::filesystem::path& log) {
  constexpr std::streamoff most_bytes = 64 * 1024;
  constexpr std::size_t most_lines = 20;
  constexpr std::size_t longest = 400;
  std::ifstream in(log, std::ios::binary | std::ios::ate);
  if (!in) return {};
  const std::streamoff size = in.tellg();
  const std::streamoff begin = std::max<std::streamoff>(0, size - most_bytes);
  in.seekg(begin);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t') c = '?';
    }
    lines.push_back(line.size() > longest ? line.substr(0, longest) + "…" : line);
  }
  // The first line may be incomplete.
  if (begin > 0 && lines.size() > 1) lines.erase(lines.begin());
  if (lines.size() > most_lines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most_lines));
  return lines;
}

}  // namespace ddpprof::launcher
