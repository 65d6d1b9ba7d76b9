#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "analysis/import/nsight/nsight_reader.hpp"
#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

using ingest::Severity;

constexpr std::string_view nvtx = "NVTX_EVENTS";
enum Column { start, end, type, text, text_id, thread, domain, json, json_id, binary };

}  // namespace

void NsightReader::read_nvtx() {
  if (!file_.has(nvtx)) return;
  static constexpr std::array<std::string_view, 10> columns{
      "start", "end", "eventType", "text", "textId", "globalTid", "domainId", "jsonText", "jsonTextId", "binaryData"};
  // A table without types is from an old version, which recorded only ranges and marks.
  const bool typed = file_.has(nvtx, "eventType");
  Scan scan(file_, nvtx, columns);
  std::string copy;
  while (scan.next()) {
    const std::int64_t kind = typed               ? scan.integer(type).value_or(-1)
                              : scan.is_null(end) ? session_.types.mark
                                                  : session_.types.push_pop;
    const bool mark = session_.types.is_mark(kind), create = kind == session_.types.domain;
    if (!mark && !create && !session_.types.is_range(kind)) continue;  // names of categories, threads and similar
    const std::optional<std::int64_t> id = scan.integer(thread);
    if (!id && !one_process_) {
      refuse(nvtx, "an event without its thread", scan.rowid());
      continue;
    }
    Process* process = process_at(process_of(id.value_or(0)));
    if (!process) continue;
    std::string_view name = scan.text(text);
    if (name.empty())
      if (const auto number = scan.integer(text_id)) {
        const std::string* found = strings_.find(*number);
        if (!found) {
          refuse(nvtx, "a range whose name is not in the file", scan.rowid());
          continue;
        }
        copy = *found;
        name = copy;
      }
    if (create) {
      process->domains[scan.integer(domain).value_or(0)] = std::string(name);
      continue;
    }
    // If a column may not be NULL, -1 stands for NULL.
    if (!mark && (scan.is_null(end) || scan.integer(end) == -1) && !scan.is_null(start)) {
      ++unended_;
      continue;
    }
    std::optional<Span> time;
    if (!mark)
      time = time_of(scan, nvtx);
    else if (const auto moment = scan.integer(start); moment && sound_time(*moment, *moment))
      time = Span{*moment, *moment};
    else if (moment)
      refuse(nvtx, "an impossible time", scan.rowid());
    else
      refuse(nvtx, "an event without a start", scan.rowid());
    if (time) range(*process, scan, thread_of(id.value_or(0)), name, *time, mark);
  }
  ended(scan, nvtx);
}

void NsightReader::range(Process& process, const Scan& scan, std::int64_t thread_id, std::string_view text, Span time,
                         bool mark) {
  const NvtxName name = parse_emitted(text);
  const std::int64_t number = scan.integer(domain).value_or(0);
  const auto named = process.domains.find(number);
  const bool nccl = is_nccl_call(name.name);
  NsightRank& first = *process.ranks.front();
  if (sink_) {
    std::string domain_name = named != process.domains.end() ? named->second : std::string();
    if (named == process.domains.end() && number != 0) domain_name = nccl ? "NCCL" : fmt::format("domain {}", number);
    RawRange raw;
    raw.tid = thread_id;
    raw.start_ns = time.start_ns;
    raw.end_ns = time.end_ns;
    raw.name = first.trace.names.intern(name.name);
    raw.domain = first.trace.names.intern(domain_name.empty() ? "nvtx" : domain_name);
    raw.mark = mark;
    first.raw.range(raw);
  }
  ++first.trace.events;
  for (NsightRank* rank : process.ranks) rank->trace.saw_host(time.start_ns, time.end_ns);
  if (mark) return;
  if (nccl)
    nccl_range(process, first.place.process, scan, thread_id, name.name, time);
  else
    process.marks.add(process.traces, thread_id, text, time);
}

void NsightReader::nccl_range(Process& process, std::int64_t process_id, const Scan& scan, std::int64_t thread_id,
                              std::string_view name, Span time) {
  ++nccl_ranges_;
  std::optional<NcclPayload> payload;
  if (!scan.is_null(binary)) payload = schemas_.decode(scan.bytes(binary));
  if (!payload && !scan.is_null(json)) payload = PayloadSchemas::from_json(scan.text(json));
  if (!payload)
    if (const auto number = scan.integer(json_id))
      if (const std::string* found = strings_.find(*number)) payload = PayloadSchemas::from_json(*found);
  if (!payload && (!scan.is_null(binary) || !scan.is_null(json)))
    refuse(nvtx, "a payload without a known schema, so its size is unknown", scan.rowid());
  if (payload && payload->absurd)
    refuse(nvtx, "a payload with an invalid size, which counts as not recorded", scan.rowid());
  if (payload) ++payloads_;
  if (payload && payload->communicator && payload->ranks && payload->rank)
    members_.push_back({process_id, *payload->communicator, *payload->ranks, *payload->rank, payload->device});
  process.nccl.add_range(thread_id, name, time, payload);
}

