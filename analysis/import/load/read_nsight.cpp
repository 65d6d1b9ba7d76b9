#include <fmt/format.h>

#include "analysis/import/load/inputs.hpp"
#include "analysis/import/load/read_rank.hpp"
#include "analysis/import/nsight/nsight_reader.hpp"

namespace ddpprof::import {
std::vector<ReadRank> read_nsight_file(const std::filesystem::path& path, const ReadOptions& options, RawSink* sink,
                                       std::size_t source) {
  const std::string name = path.filename().string();
  const std::string expected = "(expected what 'nsys export --type sqlite' writes of a report with CUDA events)";
  std::unique_ptr<NsightFile> file;
  try {
    file = std::make_unique<NsightFile>(path);
  } catch (const NotAnExport& why) {
    throw ImportError(fmt::format("{}: {} {}", name, why.what(), expected));
  }
  NsightReader reader(*file, options.sort, sink, source);
  reader.read();
  if (reader.ranks().empty())
    throw ImportError(fmt::format("{}: it has no valid kernel (damaged events: {}{}) {}", name,
                                  reader.refused_events(), file->truncated() ? ", and the file is cut off" : "",
                                  expected));
  const bool several = reader.ranks().size() > 1;
  std::vector<ReadRank> results;
  for (const auto& rank : reader.ranks()) {
    RankTrace& trace = rank->trace;
    ReadRank result;
    result.file = path;
    result.source = rank->source;
    if (several) result.part = fmt::format("device {} of process {}", rank->place.device, pid_of(rank->place.process));
    result.events = trace.events;
    fill_rank(trace, options.training, result);
    results.push_back(std::move(result));
  }
  results.front().notes = reader.notes();
  if (several && results.front().rank) {
    std::string who;
    for (const ReadRank& rank : results)
      who += fmt::format("{}{} is rank {} of {}", who.empty() ? "" : ", ", rank.part, rank.rank.value_or(-1),
                         rank.world_size.value_or(0));
    results.front().notes.push_back(
        {ingest::Severity::info, "ranks_of_a_file", static_cast<std::int64_t>(results.size()),
         "according to NCCL's communicators " + who, "a rank is a process and a device that ran its kernels"});
  }
  return results;
}

void fill_rank(RankTrace& trace, const TrainingOptions& options, ReadRank& result) {
  result.training = derive_training(trace, options);
  for (const auto& [key, totals] : trace.slices.totals())
    result.kernels.push_back({trace.names.text(key.first), key.second, totals});
  if (trace.slices.out_of_bounds() > 0) result.device_bounds = trace.slices.bounds();
  result.pid = trace.pid;
  result.rank = trace.rank;
  result.world_size = trace.world_size;
  result.world_size_stated = trace.world_size_stated;
  result.recorded_batch = trace.job && trace.job->batch > 0 ? trace.job->batch : trace.batch;
  result.backend = trace.backend;
  result.base_ns = trace.base_ns;
  result.devices = trace.devices;
  result.versions = trace.versions;
  result.job = trace.job;
  result.optimizer = trace.job && !trace.job->optimizer.empty() ? trace.job->optimizer : trace.optimizer;
}

std::size_t most_ranks(const std::filesystem::path& path) {
  return kind_of(path) == FileKind::sqlite ? NsightReader::most_ranks : 1;
}

std::vector<ReadRank> read_ranks(const std::filesystem::path& path, const ReadOptions& options, RawSink* sink,
                                 std::size_t source) {
  const FileKind kind = kind_of(path);
  if (kind == FileKind::sqlite) return read_nsight_file(path, options, sink, source);
  std::vector<ReadRank> ranks;
  ranks.push_back(kind == FileKind::shard ? read_recorded_file(path, options, sink, source)
                                          : read_kineto_file(path, options, sink, source));
  return ranks;
}

}  // namespace ddpprof::import
