#include <fmt/format.h>

#include <utility>

#include "analysis/import/load/read_rank.hpp"
#include "analysis/import/recorded/bounds.hpp"
#include "analysis/import/recorded/recorded_process.hpp"

namespace ddpprof::import {

ReadRank read_recorded_file(const std::filesystem::path& path, const ReadOptions& options, RawSink* sink,
                            std::size_t source) {
  const std::string name = path.filename().string();
  try {
    RecordedProcess process = read_recorded(path, options.sort, sink, source);
    RankTrace& trace = process.trace;
    if (trace.events == 0 && process.bounds)
      throw ImportError(fmt::format("{}: nothing was kept of process {} ({}): {}", name, trace.pid, trace.process,
                                    why_nothing_was_kept(process.recorded.info.bounds)));
    if (trace.events == 0)
      throw ImportError(fmt::format("{}: process {} ({}) recorded no event (expected NVTX ranges or work of a GPU)",
                                    name, trace.pid, trace.process));
    ReadRank result;
    result.file = path;
    result.source = source;
    result.recorded = true;
    result.events = trace.events;
    fill_rank(trace, options.training, result);
    // Joins the shard's header data with the training computed from it.
    ingest::ShardTrace& shard = result.training.shard;
    shard.info = std::move(process.recorded.info);
    result.clock = shard.info.boot_id;
    shard.tally = process.recorded.tally;
    shard.thread_names = std::move(process.recorded.thread_names);
    shard.diagnostics = std::move(process.recorded.diagnostics);
    shard.unmatched_ends = process.recorded.unmatched_ends;
    shard.unended = process.recorded.unended;
    shard.gpu = process.recorded.gpu;
    shard.impossible_times = process.recorded.impossible_times;
    shard.nccl_channel_times = process.recorded.nccl_channel_times;
    if (process.recorded.nccl_disagreements > 0)
      result.notes.push_back({ingest::Severity::warning, "nccl_disagrees", process.recorded.nccl_disagreements,
                              "kernels for which the NVTX range and NCCL's profiler plugin disagree about operation, "
                              "communicator or size; the plugin's values are used",
                              "compare with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL if it matters which is right"});
    if (process.recorded.nccl_channel_times > 0)
      result.notes.push_back({ingest::Severity::info, "nccl_channel_times", process.recorded.nccl_channel_times,
                              "collectives timed by NCCL itself, because CUPTI recorded no kernel: by the GPU's timer, "
                              "from the first channel's begin to the last channel's end, placed on the host's clock at "
                              "the earliest time that NCCL's proxy thread observed",
                              "durations are exact; a collective's start may be late by that thread's polling "
                              "interval. See cupti_unavailable for the reason why CUPTI did not record"});
    if (process.bounds) result.notes.push_back(*process.bounds);
    if (process.steps_by_repetition)
      result.notes.push_back({ingest::Severity::info, "steps_by_repetition",
                              static_cast<std::int64_t>(shard.steps.size()),
                              fmt::format("no range is named like a step; the ranges \"{}\" are used as steps, because "
                                          "they repeat and cover most of the time",
                                          process.step_name),
                              "annotate steps with their number: nvtx.push_range(f\"step {i}\")"});
    if (process.phases_by_threads > 0)
      result.notes.push_back({ingest::Severity::info, "phases_by_threads", process.phases_by_threads,
                              "no range marks the phases: backward is the work launched by autograd's thread, the "
                              "optimizer is the work launched by the main thread after it, and forward is the rest",
                              "annotate forward, backward and optimizer for exact bounds"});
    return result;
  } catch (const store::ShardError& error) {
    throw ImportError(error.what());
  }
}

}  // namespace ddpprof::import
