#include "analysis/import/trace/collectives/collectives.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace ddpprof::import {
namespace {

// FNV-1a, 64 bits. std::hash may differ between machines.
std::uint64_t hash(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325ULL) {
  for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return seed;
}

// Hashes a group's name, and its ranks if they are known: two halves of a world may both be named "1".
std::uint64_t communicator_of(const RankTrace& rank, std::uint32_t group) {
  std::uint64_t result = hash(rank.names.text(group));
  if (const auto ranks = rank.group_ranks.find(group); ranks != rank.group_ranks.end())
    for (const std::int64_t member : ranks->second) result = hash(std::to_string(member) + ",", result);
  return result;
}

void add(ingest::CallDetails& to, const ingest::CallDetails& from) {
  if (!to.peer) to.peer = from.peer;
  if (!to.asynchronous) to.asynchronous = from.asynchronous;
  if (!to.largest_split) to.largest_split = from.largest_split;
}

std::int64_t group_size_of(const RankTrace& rank, std::uint32_t group, std::int64_t recorded) {
  const auto ranks = rank.group_ranks.find(group);
  return ranks == rank.group_ranks.end() ? recorded : static_cast<std::int64_t>(ranks->second.size());
}

std::int64_t gradient_element_bytes(const RankTrace& rank) {
  for (const GradientMark& gradient : rank.gradients)
    if (gradient.element_bytes > 0) return gradient.element_bytes;
  return 4;
}

constexpr std::int64_t widest_element_bytes = 16;  // a complex number of two doubles

// Returns true if a message of this size may have this number of elements. 0 elements: unknown.
bool may_have(std::int64_t bytes, std::int64_t elements) {
  return elements == 0 || (bytes % elements == 0 && bytes / elements <= widest_element_bytes);
}

// Returns true if the run may belong to the call by their sizes, as far as both are recorded. A call of an all-gather
// has the size of the whole tensor, a run of it that of one rank's share.
bool may_be(const CollectiveCall& call, const CollectiveRun& run) {
  if (run.bytes == 0) return true;
  if (call.part_elements > 0)
    return run.op == CollectiveOp::reduce_scatter ? run.bytes % call.part_elements == 0
                                                  : may_have(run.bytes, call.part_elements);
  if (call.bytes != 0)
    return call.bytes == run.bytes || call.part_bytes == run.bytes ||
           (call.part_bytes == 0 && run.op == CollectiveOp::all_gather && call.bytes % run.bytes == 0);
  return may_have(run.bytes, call.elements);
}

// Returns true if the run is one of several of a reduce-scatter: Gloo all-reduces each rank's part of a list alone.
bool reduces_a_part(const CollectiveCall& call, const CollectiveRun& run) {
  return call.op == CollectiveOp::reduce_scatter && call.part_elements > 0 && run.op == CollectiveOp::all_reduce;
}

// Returns the number of ranks of the call's group; 0: unknown.
std::int64_t ranks_of(const RankTrace& rank, const CollectiveCall& call) {
  const std::int64_t size = group_size_of(rank, call.group, call.group_size);
  return size == 0 && rank.one_group ? rank.world_size.value_or(0) : size;
}

// Calls whose run has not begun, by operation and size. Many calls may never get a run.
class WaitingCalls {
 public:
  // `ranks`: of the call's group. 0: unknown.
  void add(const CollectiveCall& call, std::size_t place, std::int64_t ranks) {
    queues_[{call.op, call.bytes}].push_back(place);
    if (call.op == CollectiveOp::reduce_scatter && call.part_elements > 0) parts_left_[place] = ranks;
  }

