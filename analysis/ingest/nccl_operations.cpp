#include "analysis/ingest/nccl_operations.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analysis/ingest/definitions.hpp"

namespace ddpprof::ingest {
namespace {

// Names of values that NCCL's newest enumerations have, but its older texts do not.
constexpr std::string_view nameless = "Unknown";

struct Datatype {
  std::string_view nccl, name;
  std::int64_t bytes;
};
constexpr std::array datatypes = {Datatype{"ncclInt8", "int8", 1},
                                  Datatype{"ncclUint8", "uint8", 1},
                                  Datatype{"ncclInt32", "int32", 4},
                                  Datatype{"ncclUint32", "uint32", 4},
                                  Datatype{"ncclInt64", "int64", 8},
                                  Datatype{"ncclUint64", "uint64", 8},
                                  Datatype{"ncclFloat16", "float16", 2},
                                  Datatype{"ncclFloat32", "float32", 4},
                                  Datatype{"ncclFloat64", "float64", 8},
                                  Datatype{"ncclBfloat16", "bfloat16", 2},
                                  Datatype{"ncclFloat8e4m3", "float8e4m3", 1},
                                  Datatype{"ncclFloat8e5m2", "float8e5m2", 1}};

// The function is stored from this bit on. All-reduces, the most frequent ones, have 0 there: their numbers equal
// NCCL's.
constexpr unsigned function_bit = 48;
constexpr std::array<std::string_view, 9> functions = {
    "AllReduce", "Broadcast", "Reduce", "AllGather", "ReduceScatter", "SendRecv", "AlltoAll", "Scatter", "Gather"};
std::uint64_t code_of(std::string_view function) {
  return static_cast<std::uint64_t>(std::ranges::find(functions, function) - functions.begin());
}

std::optional<std::string> known(std::string_view text) {
  if (text.empty() || text == nameless) return std::nullopt;
  return std::string(text);
}

std::int64_t size_of(std::uint64_t count, std::int64_t element_bytes) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (element_bytes == 0 || count > most / static_cast<std::uint64_t>(element_bytes)) return 0;
  return static_cast<std::int64_t>(count) * element_bytes;
}

}  // namespace

void NcclChoice::meet(const NcclChoice& other) {
  const auto keep = [](auto& mine, const auto& theirs) {
    if (mine != theirs) mine.reset();
  };
  keep(datatype, other.datatype);
  keep(algorithm, other.algorithm);
  keep(protocol, other.protocol);
  keep(channels, other.channels);
}

void NcclOperations::add(const trace::NcclChannelRecord& record) {
  Channel& channel = channels_[record.event];
  (record.ended == 0 ? channel.begin : channel.end) = record;
}

std::vector<NcclOperationFact> NcclOperations::finish(const Definitions& definitions) {
  std::stable_sort(operations_.begin(), operations_.end(), [](const Recorded& a, const Recorded& b) {
    return std::pair(a.record.header.time_ns, a.record.operation) <
           std::pair(b.record.header.time_ns, b.record.operation);
  });
  std::vector<NcclOperationFact> facts;
  facts.reserve(operations_.size());
  for (const auto& [record, tid] : operations_) {
    NcclOperationFact fact;
    fact.time_ns = record.header.time_ns;
    fact.tid = tid;
    fact.group = record.group;
    if (const auto communicator = communicators_.find(record.communicator); communicator != communicators_.end()) {
      fact.communicator = communicator->second.hash;
      fact.ranks = std::max(0, communicator->second.ranks);
    }
    fact.function = definitions.text(record.header.name_id);
    const std::string_view type = definitions.text(record.datatype_id);
    if (const auto found = std::ranges::find(datatypes, type, &Datatype::nccl); found != datatypes.end()) {
      fact.choice.datatype = found->name;
      fact.bytes = size_of(record.count, found->bytes);
    }
    fact.choice.algorithm = known(definitions.text(record.algorithm_id));
    fact.choice.protocol = known(definitions.text(record.protocol_id));
    if (record.channels > 0) fact.choice.channels = record.channels;
    fact.message = (record.flags & trace::nccl_point_to_point) != 0;
    fact.captured = (record.flags & trace::nccl_captured) != 0;
    facts.push_back(std::move(fact));
  }
  number(facts);
  place(facts);
  return facts;
}

void NcclOperations::number(std::vector<NcclOperationFact>& facts) const {
  struct Counts {
    std::map<std::string_view, std::uint64_t> next;  // by function
    bool sound = true;
  };
  std::map<std::uint64_t, Counts> all;
  const auto counted = [](const NcclOperationFact& fact) { return !fact.message && fact.communicator; };
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (!counted(facts[i])) continue;
    Counts& counts = all[*facts[i].communicator];
    const std::uint64_t sequence = operations_[i].record.sequence;
    const auto [next, fresh] = counts.next.try_emplace(facts[i].function, sequence);
    if (facts[i].captured || sequence < next->second || sequence >> function_bit != 0) counts.sound = false;
    next->second = sequence + 1;
  }
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (counted(facts[i]) && all[*facts[i].communicator].sound)
      facts[i].number = code_of(facts[i].function) << function_bit | operations_[i].record.sequence;
}

void NcclOperations::place(std::vector<NcclOperationFact>& facts) const {
  struct Ends {
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max(), last = 0;
    std::int64_t least_late_ns = std::numeric_limits<std::int64_t>::max();  // host's clock minus the GPU's timer
    bool whole = true;
  };
  std::unordered_map<std::uint64_t, Ends> runs;  // by operation
  for (const auto& [event, channel] : channels_) {
    if (!channel.begin) continue;
    Ends& ends = runs[channel.begin->operation];
    if (!channel.end || channel.begin->timer_ns == 0 || channel.end->timer_ns < channel.begin->timer_ns) {
      ends.whole = false;  // the process died while it ran
      continue;
    }
    ends.first = std::min(ends.first, channel.begin->timer_ns);
    ends.last = std::max(ends.last, channel.end->timer_ns);
    for (const trace::NcclChannelRecord* seen : {&*channel.begin, &*channel.end})
      ends.least_late_ns =
          std::min(ends.least_late_ns, seen->header.time_ns - static_cast<std::int64_t>(seen->timer_ns));
  }
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const auto found = runs.find(operations_[i].record.operation);
    if (found == runs.end() || !found->second.whole || found->second.last < found->second.first) continue;
    const Ends& ends = found->second;
    facts[i].run = Interval{static_cast<std::int64_t>(ends.first) + ends.least_late_ns,
                            static_cast<std::int64_t>(ends.last) + ends.least_late_ns};
  }
}

}  // namespace ddpprof::ingest
