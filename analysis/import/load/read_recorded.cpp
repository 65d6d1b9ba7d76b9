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
    conclude(trace, options.training, result);
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
      result.notes.push_back(
          {ingest::Severity::warning, "nccl_disagrees", process.recorded.nccl_disagreements,
           "kernels whose NVTX range and NCCL's profiler plugin name another operation, communicator "
           "or size; the plugin's word is kept",
           "compare with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=COLL if it matters which is right"});
    if (process.recorded.nccl_channel_times > 0)
      result.notes.push_back(
          {ingest::Severity::info, "nccl_channel_times", process.recorded.nccl_channel_times,
           "collectives timed by NCCL itself, as CUPTI recorded no kernel: the GPU's own timer from "
           "the first channel's begin to the last one's end, laid onto the host's clock where NCCL's "
           "proxy thread saw it soonest",
           "durations hold; where a collective lies may be late by that thread's polling. See "
           "cupti_unavailable for what keeps CUPTI from recording"});
    if (process.bounds) result.notes.push_back(*process.bounds);
    if (process.steps_by_repetition)
      result.notes.push_back({ingest::Severity::info, "steps_by_repetition",
                              static_cast<std::int64_t>(shard.steps.size()),
                              fmt::format("no range is called a step; \"{}\" comes again and again and covers most of "
                                          "the time, so its ranges are taken for the steps",
                                          process.step_name),
                              "annotate steps with their number: nvtx.push_range(f\"step {i}\")"});
    if (process.phases_by_threads > 0)
      result.notes.push_back({ingest::Severity::info, "phases_by_threads", process.phases_by_threads,
                              "no range tells the phases: backward is what autograd's thread launched, the optimizer "
                              "what the main thread launched behind it, forward the rest",
                              "annotate forward, backward and optimizer for exact bounds"});
    return result;
  } catch (const store::ShardError& error) {
    throw ImportError(error.what());
  }
}

}  // namespace ddpprof::import
