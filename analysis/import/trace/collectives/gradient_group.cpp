#include "analysis/import/trace/collectives/gradient_group.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/last_backward.hpp"

namespace ddpprof::import {
namespace {

using Messages = std::vector<Collective*>;  // in order of launch

struct Group {
  std::int64_t size = 0, bytes = 0, count = 0;
  bool carries_gradients = false;
};

// Returns for each gradient of the step's last backward the bytes up to its end; empty if a shape or a type was not
// recorded.
std::vector<std::int64_t> gradient_ends(const RankTrace& rank, const HostStep& step) {
  std::vector<std::int64_t> ends;
  std::int64_t bytes = 0;
  for (const GradientMark& mark : gradients_of_last_backward(step, rank.gradients)) {
    const std::int64_t one = bytes_of(mark.numel, mark.element_bytes);
    if (one == 0) return {};
    ends.push_back(bytes = sum_of(bytes, one));
  }
  return ends;
}

std::map<std::uint64_t, Messages> all_reduces_of(const HostStep& step, std::vector<Collective>& collectives) {
  std::map<std::uint64_t, Messages> groups;
  for (Collective& collective : in_last_backward(step, collectives))
    if (collective.op == CollectiveOp::all_reduce && !collective.integral)
      groups[collective.communicator].push_back(&collective);
  return groups;
}

// Returns the smallest subset of the messages, in their order, that the gradients fill one after the other if each
// gradient is `shrink` times smaller in a message. Empty without such a subset.
Messages filled(const std::vector<std::int64_t>& ends, const Messages& messages, std::int64_t shrink) {
  struct Way {
    std::int64_t messages = 0, from = 0;  // messages so far, and the index where the last one began
    Collective* last = nullptr;
  };
  if (ends.empty()) return {};
  // Keyed by bytes filled. Each way consists of messages launched before the current one.
  std::map<std::int64_t, Way> ways{{0, {}}};
  for (Collective* message : messages) {
    if (message->bytes <= 0 || message->bytes > most_bytes) continue;
    std::vector<std::pair<std::int64_t, Way>> reached;
    for (const auto& [from, way] : ways) {
      const std::int64_t to = sum_of(from, shrink * message->bytes);
      if (to <= ends.back() && std::binary_search(ends.begin(), ends.end(), to))
        reached.push_back({to, {way.messages + 1, from, message}});
    }
    for (const auto& [to, way] : reached) {
      const auto [known, fresh] = ways.emplace(to, way);
      if (!fresh && way.messages < known->second.messages) known->second = way;
    }
  }
  Messages chosen;
  std::int64_t all = 0;
  for (const Collective* message : messages) all = sum_of(all, message->bytes);
  // The remaining messages must be small beside the gradients; otherwise the sizes agree by chance.
  if (shrink * (all / 2) > ends.back()) return {};
  for (std::int64_t at = ends.back(); at > 0;) {
    const auto way = ways.find(at);
    if (way == ways.end()) return {};
    chosen.push_back(way->second.last);
    at = way->second.from;
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

// The choice if gradient sizes do not decide it.
Messages likely(const HostStep& step, const Messages& messages) {
  constexpr std::int64_t small_bytes = 64 << 10;  // DDP's first bucket, its smallest except for the last, has 1 MiB
  const std::int64_t end_ns = step.passes.back().backward.end_ns;
  std::int64_t bytes = 0;
  const Collective* last_within = nullptr;
  bool sizes = true;
  for (const Collective* message : messages) {
    bytes = sum_of(bytes, message->bytes);
    sizes = sizes && message->bytes > 0;
    if (message->launch_ns < end_ns) last_within = message;
  }
  const auto small = [&](const Collective* message) {
    return message->bytes < small_bytes && message->bytes < bytes / 1000;
  };
  const auto launched_before = [](const Collective* a, const Collective* b) { return a->launch_ns < b->launch_ns; };
  // DDP's last bucket may be small, but it follows all others.
  for (const Collective* message : messages)
    if (last_within && !small(message)) last_within = std::max(last_within, message, launched_before);
  Messages chosen;
  for (Collective* message : messages) {
    const bool after = message->launch_ns >= end_ns;
    // If the launch is unknown, it was set to the run's start, which is not evidence.
    const bool launch_known = message->run && message->launch_ns < message->run->start_ns;
    const bool left_out =
        sizes ? small(message) && (after || message != last_within) : after && last_within && launch_known;
    if (!left_out) chosen.push_back(message);
  }
  return chosen;
}

Messages gradients_among(const HostStep& step, const std::vector<std::int64_t>& ends, const Messages& messages) {
  std::int64_t bytes = 0;
  for (const Collective* message : messages) bytes = sum_of(bytes, message->bytes);
  // If the sum of all messages fits, all carry gradients, in any order.
  if (!ends.empty() && (bytes == ends.back() || 2 * bytes == ends.back())) return messages;
  for (const std::int64_t shrink : {1, 2})
    if (Messages chosen = filled(ends, messages, shrink); !chosen.empty()) return chosen;
  return likely(step, messages);
}

bool carries(const std::vector<std::int64_t>& ends, const Messages& messages) {
  if (ends.empty()) return false;
  std::int64_t bytes = 0;
  for (const Collective* message : messages) bytes = sum_of(bytes, message->bytes);
  return bytes == ends.back() || 2 * bytes == ends.back() || !filled(ends, messages, 1).empty() ||
         !filled(ends, messages, 2).empty();
}

}  // namespace

MarkedGradients mark_gradients(const RankTrace& rank, const std::vector<HostStep>& steps,
                               std::vector<Collective>& collectives) {
  for (Collective& collective : collectives) collective.gradient = false;
  std::map<std::uint64_t, Group> groups;
  for (const HostStep& step : steps) {
    const std::vector<std::int64_t> ends = gradient_ends(rank, step);
    for (const auto& [communicator, messages] : all_reduces_of(step, collectives)) {
      Group& group = groups[communicator];
      for (const Collective* message : messages) {
        group.size = std::max(group.size, message->group_size);
        group.bytes = sum_of(group.bytes, message->bytes);
        ++group.count;
      }
      group.carries_gradients = group.carries_gradients || carries(ends, messages);
    }
  }
  if (groups.empty()) return {};
  const auto rank_of = [](const Group& group) {
    return std::tuple(group.carries_gradients, group.size, group.bytes, group.count);
  };
  const auto chosen = std::max_element(groups.begin(), groups.end(), [&](const auto& a, const auto& b) {
    return rank_of(a.second) < rank_of(b.second);
  });
  MarkedGradients marked;
  for (const HostStep& step : steps)
    for (const auto& [communicator, messages] : all_reduces_of(step, collectives)) {
      const auto count = static_cast<std::int64_t>(messages.size());
      if (communicator != chosen->first) {
        marked.other_groups += count;
        continue;
      }
      const Messages gradients = gradients_among(step, gradient_ends(rank, step), messages);
      for (Collective* message : gradients) message->gradient = true;
      marked.left_out += count - static_cast<std::int64_t>(gradients.size());
    }
  return marked;
}

}  // namespace ddpprof::import