  // Returns the first call that the run may belong to. Removes it from the queues, unless runs of other parts follow.
  std::optional<std::size_t> take(const CollectiveRun& run, const std::vector<const CollectiveCall*>& calls) {
    std::deque<std::size_t>* queue = nullptr;
    std::deque<std::size_t>::iterator found;
    const auto look = [&](std::deque<std::size_t>& places) {
      const auto own =
          std::find_if(places.begin(), places.end(), [&](std::size_t place) { return may_be(*calls[place], run); });
      if (own == places.end() || (queue && *found < *own)) return;
      queue = &places;
      found = own;
    };
    // A run without a size may belong to any call. A run with a size may belong to calls of that size and calls without
    // one.
    const auto look_for = [&](CollectiveOp op, bool of_parts) {
      for (auto at = queues_.lower_bound({op, 0}); at != queues_.end() && at->first.first == op; ++at)
        if (run.bytes == 0 || at->first.second == 0 || at->first.second == run.bytes || of_parts) look(at->second);
    };
    look_for(run.op, run.op == CollectiveOp::all_gather);
    // Gloo executes a reduce-scatter as an all-reduce of the whole tensor.
    if (!queue && run.op == CollectiveOp::all_reduce) look_for(CollectiveOp::reduce_scatter, false);
    if (!queue) return std::nullopt;
    const std::size_t place = *found;
    if (reduces_a_part(*calls[place], run) && --parts_left_[place] > 0) return place;
    queue->erase(found);
    return place;
  }