void NsightReader::finish_ranks() {
  std::vector<RankPlace> places;
  for (const auto& rank : ranks_) places.push_back(rank->place);
  const std::vector<RankNumber> numbers = rank_numbers(places, members_, session_);
  for (auto& [id, process] : processes_) {
    const std::unordered_map<std::int64_t, Message> messages = process.nccl.match();
    const StepFinder::Found found = process.marks.set_steps_and_batch(process.traces);
    for (NsightRank* rank : process.ranks) {
      RankTrace& trace = rank->trace;
      trace.pid = pid_of(id);
      trace.process = session_.processes.contains(id) ? session_.processes.at(id) : std::string();
      trace.host = session_.host;
      trace.base_ns = session_.base_ns;
      trace.versions = session_.versions;
      if (const std::string name = session_.device_name(pid_of(id), rank->place.device); !name.empty())
        trace.devices.push_back(name);
      if (!trace.runs.empty()) trace.backend = "nccl";
      set_messages(trace, messages);
      rank->raw.flush();
    }
    if (!found.others.empty())
      note(Severity::info, "step_ranges", static_cast<std::int64_t>(found.steps.size()),
           fmt::format("process {}: the ranges \"{}\" are the steps; these ranges are not: {}", pid_of(id), found.name,
                       fmt::join(found.others, ", ")),
           "ranges that contain a backward or an optimizer's step are preferred, then those that cover most time");
    if (found.by_repetition)
      note(Severity::info, "steps_by_repetition", static_cast<std::int64_t>(found.steps.size()),
           fmt::format("process {}: no range is named like a step; the ranges \"{}\" are used as steps, because they "
                       "repeat and cover most of the time",
                       pid_of(id), found.name),
           "annotate steps with their number: torch.cuda.nvtx.range_push(f\"step {i}\")");
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ranks_[i]->trace.rank = numbers[i].rank;
    ranks_[i]->trace.world_size = numbers[i].world_size;
  }
}

void NsightReader::report_missing_data() {
  for (const auto& [where, refused] : refused_)
    note(Severity::warning, "bad_event", refused.count,
         fmt::format("in {}: {} (the first at row {})", where.first, where.second, refused.first_row),
         "the valid events are imported, the others are left out; export the report again if many are missing");
  std::vector<std::string_view> missing;
  for (const std::string_view table : {std::string_view("CUPTI_ACTIVITY_KIND_RUNTIME"), nvtx})
    if (!file_.has(table)) missing.push_back(table);
  if (!missing.empty())
    note(Severity::info, "table_missing", static_cast<std::int64_t>(missing.size()),
         fmt::format("the export has no {}", fmt::join(missing, " and no ")),
         "without CUDA calls, launch times are unknown; without NVTX ranges, steps are unknown. Record with "
         "--trace=cuda,nvtx");
  if (one_process_)
    note(Severity::info, "process_unknown", 1, "the process that launched a kernel is not recorded",
         "all kernels are assigned to one process; a newer Nsight Systems records the process");
  if (too_many_ > 0)
    note(Severity::error, "too_many_ranks", too_many_,
         fmt::format("more than {} pairs of process and device ran kernels: further pairs are left out", most_ranks),
         "export fewer processes");
  if (elsewhere_ > 0)
    note(Severity::info, "host_events_elsewhere", elsewhere_, "calls and ranges of processes that ran no kernel",
         "launchers and data loaders' workers are left out");
  if (copies_elsewhere_ > 0)
    note(Severity::info, "copies_elsewhere", copies_elsewhere_, "copies of processes and devices that ran no kernel",
         "they are left out");
  if (unended_ > 0)
    note(Severity::info, "ranges_without_end", unended_, "NVTX ranges without an end when recording stopped",
         "they are left out");
  if (nccl_ranges_ > 0 && payloads_ == 0)
    note(Severity::info, "no_payloads", nccl_ranges_, "NCCL's ranges without payloads: message sizes are unknown",
         "export with --include-blobs=true or --include-json=true");
  if (graphs_ > 0)
    note(Severity::warning, "graphs_as_a_whole", graphs_,
         "CUDA graphs were recorded as a whole: the time of a graph counts as compute, and kernels and collectives in "
         "it are not distinguished, so communication in graphs is unknown",
         "record with --cuda-graph-trace=node");
  if (graphs_elsewhere_ > 0)
    note(Severity::warning, "graphs_left_out", graphs_elsewhere_,
         "CUDA graphs recorded as a whole whose process is not recorded, and whose device no rank or several ranks "
         "used: they are left out",
         "record with --cuda-graph-trace=node");
}

}  // namespace ddpprof::import
