#include "analysis/import/nsight/nccl_calls.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {

bool is_nccl_call(std::string_view name) {
  return name.size() > 4 && name.starts_with("nccl") && name[4] >= 'A' && name[4] <= 'Z';
}

std::string communicator_name(std::uint64_t hash) { return fmt::format("communicator {:016x}", hash); }

void set_messages(RankTrace& trace, const std::unordered_map<std::int64_t, Message>& messages) {
  for (CollectiveRun& run : trace.runs) {
    const auto message = run.correlation ? messages.find(*run.correlation) : messages.end();
    if (message == messages.end()) continue;
    run.bytes = message->second.bytes;
    if (message->second.op != CollectiveOp::other) run.op = message->second.op;
    if (message->second.communicator) run.group = trace.names.intern(communicator_name(*message->second.communicator));
    run.group_size = message->second.ranks;
    run.sequence = message->second.sequence;
    run.choice = message->second.choice;
  }
}

void NcclCalls::add_range(std::int64_t tid, std::string_view name, Span time,
                          const std::optional<NcclPayload>& payload) {
  Range range;
  range.time = time;
  if (payload) {
    range.communicator = payload->communicator;
    range.bytes = payload->bytes.value_or(0);
    if (payload->communicator && payload->ranks.value_or(0) > 0) ranks_[*payload->communicator] = *payload->ranks;
  }
  range.op = collective_op(name);
  range.receives = name == "ncclRecv";
  range.point_to_point = range.receives || name == "ncclSend";
  if (name == "ncclBcast") range.op = CollectiveOp::broadcast;
  if (name.starts_with("ncclGroupStart"))
    range.kind = Kind::group_begin;
  else if (name.starts_with("ncclGroupEnd"))
    range.kind = Kind::group_end;
  else if (range.op == CollectiveOp::other && !range.point_to_point && range.bytes == 0)
    return;  // ncclCommCount and similar calls launch no kernel
  threads_[tid].ranges.push_back(range);
}

void NcclCalls::add_launch(std::int64_t tid, Span time, std::int64_t correlation) {
  threads_[tid].launches.push_back({time, correlation});
}

// NCCL reports the size of one rank's message. A gather or scatter over all ranks has this size times the number of
// ranks.
Message NcclCalls::sum(const std::vector<const Range*>& calls) const {
  Message message;
  std::int64_t sent = 0, received = 0;
  for (const Range* call : calls) {
    message.op = call == calls.front() || message.op == call->op ? call->op : CollectiveOp::other;
    std::int64_t bytes = call->bytes;
    if (call->communicator) {
      message.communicator = call->communicator;
      if (const auto ranks = ranks_.find(*call->communicator); ranks != ranks_.end()) message.ranks = ranks->second;
    }
    if (call->op == CollectiveOp::all_gather || call->op == CollectiveOp::reduce_scatter)
      bytes = product_of({bytes, std::max<std::int64_t>(1, message.ranks)});
    std::int64_t& side = call->receives ? received : sent;
    side = sum_of(side, bytes);
  }
  message.bytes = std::max(sent, received);
  if (message.bytes > most_bytes) message.bytes = 0;  // larger than any possible message
  return message;
}

void NcclCalls::match_group(const std::vector<const Range*>& calls, const std::vector<const Launch*>& launches,
                            std::unordered_map<std::int64_t, Message>& messages) const {
  if (launches.empty() || calls.empty()) return;
  const bool alone = std::none_of(calls.begin(), calls.end(), [](const Range* call) { return call->point_to_point; });
  if (alone && launches.size() == calls.size()) {
    for (std::size_t i = 0; i < calls.size(); ++i) messages[launches[i]->correlation] = sum({calls[i]});
    return;
  }
  // Calls on one communicator are executed by one kernel.
  std::vector<std::pair<std::optional<std::uint64_t>, std::vector<const Range*>>> kernels;
  for (const Range* call : calls) {
    const auto found = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const auto& kernel) { return kernel.first == call->communicator; });
    if (found == kernels.end())
      kernels.push_back({call->communicator, {call}});
    else
      found->second.push_back(call);
  }
  if (kernels.size() != launches.size()) return;
  for (std::size_t i = 0; i < kernels.size(); ++i) messages[launches[i]->correlation] = sum(kernels[i].second);
}

Message message_of(const std::vector<const ingest::NcclOperationFact*>& operations) {
  Message message;
  std::int64_t sent = 0, received = 0;
  for (const ingest::NcclOperationFact* operation : operations) {
    const bool first = operation == operations.front();
    const CollectiveOp op = collective_op(operation->function);
    message.op = first || message.op == op ? op : CollectiveOp::other;
    if (first) {
      message.choice = operation->choice;
      message.communicator = operation->communicator;
      message.ranks = operation->ranks;
      if (operation->number) message.sequence = static_cast<std::int64_t>(*operation->number);
    } else {
      message.choice.meet(operation->choice);
    }
    std::int64_t bytes = operation->bytes;
    if (op == CollectiveOp::all_gather || op == CollectiveOp::reduce_scatter)
      bytes = product_of({bytes, std::max<std::int64_t>(1, operation->ranks)});
    std::int64_t& side = op == CollectiveOp::receive ? received : sent;
    side = sum_of(side, bytes);
  }
  message.bytes = std::max(sent, received);
  if (message.bytes > most_bytes) message.bytes = 0;  // larger than any possible message
  return message;
}