 private:
  std::map<std::pair<CollectiveOp, std::int64_t>, std::deque<std::size_t>> queues_;
  std::map<std::size_t, std::int64_t> parts_left_;  // by place
};

void number(std::vector<Collective>& collectives) {
  std::stable_sort(collectives.begin(), collectives.end(),
                   [](const Collective& a, const Collective& b) { return a.launch_ns < b.launch_ns; });
  if (sequences_recorded(collectives)) {
    for (Collective& collective : collectives)
      collective.sequence = static_cast<std::uint64_t>(*collective.recorded_sequence);
    return;
  }
  std::map<std::uint64_t, std::uint64_t> next;
  for (Collective& collective : collectives) collective.sequence = next[collective.communicator]++;
}

// Collectives whose runs are on the device, with the calls that launched them.
void add_device_runs(const RankTrace& rank, std::vector<Collective>& collectives) {
  std::unordered_map<std::int64_t, const CollectiveCall*> by_id;
  for (const CollectiveCall& call : rank.calls)
    if (call.external_id) by_id.emplace(*call.external_id, &call);
  const auto call_of = [&](const CollectiveRun& run) -> const CollectiveCall* {
    if (const auto call = run.external_id ? by_id.find(*run.external_id) : by_id.end(); call != by_id.end())
      return call->second;
    const auto& of_kernels = rank.slices.calls();
    if (const auto call = run.correlation ? of_kernels.find(*run.correlation) : of_kernels.end();
        call != of_kernels.end())
      return &rank.calls[call->second];
    return nullptr;
  };
  for (const CollectiveRun& run : rank.runs) {
    if (run.on_host) continue;
    Collective collective;
    collective.op = collective.executed = run.op;
    collective.bytes = run.bytes;
    collective.run = run.time;
    collective.stream = run.stream;
    collective.launch_ns = run.launch_ns > 0 ? run.launch_ns : run.time.start_ns;
    collective.recorded_sequence = run.sequence;
    collective.choice = run.choice;
    collective.details = run.details;
    collective.kernels = run.kernels;
    collective.integral = run.integral;
    collective.element_bytes = run.element_bytes;
    std::uint32_t group = run.group;
    std::int64_t group_size = run.group_size;
    if (const CollectiveCall* call = call_of(run)) {
      if (collective.bytes == 0) collective.bytes = call->bytes;
      // NCCL executes all-to-alls, gathers and scatters as sends. So the call's operation counts.
      const bool sends = run.op == CollectiveOp::send || run.op == CollectiveOp::receive;
      if (collective.op == CollectiveOp::other || (sends && call->op != CollectiveOp::other)) collective.op = call->op;
      collective.integral = collective.integral || call->integral;
      if (group == 0) group = call->group;
      if (group_size == 0) group_size = call->group_size;
      add(collective.details, call->details);
      if (collective.element_bytes == 0) collective.element_bytes = call->element_bytes;
      collective.call = static_cast<std::size_t>(call - rank.calls.data());
      if (!collective.recorded_sequence) collective.recorded_sequence = call->sequence;
    }
    collective.group_size = group_size_of(rank, group, group_size);
    collective.communicator = communicator_of(rank, group);
    collectives.push_back(collective);
  }
}

void add_part(Collective& collective, const CollectiveRun& run) {
  collective.run->end_ns = std::max(collective.run->end_ns, run.time.end_ns);
  collective.unfinished = collective.unfinished || run.unfinished;
}

// Collectives that a backend ran on the host, with the earliest calls that they may belong to.
void add_host_runs(const RankTrace& rank, std::vector<Collective>& collectives) {
  std::vector<const CollectiveRun*> runs;
  for (const CollectiveRun& run : rank.runs)
    if (run.on_host) runs.push_back(&run);
  if (runs.empty()) return;
  std::stable_sort(runs.begin(), runs.end(), [](const CollectiveRun* a, const CollectiveRun* b) {
    return a->time.start_ns < b->time.start_ns;
  });
  std::vector<const CollectiveCall*> calls;
  for (const CollectiveCall& call : rank.calls)
    if (call.outer) calls.push_back(&call);
  std::stable_sort(calls.begin(), calls.end(), [](const CollectiveCall* a, const CollectiveCall* b) {
    return a->time.start_ns < b->time.start_ns;
  });
  WaitingCalls waiting;
  std::map<std::size_t, std::size_t> in_parts;  // calls that are reduced in parts, and their place in `collectives`
  std::size_t next = 0;
  for (const CollectiveRun* run : runs) {
    for (; next < calls.size() && calls[next]->time.start_ns <= run->time.start_ns; ++next)
      waiting.add(*calls[next], next, ranks_of(rank, *calls[next]));
    Collective collective;
    collective.op = collective.executed = run->op;
    collective.bytes = run->bytes;
    collective.run = run->time;
    collective.on_host = true;
    collective.integral = run->integral;
    collective.unfinished = run->unfinished;
    collective.details = run->details;
    collective.launch_ns = run->time.start_ns;
    collective.element_bytes = run->element_bytes;
    bool whole = false;      // its bytes are those of the whole buffer
    std::int64_t ranks = 0;  // of its group, if the group was not recorded
    std::uint32_t group = run->group;
    if (const std::optional<std::size_t> own = waiting.take(*run, calls)) {
      const CollectiveCall& call = *calls[*own];
      if (reduces_a_part(call, *run)) {
        if (const auto [begun, first] = in_parts.try_emplace(*own, collectives.size()); !first) {
          add_part(collectives[begun->second], *run);
          continue;
        }
        collective.bytes = bytes_of(run->bytes, ranks_of(rank, call));
      }
      collective.launch_ns = call.time.start_ns;
      collective.recorded_sequence = call.sequence;
      if (run->op == CollectiveOp::all_gather && call.bytes > 0) collective.bytes = call.bytes;
      // A run whose end was not recorded has no size. The call has the number of elements, mostly of gradients.
      if (collective.bytes == 0) collective.bytes = bytes_of(call.elements, gradient_element_bytes(rank));
      if (call.op == CollectiveOp::all_gather && call.bytes > 0) collective.bytes = call.bytes;
      whole = call.bytes > 0;
      if (call.part_bytes > 0 && call.bytes % call.part_bytes == 0) ranks = call.bytes / call.part_bytes;
      collective.op = call.op;
      if (call.element_bytes > 0) collective.element_bytes = call.element_bytes;
      collective.call = static_cast<std::size_t>(&call - rank.calls.data());
      if (group == 0) group = call.group;
      add(collective.details, call.details);
    }
    collective.group_size = group_size_of(rank, group, run->group_size);
    if (collective.op == CollectiveOp::all_gather || collective.op == CollectiveOp::reduce_scatter) {
      if (ranks == 0 && rank.one_group) ranks = rank.world_size.value_or(0);
      if (collective.group_size == 0) collective.group_size = ranks;
    }
    // A backend's run of an all-gather has the size of one rank's part.
    if (collective.op == CollectiveOp::all_gather && !whole)
      collective.bytes = bytes_of(collective.bytes, collective.group_size);
    collective.communicator = communicator_of(rank, group);
    collectives.push_back(collective);
  }
}

}  // namespace

