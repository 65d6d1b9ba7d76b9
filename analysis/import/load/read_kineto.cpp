#include <fmt/format.h>

#include <memory>
#include <system_error>
#include <utility>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/bytes/read_ahead.hpp"
#include "analysis/import/json/trace_reader.hpp"
#include "analysis/import/kineto/kineto_reader.hpp"
#include "analysis/import/load/read_rank.hpp"

namespace ddpprof::import {
namespace {

using ingest::Severity;

void report_refused(const KinetoReader& reader, const TraceTally& tally, ReadRank& result) {
  for (const auto& [why, refused] : reader.refused())
    result.notes.push_back({Severity::warning, "bad_event", refused.count,
                            fmt::format("left out: {} (the first at byte {})", why, refused.first_offset),
                            "the valid events are imported; record the trace again if many are missing"});
  if (!tally.complete && tally.saw_events)
    result.notes.push_back(
        {Severity::warning, "truncated", 1,
         fmt::format("the file ends after {} bytes, inside the trace", tally.text_bytes),
         "the profiler was stopped while it wrote, or the file was cut off; the part in the file is imported"});
  if (tally.long_members > 0)
    result.notes.push_back({Severity::info, "member_too_long", tally.long_members,
                            "members besides the events that are too long to describe a job; they are not read",
                            "rank and devices are in short members, which were read"});
  std::int64_t passed = 0;
  std::string kinds;
  for (const auto& [kind, count] : reader.passed_over()) {
    passed += count;
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
  }
  if (passed > 0)
    result.notes.push_back({Severity::info, "events_not_read", passed,
                            fmt::format("events of kinds that are not read: {}", kinds),
                            "not needed: arrows are drawn from correlation ids, and memory events of a CPU count only "
                            "from the profile's start"});
}

// For a file without a valid event.
std::string why_unusable(const KinetoReader& reader, const TraceTally& tally, bool compressed) {
  std::int64_t count = 0;
  std::string first_why;
  std::uint64_t first_offset = UINT64_MAX;
  for (const auto& [why, refused] : reader.refused()) {
    count += refused.count;
    if (refused.first_offset >= first_offset) continue;
    first_why = why;
    first_offset = refused.first_offset;
  }
  if (!tally.saw_events)
    return "it is not a trace: " + (count > 0 ? first_why : "no array of events") +
           (compressed ? ". A compressed log of nccl-tests must be unpacked first" : "");
  if (const auto begins = reader.passed_over().find("ph B"); count == 0 && begins != reader.passed_over().end())
    return fmt::format(
        "its operations are pairs of a begin and an end ({} events of ph B), which are not read: only "
        "complete events (ph X) are",
        begins->second);
  if (count == 0) return "it has no event of an operation or a device";
  return fmt::format("it has no valid event: {} left out, the first at byte {}: {}", count, first_offset, first_why);
}

// Reads and decompresses in a thread of its own, if one can be started.
std::unique_ptr<ByteSource> bytes_of(const std::filesystem::path& path) {
  try {
    return std::make_unique<ReadAhead>(open_bytes(path));
  } catch (const std::system_error&) {
    return open_bytes(path);
  }
}

}  // namespace

ReadRank read_kineto_file(const std::filesystem::path& path, const ReadOptions& options, RawSink* sink,
                          std::size_t source) {
  const std::unique_ptr<ByteSource> bytes = bytes_of(path);
  RankTrace rank(options.sort);
  RawCollector raw(rank.names, sink, source);
  KinetoReader reader(rank, raw);
  std::uint64_t before = 0;
  const TraceTally tally = read_trace(
      [&](std::span<char> into) {
        const std::size_t got = bytes->read(std::as_writable_bytes(into));
        if (options.progress != nullptr) {
          if (options.progress->stop) throw ImportStopped();
          options.progress->read_bytes += bytes->consumed() - std::exchange(before, bytes->consumed());
        }
        return got;
      },
      reader);
  reader.finish();
  const std::string name = path.filename().string();
  const std::optional<std::string> problem = bytes->problem();
  if (reader.taken() == 0) {
    const bool compressed = name.ends_with(".gz") || name.ends_with(".zst");
    const std::string why = problem ? *problem : why_unusable(reader, tally, compressed);
    throw ImportError(fmt::format("{}: {} (expected a PyTorch profiler's trace, JSON with traceEvents)", name, why));
  }
  if (const std::string why = reader.several_ranks(); !why.empty())
    throw ImportError(
        fmt::format("{}: it has several ranks: {} (expected one file per rank; import the files from "
                    "which it was merged, or split it by process)",
                    name, why));
  ReadRank result;
  result.file = path;
  result.source = source;
  if (problem)
    result.notes.push_back({Severity::warning, "file_damaged", 1, *problem, "the part before it is imported"});
  if (const auto remark = bytes->remark())
    result.notes.push_back({Severity::info, "file_remark", 1, *remark, "no event is lost"});
  report_refused(reader, tally, result);
  if (rank.contradicted_world_size > 0)
    result.notes.push_back(
        {Severity::warning, "world_size_contradicted", 1,
         fmt::format("distributedInfo states a world size of {}, but process groups of the trace have more ranks: {} is "
                     "used, the fewest ranks that these groups need",
                     rank.contradicted_world_size, rank.world_size.value_or(1)),
         "throughput, global batch, learning rate and predictions are those of this number; --workers gives another"});
  else if (rank.identity_by_collectives)
    result.notes.push_back(
        {Severity::info, "identity_by_collectives", 1,
         fmt::format("distributedInfo does not give rank and number of ranks: according to the groups of the "
                     "collectives this is {} of {} ranks",
                     rank.rank ? fmt::format("rank {}", *rank.rank) : "one", rank.world_size.value_or(1)),
         "a group that the profile did not record may be larger"});
  result.events = reader.taken();
  fill_rank(rank, options.training, result);
  return result;
}

}  // namespace ddpprof::import
