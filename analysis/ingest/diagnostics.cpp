#include "analysis/ingest/diagnostics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ddpprof::ingest {
namespace {

struct Text {
  Severity severity;
  const char* code;
  const char* message;
  const char* advice;
};

Text text_of(trace::DiagnosticCode code) {
  using enum trace::DiagnosticCode;
  switch (code) {
    case cupti_unavailable:
      return {Severity::info, "cupti_unavailable", "no GPU activity was recorded, only ranges of the host",
              "expected on a machine without a GPU; otherwise see 'ddpprof doctor'"};
    case cupti_dropped:
      return {Severity::warning, "cupti_dropped", "CUPTI dropped activity records",
              "GPU times are too low by the dropped activity; measure fewer steps"};
    case cupti_unknown_record:
      return {Severity::info, "cupti_unknown_record", "CUPTI delivered records of kinds that this build cannot decode",
              "they are left out; a newer ddpprof may decode them"};
    case unbalanced_pop:
      return {Severity::warning, "unbalanced_pop", "the program popped NVTX ranges that it had not pushed",
              "check the traced program's push and pop calls"};
    case shard_full:
      return {Severity::error, "shard_full", "the shard was full and later records were dropped",
              "raise DDPPROF_TRACE_MAX_MB, or measure fewer steps"};
    case payload_refused:
      return {Severity::warning, "payload_refused", "NVTX payloads were too large or had an unknown schema",
              "the ranges are recorded without these payloads"};
    case cupti_incomplete:
      return {Severity::warning, "cupti_incomplete", "some GPU activity is missing",
              "GPU times are too low where activity is missing; remove the cause and measure again"};
    case cupti_timestamps:
      return {Severity::info, "cupti_timestamps", "clock of the GPU's times",
              "nothing to do; DDPPROF_CUPTI_TIMESTAMPS=callback or paired selects it"};
    case forked:
      return {Severity::info, "forked", "the process was forked from a recorded process",
              "nothing to do: parent and child have one shard each"};
  }
  return {Severity::warning, "unknown_diagnostic", "the tracer reported a code that this program does not know",
          "use the ddpprof version of the tracer"};
}

const char* to_text(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "info";
}

constexpr std::int64_t second_ns = 1'000'000'000;
// The tracer flushes CUPTI every 0.25 s, and kernels of a training are far shorter.
constexpr std::int64_t silence_ns = 5 * second_ns;
constexpr std::int64_t least_steps_without =
    3;  // the last steps may have no kernels, or end before their kernels start

}  // namespace

void Diagnostics::add(std::optional<std::int64_t> rank, Severity severity, std::string code, std::int64_t count,
                      std::string message, std::string advice) {
  if (rank && *rank < 0) rank.reset();  // a process without a rank
  for (store::DiagnosticRow& row : rows_)
    if (row.rank == rank && row.code == code && row.message == message) {
      row.count += count;
      return;
    }
  store::DiagnosticRow row;
  row.rank = rank;
  row.severity = to_text(severity);
  row.code = std::move(code);
  row.count = count;
  row.message = std::move(message);
  row.advice = std::move(advice);
  rows_.push_back(std::move(row));
}