bool sequences_recorded(const std::vector<Collective>& collectives) {
  std::set<std::pair<std::uint64_t, std::int64_t>> seen;
  return !collectives.empty() && std::all_of(collectives.begin(), collectives.end(), [&](const Collective& collective) {
    return collective.recorded_sequence && *collective.recorded_sequence >= 0 &&
           seen.emplace(collective.communicator, *collective.recorded_sequence).second;
  });
}

std::vector<Collective> match_calls(const RankTrace& rank) {
  std::vector<Collective> collectives;
  add_device_runs(rank, collectives);
  add_host_runs(rank, collectives);
  number(collectives);
  return collectives;
}

std::vector<ProcessGroup> process_groups(const RankTrace& rank) {
  std::map<std::uint32_t, std::int64_t> sizes;  // of groups that exchanged data
  const auto see = [&](std::uint32_t group, std::int64_t size) {
    std::int64_t& known = sizes[group];
    known = std::max(known, size);
  };
  for (const CollectiveCall& call : rank.calls) see(call.group, call.group_size);
  for (const CollectiveRun& run : rank.runs) see(run.group, run.group_size);
  std::map<std::uint64_t, ProcessGroup> groups;
  for (const auto& [number, size] : sizes) {
    ProcessGroup group;
    group.communicator = communicator_of(rank, number);
    group.size = group_size_of(rank, number, size);
    if (const auto text = rank.group_texts.find(number); text != rank.group_texts.end()) {
      group.name = text->second.name;
      group.description = text->second.description;
    } else {
      group.name = rank.names.text(number);
    }
    if (const auto ranks = rank.group_ranks.find(number); ranks != rank.group_ranks.end()) group.ranks = ranks->second;
    // A call without any information, as c10d's own records have it.
    if (group.name.empty() && group.description.empty() && group.ranks.empty() && group.size == 0) continue;
    groups.emplace(group.communicator, std::move(group));
  }
  std::vector<ProcessGroup> all;
  for (auto& [communicator, group] : groups) all.push_back(std::move(group));
  return all;
}

void launch_collectives(const SliceStore& slices, std::vector<Collective>& collectives) {
  std::multimap<std::pair<std::int64_t, std::int64_t>, Collective*> by_start;
  for (Collective& collective : collectives)
    if (collective.run && !collective.on_host)
      by_start.emplace(std::pair(collective.run->start_ns, collective.stream), &collective);
  slices.for_each([&](const Slice& slice) {
    if (slice.work != Work::communication) return;
    const auto found = by_start.find({slice.start_ns, slice.stream});
    if (found == by_start.end()) return;
    found->second->launch_ns = slice.launch_ns;
    if (found->second->kernels == 1) found->second->run->end_ns = slice.end_ns;
    by_start.erase(found);
  });
  number(collectives);
}

void add_called_kernels(RankTrace& rank) {
  std::map<std::size_t, CollectiveRun> of_call;
  for (const SliceStore::Called& called : rank.slices.called()) {
    const CollectiveCall& call = rank.calls[called.call];
    const auto [found, fresh] = of_call.try_emplace(called.call);
    CollectiveRun& run = found->second;
    if (!fresh) {
      run.time.start_ns = std::min(run.time.start_ns, called.slice.start_ns);
      run.time.end_ns = std::max(run.time.end_ns, called.slice.end_ns);
      ++run.kernels;
      continue;
    }
    run.time = {called.slice.start_ns, called.slice.end_ns};
    run.op = call.op;
    run.bytes = call.bytes;
    run.integral = call.integral;
    run.external_id = call.external_id;
    run.sequence = call.sequence;
    run.group = call.group;
    run.group_size = call.group_size;
    run.stream = called.slice.stream;
  }
  for (auto& [call, run] : of_call) rank.runs.push_back(run);
}

std::vector<Slice> runs_on_host(const std::vector<Collective>& collectives) {
  std::vector<Slice> runs;
  for (const Collective& one : collectives) {
    if (!one.on_host || !one.run || one.run->end_ns <= one.run->start_ns) continue;
    Slice& slice = runs.emplace_back();
    slice.start_ns = one.run->start_ns;
    slice.end_ns = one.run->end_ns;
    slice.work = Work::communication;
  }
  std::ranges::sort(runs, {}, &Slice::start_ns);
  return runs;
}

}  // namespace ddpprof::import