std::int64_t prefer(std::unordered_map<std::int64_t, Message>& told_by_ranges,
                    const std::unordered_map<std::int64_t, Message>& told_by_plugin) {
  std::int64_t differing = 0;
  for (const auto& [correlation, message] : told_by_plugin) {
    const auto [found, fresh] = told_by_ranges.try_emplace(correlation, message);
    if (fresh) continue;
    const Message& range = found->second;
    const auto differ = [](const auto& a, const auto& b) { return a && b && *a != *b; };
    const auto known = [](std::int64_t bytes) { return bytes > 0 ? std::optional(bytes) : std::nullopt; };
    const bool scaled = message.op == CollectiveOp::all_gather || message.op == CollectiveOp::reduce_scatter;
    // If the number of ranks is not known to both, their sizes cannot be compared for these operations.
    if ((range.op != message.op && range.op != CollectiveOp::other && message.op != CollectiveOp::other) ||
        differ(range.communicator, message.communicator) ||
        ((!scaled || range.ranks == message.ranks) && differ(known(range.bytes), known(message.bytes))))
      ++differing;
    const std::int64_t bytes = message.bytes > 0 ? message.bytes : range.bytes;
    found->second = message;
    found->second.bytes = bytes;
  }
  return differing;
}

std::unordered_map<std::int64_t, Message> NcclCalls::match(
    const std::vector<ingest::NcclOperationFact>& operations) const {
  std::map<std::int64_t, std::vector<std::vector<const ingest::NcclOperationFact*>>> groups;  // by thread, by time
  std::map<std::pair<std::int64_t, std::uint64_t>, std::size_t> place;
  for (const ingest::NcclOperationFact& operation : operations) {
    if (operation.captured) continue;  // its kernel runs later, and possibly several times
    auto& of_thread = groups[operation.tid];
    const auto [found, fresh] = place.try_emplace({operation.tid, operation.group}, of_thread.size());
    if (fresh || operation.group == 0) {
      found->second = of_thread.size();
      of_thread.emplace_back();
    }
    of_thread[found->second].push_back(&operation);
  }
  std::unordered_map<std::int64_t, Message> messages;
  for (const auto& [tid, thread] : threads_) {
    const auto told = groups.find(tid);
    if (told == groups.end()) continue;
    auto group = told->second.begin();
    for (std::size_t i = 0; i < thread.launches.size(); ++i) {
      const std::int64_t from_ns = thread.launches[i].time.start_ns;
      while (group != told->second.end() && group->front()->time_ns < from_ns) ++group;
      if (group == told->second.end()) break;
      if (i + 1 < thread.launches.size() && group->front()->time_ns >= thread.launches[i + 1].time.start_ns) continue;
      messages[thread.launches[i].correlation] = message_of(*group);
    }
  }
  return messages;
}

std::unordered_map<std::int64_t, Message> NcclCalls::match() {
  std::unordered_map<std::int64_t, Message> messages;
  const auto by_start = [](const auto& a, const auto& b) { return a.time.start_ns < b.time.start_ns; };
  for (auto& [tid, thread] : threads_) {
    std::stable_sort(thread.ranges.begin(), thread.ranges.end(), by_start);
    std::stable_sort(thread.launches.begin(), thread.launches.end(), by_start);
    std::size_t next = 0, depth = 0;
    // One thread's ranges nest. So launches inside a range come before the next range begins, or lie inside the next
    // range.
    const auto launches_in = [&](const Span& time) {
      std::vector<const Launch*> found;
      while (next < thread.launches.size() && thread.launches[next].time.start_ns < time.start_ns) ++next;
      while (next < thread.launches.size() && thread.launches[next].time.start_ns < time.end_ns)
        found.push_back(&thread.launches[next++]);
      return found;
    };
    std::vector<const Range*> waiting;
    for (const Range& range : thread.ranges) {
      switch (range.kind) {
        case Kind::group_begin:
          ++depth;
          break;
        case Kind::call:
          if (depth > 0)
            waiting.push_back(&range);
          else
            match_group({&range}, launches_in(range.time), messages);
          break;
        case Kind::group_end:
          if (depth > 0) --depth;
          if (depth > 0) break;
          match_group(waiting, launches_in(range.time), messages);
          waiting.clear();
          break;
      }
    }
  }
  return messages;
}

}  // namespace ddpprof::import