void Diagnostics::add_shard(std::optional<std::int64_t> rank, const ShardTrace& trace) {
  using enum Severity;
  const auto whole = [](std::uint64_t count) {
    return static_cast<std::int64_t>(std::min<std::uint64_t>(count, INT64_MAX));
  };
  const store::ShardTally& tally = trace.tally;
  // A forked child that trains is a rank. Other forked children are helpers, which usually end by _exit.
  const bool forked = trace.steps.empty() && trace.open_steps == 0 &&
                      std::any_of(trace.diagnostics.begin(), trace.diagnostics.end(),
                                  [](const auto& recorded) { return recorded.code == trace::DiagnosticCode::forked; });
  if (!trace.info.closed)
    add(rank, forked ? info : warning, "unclosed_shard", 1,
        fmt::format("{} {} ({}) on {} {}", forked ? "forked child" : "process", trace.info.pid, trace.info.process,
                    trace.info.host,
                    forked ? "ended by _exit or a signal" : "did not end regularly: it was killed or crashed"),
        forked ? "usual for a child, for example a worker of a data loader; its records until then are kept"
               : "its records until then are kept; see the last lines of its output for the reason");
  if (!tally.sound())
    add(rank, error, "shard_damaged",
        whole(tally.bad_records + tally.bad_chunks + tally.missing_chunks + tally.zero_chunks),
        fmt::format("{} records and {} chunks are damaged, {} chunks missing, {} all zero, {} bytes unreadable, the "
                    "first at byte {}",
                    tally.bad_records, tally.bad_chunks, tally.missing_chunks, tally.zero_chunks, tally.lost_bytes,
                    tally.first_bad_offset.value_or(0)),
        "valid records are kept; check the disk, that the file was copied completely, and that the machine did not "
        "crash");
  if (tally.unknown_records > 0)
    add(rank, warning, "unknown_records", whole(tally.unknown_records),
        "records of types that this program does not know",
        "they are left out; read the shard with the ddpprof version that recorded it");

  if (const std::int64_t left = trace.gpu_markers + trace.correlations + trace.overheads; left > 0)
    add(rank, info, "records_not_kept", left,
        fmt::format("CUPTI records that are not stored: {} markers, {} external correlations, {} overhead records",
                    trace.gpu_markers, trace.correlations, trace.overheads),
        "no report needs them");

  // The header's counters and the diagnostics count the same losses: the larger number is right.
  std::uint64_t dropped = trace.info.dropped_records, cupti_detailed = 0;
  bool full = false;
  for (const RecordedDiagnostic& recorded : trace.diagnostics) {
    if (recorded.code == trace::DiagnosticCode::shard_full) {
      full = true;
      dropped = std::max(dropped, recorded.count);
    } else {
      if (recorded.code == trace::DiagnosticCode::cupti_dropped) cupti_detailed += recorded.count;
      const Text text = text_of(recorded.code);
      add(rank, text.severity, text.code, whole(recorded.count),
          recorded.detail.empty() ? text.message : fmt::format("{}: {}", text.message, recorded.detail), text.advice);
    }
  }
  const auto add_known = [&](trace::DiagnosticCode code, std::uint64_t count) {
    const Text text = text_of(code);
    add(rank, text.severity, text.code, whole(count), text.message, text.advice);
  };
  const store::ShardInfo& shard = trace.info;
  if (dropped > 0 && shard.growth_error != 0)
    add(rank, error, "shard_full", whole(dropped),
        fmt::format("the shard could not grow ({}) and later records were dropped", std::strerror(shard.growth_error)),
        shard.growth_error == EFBIG ? "raise the limit on file sizes (ulimit -f), or measure fewer steps"
        : shard.growth_error == ENOMEM
            ? "raise the limit on memory (ulimit -v), of which a shard takes a sixteenth, or measure fewer steps"
            : "free space on the disk that holds the shards (DDPPROF_TRACE_DIR), or measure fewer steps");
  else if (full || (dropped > 0 && shard.chunks_used >= shard.chunk_capacity))
    add(rank, error, "shard_full", whole(dropped),
        fmt::format("the shard reached its cap of {} MiB and later records were dropped",
                    (trace::shard_header_bytes + shard.chunk_capacity * shard.chunk_bytes + (1u << 20) - 1) >> 20),
        "raise DDPPROF_TRACE_MAX_MB (MiB a process, 1024 if unset), or measure fewer steps");
  else if (dropped > 0)
    add(rank, error, "dropped_records", whole(dropped), "records were dropped while tracing",
        "ranges may be missing in steps; the usual reason is a signal handler that annotates while the tracer writes");
  if (trace.info.dropped_cupti_records > cupti_detailed)
    add_known(trace::DiagnosticCode::cupti_dropped, trace.info.dropped_cupti_records - cupti_detailed);

  add_gpu(rank, trace);
  if (trace.unmatched_ends + trace.unended > 0)
    add(rank, trace.info.closed ? warning : info, "unbalanced_ranges", trace.unmatched_ends + trace.unended,
        fmt::format("{} ranges end without a start, {} start without an end", trace.unmatched_ends, trace.unended),
        trace.info.closed ? "check the traced program's push and pop calls"
                          : "ranges that were open when the process was killed have no end");
  if (trace.impossible_times > 0)
    add(rank, error, "impossible_times", trace.impossible_times,
        "events end before they start, or have times that no machine's uptime reaches",
        "they are left out of all results");
  if (trace.bad_vocabulary > 0)
    add(rank, error, "payload_unreadable", trace.bad_vocabulary, "ranges of ddpprof's worker have no readable payload",
        "worker and ddpprof have different versions, or the schemas were lost: build both from the same source");
  if (trace.repeated_collectives > 0)
    add(rank, warning, "collective_repeated", trace.repeated_collectives,
        "collectives with a communicator and sequence number that were used before; the last one is kept",
        "number the collectives of one process group without restarting");
  if (trace.open_steps > 0)
    add(rank, trace.info.closed ? warning : info, "steps_incomplete", trace.open_steps,
        "steps that started but did not end are not counted", "find out why the process ended early");
}

