#include "analysis/import/nsight/nsight_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/collectives/kernel_families.hpp"

namespace ddpprof::import {
namespace {

using ingest::Severity;

constexpr std::string_view kernels = "CUPTI_ACTIVITY_KIND_KERNEL";
constexpr std::size_t usual_ranks = 8;  // per machine

// Returns the name of a copy as in CUPTI's other output, "[CUDA memcpy HtoD]"; the index is CUpti_ActivityMemcpyKind.
std::string_view copy_name(std::int64_t kind) {
  static constexpr std::array<std::string_view, 14> names{
      "Memcpy unknown", "Memcpy HtoD",      "Memcpy DtoH",      "Memcpy HtoA",     "Memcpy AtoH",
      "Memcpy AtoA",    "Memcpy AtoD",      "Memcpy DtoA",      "Memcpy DtoD",     "Memcpy HtoH",
      "Memcpy PtoP",    "Memcpy HtoD (UM)", "Memcpy DtoH (UM)", "Memcpy DtoD (UM)"};
  return kind >= 0 && kind < static_cast<std::int64_t>(names.size()) ? names[static_cast<std::size_t>(kind)] : names[0];
}

}  // namespace

NsightReader::NsightReader(NsightFile& file, const SortOptions& sort, RawSink* sink, std::size_t first_source)
    : file_(file),
      sort_(sort),
      sink_(sink),
      first_source_(first_source),
      session_(read_session(file)),
      strings_(file),
      schemas_(file) {
  sort_.bound_bytes = std::max<std::size_t>(sort.bound_bytes / usual_ranks, 1);
}

void NsightReader::note(Severity severity, std::string code, std::int64_t count, std::string message,
                        std::string advice) {
  notes_.push_back({severity, std::move(code), count, std::move(message), std::move(advice)});
}

void NsightReader::refuse(std::string_view table, std::string_view why, std::int64_t row) {
  Refused& refused = refused_[{std::string(table), std::string(why)}];
  if (refused.count++ == 0) refused.first_row = row;
}

std::int64_t NsightReader::refused_events() const {
  std::int64_t count = 0;
  for (const auto& [where, refused] : refused_) count += refused.count;
  return count;
}

void NsightReader::ended(const Scan& scan, std::string_view table) {
  if (!scan.problem()) return;
  note(Severity::warning, "file_damaged", 1,
       fmt::format("{} could be read only as far as its row {} ({})", table, scan.rows(), *scan.problem()),
       "the part before it is imported; copy the file again, or export the report again");
}

void NsightReader::read() {
  if (file_.truncated())
    note(Severity::warning, "truncated", 1, "the file is shorter than its header states",
         "the part in the file is imported; copy it again from its source");
  if (file_.schema_damage())
    note(Severity::warning, "file_damaged", 1,
         fmt::format("the list of tables could be read only in part ({}): further tables are missing",
                     *file_.schema_damage()),
         "the known tables are imported; copy the file again, or export the report again");
  read_kernels();
  read_graphs();
  if (ranks_.empty()) return;
  order_ranks();
  read_copies("CUPTI_ACTIVITY_KIND_MEMCPY", Work::copy);
  read_copies("CUPTI_ACTIVITY_KIND_MEMSET", Work::set);
  read_calls("CUPTI_ACTIVITY_KIND_RUNTIME", false);
  read_calls("CUPTI_ACTIVITY_KIND_DRIVER", true);
  read_nvtx();
  finish_ranks();
  report_missing_data();
}

std::optional<Span> NsightReader::time_of(const Scan& scan, std::string_view table) {
  const auto start_ns = scan.integer(0), end_ns = scan.integer(1);
  const auto refused = [&](std::string_view why) {
    refuse(table, why, scan.rowid());
    return std::nullopt;
  };
  if (!start_ns) return refused("an event without a start");
  if (!end_ns) return refused("an event without an end");
  if (*end_ns < *start_ns) return refused("an end before its start");
  if (*start_ns < earliest_ns || *end_ns >= latest_ns || !sound_time(*start_ns, *end_ns))
    return refused("an impossible time");
  return Span{*start_ns, *end_ns};
}

void NsightReader::report_invalid_size(std::string_view table, const Scan& scan) {
  refuse(table, "an invalid size, which counts as not recorded", scan.rowid());
}

std::int64_t NsightReader::size_in(const Scan& scan, int column, std::string_view table) {
  const std::int64_t size = scan.integer(column).value_or(0);
  if (size >= 0 && size <= most_bytes) return size;
  report_invalid_size(table, scan);
  return 0;
}

std::int32_t NsightReader::stream_in(const Scan& scan, std::string_view table) {
  const std::int64_t stream = scan.integer(4).value_or(0);
  if (stream >= INT32_MIN && stream <= INT32_MAX) return static_cast<std::int32_t>(stream);
  refuse(table, "an invalid stream number, which counts as stream 0", scan.rowid());
  return 0;
}

std::optional<RankPlace> NsightReader::place_of(const Scan& scan, std::string_view table, int process, int device) {
  const auto id = scan.integer(process), number = scan.integer(device);
  if (!number || *number < 0 || *number > INT32_MAX) {
    refuse(table, "an event without its device", scan.rowid());
    return std::nullopt;
  }
  if (one_process_) return RankPlace{0, *number};
  if (!id) {
    refuse(table, "an event without its process", scan.rowid());
    return std::nullopt;
  }
  return RankPlace{process_of(*id), *number};
}

NsightRank* NsightReader::rank_at(const RankPlace& place, bool create) {
  const auto found = places_.find({place.process, place.device});
  if (found != places_.end()) return found->second;
  if (!create || ranks_.size() == most_ranks) return nullptr;
  ranks_.push_back(std::make_unique<NsightRank>(place, sort_, sink_, first_source_ + ranks_.size()));
  NsightRank* rank = ranks_.back().get();
  places_.emplace(std::pair(place.process, place.device), rank);
  processes_[place.process].ranks.push_back(rank);
  return rank;
}

NsightReader::Process* NsightReader::process_at(std::int64_t process) {
  const auto found = processes_.find(one_process_ ? 0 : process);
  if (found != processes_.end()) return &found->second;
  ++elsewhere_;
  return nullptr;
}

std::uint32_t NsightReader::name_of(NsightRank& rank, std::optional<std::int64_t> id, std::optional<std::int64_t> other,
                                    std::string_view table, std::int64_t row) {
  if (id)
    if (const auto known = rank.names.find(*id); known != rank.names.end()) return known->second;
  for (const auto& candidate : {id, other}) {
    if (!candidate) continue;
    const std::string* text = strings_.find(*candidate);
    if (!text || text->empty()) continue;
    std::string_view name = *text;
    // "cudaLaunchKernel_v7000": the version of the interface is removed.
    if (name.starts_with("cu"))
      if (const std::size_t version = name.rfind("_v");
          version != std::string_view::npos && version + 2 < name.size() &&
          name.find_first_not_of("0123456789", version + 2) == std::string_view::npos)
        name = name.substr(0, version);
    const std::uint32_t result = rank.trace.names.intern(name);
    if (id) rank.names.emplace(*id, result);
    return result;
  }
  refuse(table, "a name whose text is not in the file; it is shown as \"unknown\"", row);
  return rank.trace.names.intern("unknown");
}

void NsightReader::read_kernels() {
  if (!file_.has(kernels)) return;
  one_process_ = !file_.has(kernels, "globalPid");
  static constexpr std::array<std::string_view, 18> columns{"start",
                                                            "end",
                                                            "deviceId",
                                                            "globalPid",
                                                            "streamId",
                                                            "correlationId",
                                                            "demangledName",
                                                            "shortName",
                                                            "registersPerThread",
                                                            "gridX",
                                                            "gridY",
                                                            "gridZ",
                                                            "blockX",
                                                            "blockY",
                                                            "blockZ",
                                                            "staticSharedMemory",
                                                            "dynamicSharedMemory",
                                                            "mangledName"};
  Scan scan(file_, kernels, columns);
  while (scan.next()) {
    const std::optional<Span> time = time_of(scan, kernels);
    if (!time) continue;
    const std::optional<RankPlace> place = place_of(scan, kernels, 3, 2);
    if (!place) continue;
    NsightRank* rank = rank_at(*place, true);
    if (!rank) {
      ++too_many_;
      continue;
    }
    const auto whole = [&](int column) { return scan.integer(column).value_or(0); };
    RawSlice raw;
    raw.slice.start_ns = time->start_ns;
    raw.slice.end_ns = time->end_ns;
    std::optional<std::int64_t> name = scan.integer(6), other = scan.integer(7);
    if (!name) name = std::exchange(other, scan.integer(17));
    raw.slice.name = name_of(*rank, name, other, kernels, scan.rowid());
    raw.slice.device = static_cast<std::int32_t>(place->device);
    raw.slice.stream = stream_in(scan, kernels);
    const std::string& text = rank->trace.names.text(raw.slice.name);
    const bool collective = rank->collective_kernel.of(raw.slice.name, text);
    raw.slice.work = collective ? Work::communication : Work::compute;
    const std::optional<std::int64_t> correlation = scan.integer(5);
    raw.correlation = correlation.value_or(-1);
    const auto volume = [&](int column) {
      const std::int64_t x = whole(column), y = whole(column + 1), z = whole(column + 2),
                         product = product_of({x, y, z});
      if (product == 0 && x != 0 && y != 0 && z != 0) report_invalid_size(kernels, scan);
      return product;
    };
    raw.grid = volume(9);
    raw.block = volume(12);
    raw.registers = size_in(scan, 8, kernels);
    raw.shared_bytes = size_in(scan, 15, kernels) + size_in(scan, 16, kernels);
    rank->trace.slices.add(raw.slice, correlation);
    rank->raw.slice(raw);
    ++rank->trace.events;
    if (!collective) continue;
    CollectiveRun run;
    run.time = *time;
    run.op = collective_op_of_kernel(text);
    run.correlation = correlation;
    run.stream = raw.slice.stream;
    rank->trace.runs.push_back(run);
    if (correlation) processes_[place->process].collectives.insert(*correlation);
  }
  ended(scan, kernels);
}

void NsightReader::order_ranks() {
  std::sort(ranks_.begin(), ranks_.end(), [](const auto& a, const auto& b) {
    return std::pair(a->place.device, a->place.process) < std::pair(b->place.device, b->place.process);
  });
  for (auto& [id, process] : processes_) {
    std::sort(process.ranks.begin(), process.ranks.end(),
              [](const NsightRank* a, const NsightRank* b) { return a->place.device < b->place.device; });
    for (NsightRank* rank : process.ranks) process.traces.push_back(&rank->trace);
  }
}

void NsightReader::read_copies(std::string_view table, Work work) {
  if (!file_.has(table)) return;
  static constexpr std::array<std::string_view, 8> columns{"start",    "end",           "deviceId", "globalPid",
                                                           "streamId", "correlationId", "bytes",    "copyKind"};
  Scan scan(file_, table, columns);
  while (scan.next()) {
    const std::optional<Span> time = time_of(scan, table);
    if (!time) continue;
    const std::optional<RankPlace> place = place_of(scan, table, 3, 2);
    if (!place) continue;
    NsightRank* rank = rank_at(*place, false);
    if (!rank) {
      ++copies_elsewhere_;
      continue;
    }
    RawSlice raw;
    raw.slice.start_ns = time->start_ns;
    raw.slice.end_ns = time->end_ns;
    raw.slice.name = rank->trace.names.intern(work == Work::set ? "Memset" : copy_name(scan.integer(7).value_or(0)));
    raw.slice.device = static_cast<std::int32_t>(place->device);
    raw.slice.stream = stream_in(scan, table);
    raw.slice.work = work;
    raw.correlation = scan.integer(5).value_or(-1);
    raw.bytes = size_in(scan, 6, table);
    rank->trace.slices.add(raw.slice, scan.integer(5));
    rank->raw.slice(raw);
    ++rank->trace.events;
  }
  ended(scan, table);
}

void NsightReader::read_graphs() {
  constexpr std::string_view graphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
  if (!file_.has(graphs)) return;
  static constexpr std::array<std::string_view, 6> columns{"start",     "end",      "deviceId",
                                                           "globalPid", "streamId", "correlationId"};
  Scan scan(file_, graphs, columns);
  while (scan.next()) {
    const std::optional<Span> time = time_of(scan, graphs);
    if (!time) continue;
    const std::optional<std::int64_t> device = scan.integer(2);
    NsightRank* rank = nullptr;
    if (file_.has(graphs, "globalPid") && !one_process_) {
      const std::optional<RankPlace> place = place_of(scan, graphs, 3, 2);
      if (!place) continue;
      rank = rank_at(*place, true);
      if (!rank) {
        ++too_many_;
        continue;
      }
    } else if (device) {
      const auto here = [&](const auto& one) { return one->place.device == *device; };
      if (std::ranges::count_if(ranks_, here) == 1) rank = std::ranges::find_if(ranks_, here)->get();
    }
    if (!rank) {
      ++graphs_elsewhere_;
      continue;
    }
    ++rank->trace.whole_graphs;
    ++graphs_;
    RawSlice raw;
    raw.slice.start_ns = time->start_ns;
    raw.slice.end_ns = time->end_ns;
    raw.slice.name = rank->trace.names.intern("CUDA graph");
    raw.slice.device = static_cast<std::int32_t>(rank->place.device);
    raw.slice.stream = stream_in(scan, graphs);
    raw.slice.work = Work::compute;
    raw.correlation = scan.integer(5).value_or(-1);
    rank->trace.slices.add(raw.slice, scan.integer(5));
    rank->raw.slice(raw);
    ++rank->trace.events;
  }
  ended(scan, graphs);
}

void NsightReader::read_calls(std::string_view table, bool driver) {
  if (!file_.has(table)) return;
  static constexpr std::array<std::string_view, 6> columns{"start",         "end",    "globalTid",
                                                           "correlationId", "nameId", "eventClass"};
  Scan scan(file_, table, columns);
  while (scan.next()) {
    const std::optional<Span> time = time_of(scan, table);
    if (!time) continue;
    const std::optional<std::int64_t> id = scan.integer(2);
    if (!id && !one_process_) {
      refuse(table, "an event without its thread", scan.rowid());
      continue;
    }
    Process* process = process_at(process_of(id.value_or(0)));
    if (!process) continue;
    const std::optional<std::int64_t> correlation = scan.integer(3);
    NsightRank& first = *process->ranks.front();
    RawCall raw;
    raw.tid = thread_of(id.value_or(0));
    raw.correlation = correlation.value_or(-1);
    raw.start_ns = time->start_ns;
    raw.end_ns = time->end_ns;
    raw.name = name_of(first, scan.integer(4), std::nullopt, table, scan.rowid());
    // The class of driver calls (ENUM_NSYS_EVENT_CLASS).
    raw.driver = driver || scan.integer(5) == 1;
    first.raw.call(raw);
    ++first.trace.events;
    // A rank of several in a process has the kernels of its own launches only.
    const bool launch =
        process->ranks.size() == 1 && first.kernel_launch.of(raw.name, first.trace.names.text(raw.name));
    for (NsightRank* rank : process->ranks) {
      if (correlation)
        rank->trace.slices.add_call(*correlation, {time->start_ns, -1, raw.tid, launch ? raw.name : 0});
      rank->trace.saw_host(time->start_ns, time->end_ns);
    }
    if (correlation && process->collectives.contains(*correlation))
      process->nccl.add_launch(raw.tid, *time, *correlation);
  }
  ended(scan, table);
}

}  // namespace ddpprof::import
