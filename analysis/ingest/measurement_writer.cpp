#include "analysis/ingest/measurement_writer.hpp"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tracer/store/rows/inserter.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::ingest {
namespace {

// Processes of the same boot share one clock, so their exchanges apply to each other. A shard's own exchanges come
// first.
std::vector<store::ClockExchange> exchanges_of(const LoadedShard& shard, std::span<const LoadedShard> shards) {
  if (!shard.trace.exchanges.empty()) return shard.trace.exchanges;
  std::vector<store::ClockExchange> all;
  for (const LoadedShard& other : shards)
    if (!shard.trace.info.boot_id.empty() && other.trace.info.boot_id == shard.trace.info.boot_id)
      all.insert(all.end(), other.trace.exchanges.begin(), other.trace.exchanges.end());
  return all;
}

std::string_view why_unknown(const LoadedShard* reference, const LoadedShard& shard) {
  if (!reference) return "rank 0 recorded nothing";
  if (shard.clock)
    return "they have fewer than 3 collectives in common that agree in kind and size, or the times of these contradict "
           "each other";
  return "its host is another one or was restarted, and recorded no exchange with rank 0";
}

}  // namespace

std::int64_t next_id(store::Database& database, const char* table) {
  return store::last_row(database.sql(), table) + 1;
}

void MeasurementWriter::write_shards(std::span<const LoadedShard> shards) {
  store::Inserter<store::ShardRow> rows(database_);
  store::Inserter<store::ThreadRow> threads(database_);
  const LoadedShard* reference = nullptr;
  for (const LoadedShard& shard : shards)
    if (shard.rank == 0 && (!reference || (reference->steps == 0 && shard.steps > 0))) reference = &shard;
  for (const LoadedShard& shard : shards) {
    const store::ShardInfo& info = shard.trace.info;
    const bool same_boot =
        reference && (reference == &shard || (!info.boot_id.empty() && info.boot_id == reference->trace.info.boot_id));
    const store::ClockAlignment clock =
        shard.clock ? *shard.clock : store::align_clock(exchanges_of(shard, shards), same_boot, shard.trace.events);
    if (clock.reference == store::ClockReference::unknown)
      diagnostics_.add(shard.rank, Severity::warning, "clock_unknown", 1,
                       fmt::format("the clock of {} has no known relation to rank 0's: {}",
                                   info.host.empty() ? fmt::format("rank {}", shard.rank)
                                   : shard.rank >= 0 ? fmt::format("rank {} ({})", shard.rank, info.host)
                                                     : info.host,
                                   why_unknown(reference, shard)),
                       "times of this rank cannot be laid beside other ranks'; durations and skew are not affected");
    store::ShardRow row;
    row.id = shard.shard_id;
    row.measurement_id = measurement_id_;
    row.rank = shard.rank;
    row.host = info.host;
    row.boot_id = info.boot_id;
    row.pid = info.pid;
    row.process = info.process;
    row.closed = info.closed;
    row.clock_reference = store::to_string(clock.reference);
    row.clock_offset_ns = clock.offset_ns;
    row.clock_drift_ppb = clock.drift_ppb;
    row.clock_at_ns = clock.at_ns;
    row.clock_uncertainty_ns = clock.uncertainty_ns;
    row.measured_offset_ns = clock.measured_offset_ns;
    row.raw_kept = shard.raw_kept;
    rows.insert(row);
    for (const auto& [tid, name] : shard.trace.thread_names) threads.insert({shard.shard_id, tid, name});
  }
}

void MeasurementWriter::write_model(std::span<const LoadedShard> shards) {
  const LoadedShard* parameters = nullptr;
  const LoadedShard* members = nullptr;
  for (const LoadedShard& shard : shards) {
    if (shard.rank < 0) continue;
    if (!shard.trace.parameters.empty() && (!parameters || shard.rank < parameters->rank)) parameters = &shard;
    if (!shard.trace.members.empty() && (!members || shard.rank < members->rank)) members = &shard;
  }
  if (parameters) {
    store::Inserter<store::ParameterRow> rows(database_);
    std::set<std::int64_t> seen;
    for (const ParameterFact& fact : parameters->trace.parameters)
      if (seen.insert(fact.index).second) rows.insert({measurement_id_, fact.index, fact.name, fact.numel, fact.bytes});
  }
  if (members) {
    store::Inserter<store::BucketRow> rows(database_);
    std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> buckets;
    for (const MemberFact& fact : members->trace.members) {
      auto& bucket = buckets[{fact.generation, fact.bucket}];
      const auto position = static_cast<std::int64_t>(bucket.size());
      if (bucket.insert(fact.parameter).second)
        rows.insert({measurement_id_, fact.generation, fact.bucket, position, fact.parameter});
    }
  }
}

std::int64_t MeasurementWriter::write_steps(std::span<LoadedShard> shards) {
  store::Inserter<store::StepRow> steps(database_);
  store::Inserter<store::PhaseRow> phases(database_);
  store::Inserter<store::GradReadyRow> grads(database_);
  std::int64_t count = 0;
  for (LoadedShard& shard : shards) {
    if (shard.rank < 0) continue;
    std::vector<std::int64_t> step_ids;
    for (StepSummary& summary : shard.summary.steps) {
      summary.row.shard_id = shard.shard_id;
      const std::int64_t id = steps.insert(summary.row);
      summary.row.id = id;
      step_ids.push_back(id);
      for (store::PhaseRow& phase : summary.phases) {
        phase.step_id = id;
        phases.insert(phase);
      }
      for (store::GradReadyRow& grad : summary.grads) {
        grad.step_id = id;
        grads.insert(grad);
      }
    }
    shard.steps = static_cast<std::int64_t>(step_ids.size());
    count += shard.steps;
    write_collectives(shard, step_ids);
  }
  return count;
}

void MeasurementWriter::write_collectives(const LoadedShard& shard, const std::vector<std::int64_t>& step_ids) {
  store::Inserter<store::CollectiveRow> rows(database_);
  for (const CollectiveSummary& collective : shard.summary.collectives) {
    const CollectiveFact& fact = collective.fact;
    store::CollectiveRow row;
    row.shard_id = shard.shard_id;
    if (collective.step) row.step_id = step_ids[*collective.step];
    row.communicator = std::bit_cast<std::int64_t>(fact.communicator);
    row.sequence = std::bit_cast<std::int64_t>(fact.sequence);
    row.op = collective_op_text(fact.op);
    row.bucket = fact.bucket;
    row.bytes = fact.bytes;
    row.ready_ns = collective.ready_ns;
    row.launch_ns = fact.launch_ns ? *fact.launch_ns : *fact.start_ns;
    row.start_ns = fact.start_ns;
    row.end_ns = fact.end_ns;
    row.transfer_ns = collective.transfer_ns;
    row.skew_ns = collective.skew_ns;
    row.datatype = fact.choice.datatype;
    row.algorithm = fact.choice.algorithm;
    row.protocol = fact.choice.protocol;
    row.channels = fact.choice.channels;
    row.peer = fact.details.peer;
    if (fact.details.asynchronous) row.asynchronous = *fact.details.asynchronous ? 1 : 0;
    row.largest_split = fact.details.largest_split;
    rows.insert(row);
  }
}

}  // namespace ddpprof::ingest