void Diagnostics::add_gpu(std::optional<std::int64_t> rank, const ShardTrace& trace) {
  if (trace.graph_collectives > 0)
    add(rank, Severity::info, "graph_collectives", trace.graph_collectives,
        "NCCL kernels of replayed CUDA graphs: a replay has no launch marks, so they cannot be assigned to collectives",
        "they count as communication; to see single collectives, measure without CUDA graphs");
  if (trace.gpu.last_ns < trace.gpu.first_ns) return;
  const std::int64_t silent_ns = trace.events.last_ns - trace.gpu.last_ns;
  if (!trace.info.closed)
    add(rank, Severity::warning, "gpu_tail_lost", 1,
        fmt::format("the process ended without a last flush of CUPTI, which is flushed every 0.25 s: the last GPU "
                    "activity is {:.3g} s before the last event, later activity is missing",
                    static_cast<double>(std::max<std::int64_t>(silent_ns, 0)) / static_cast<double>(second_ns)),
        "compare only steps before that time; let the process end regularly, not by _exit, abort or a signal");
  if (!trace.info.closed && silent_ns < silence_ns) return;
  const auto without = std::count_if(trace.steps.begin(), trace.steps.end(),
                                     [&](const StepFact& step) { return step.time.start_ns > trace.gpu.last_ns; });
  if (without >= least_steps_without && without < static_cast<std::int64_t>(trace.steps.size()))
    add(rank, Severity::error, "gpu_stopped", without,
        fmt::format(
            "the last {} of {} steps have no GPU activity, unlike the steps before: recording of the GPU stopped "
            "while the training continued",
            without, trace.steps.size()),
        "another profiler in the process (torch.profiler) has taken over CUPTI: switch it off for this run. The times "
        "of "
        "these steps do not include the GPU");
}

void Diagnostics::add_unmatched(const UnmatchedCollectives& unmatched) {
  if (unmatched.count == 0) return;
  add(std::nullopt, Severity::warning, "collective_unmatched", unmatched.count,
      fmt::format(
          "collectives without a complete record from every rank, the first: communicator {:016x}, sequence {}, "
          "missing rank {}",
          unmatched.first_communicator, unmatched.first_sequence, fmt::join(unmatched.first_missing, ", ")),
      "their skew is unknown; a rank that died or dropped records is the usual reason");
}

std::vector<store::DiagnosticRow> Diagnostics::rows(std::int64_t measurement_id) const {
  std::vector<store::DiagnosticRow> rows = rows_;
  for (store::DiagnosticRow& row : rows) row.measurement_id = measurement_id;
  return rows;
}

}  // namespace ddpprof::ingest
