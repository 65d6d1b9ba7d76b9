// Reads an Nsight Systems export as ranks: one for each (process, device) that ran kernels.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/import/kineto/name_property.hpp"
#include "analysis/import/nsight/nccl_calls.hpp"
#include "analysis/import/nsight/nsight_file.hpp"
#include "analysis/import/nsight/nsight_tables.hpp"
#include "analysis/import/nsight/nvtx_marks.hpp"
#include "analysis/import/nsight/nvtx_names.hpp"
#include "analysis/import/nsight/payload.hpp"
#include "analysis/import/nsight/rank_numbers.hpp"
#include "analysis/import/nsight/strings.hpp"
#include "analysis/import/trace/collectives/kernel_families.hpp"
#include "analysis/import/trace/rank_trace.hpp"
#include "analysis/import/trace/raw_collector.hpp"
#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

struct NsightRank {
  NsightRank(RankPlace at, const SortOptions& sort, RawSink* sink, std::size_t number)
      : place(at), source(number), trace(sort), raw(trace.names, sink, number) {}

  RankPlace place;
  std::size_t source = 0;
  RankTrace trace;
  RawCollector raw;
  std::unordered_map<std::int64_t, std::uint32_t> names;  // number in the trace, by the file's number of the text
  NameProperty collective_kernel{is_collective_kernel}, kernel_launch{launches_a_kernel};
};

class NsightReader {
 public:
  // Limit of ranks. Further ranks are reported and left out.
  static constexpr std::size_t most_ranks = 1024;

  // The memory of `sort` is shared among the usual number of ranks of a machine; more ranks use more memory.
  NsightReader(NsightFile&, const SortOptions& sort, RawSink* sink, std::size_t first_source);

  // Call once.
  void read();

  // Ordered by device, then by process; empty if no kernel is sound. Rank numbers are set if the file has them.
  std::vector<std::unique_ptr<NsightRank>>& ranks() { return ranks_; }
  const std::vector<Note>& notes() const { return notes_; }  // about the whole file
  std::int64_t refused_events() const;
  const SessionFacts& session() const { return session_; }

 private:
  struct Refused {
    std::int64_t count = 0, first_row = 0;
  };
  // The host's events of a process, for each of its ranks.
  struct Process {
    std::vector<NsightRank*> ranks;
    std::unordered_set<std::int64_t> collectives;  // correlations of NCCL's kernels
    NcclCalls nccl;
    NvtxMarks marks;
    std::vector<RankTrace*> traces;  // of the ranks
    std::map<std::int64_t, std::string> domains;
  };

  void note(ingest::Severity, std::string code, std::int64_t count, std::string message, std::string advice);
  void refuse(std::string_view table, std::string_view why, std::int64_t row);
  void ended(const Scan&, std::string_view table);

  void read_kernels();
  void read_copies(std::string_view table, Work work);
  // CUDA graphs that were recorded as a whole: the device computes while one runs.
  void read_graphs();
  // By device, then process. No rank can be added afterwards.
  void order_ranks();
  void read_calls(std::string_view table, bool driver);
  void read_nvtx();
  void range(Process&, const Scan&, std::int64_t thread, std::string_view text, Span time, bool mark);
  void nccl_range(Process&, std::int64_t process, const Scan&, std::int64_t thread, std::string_view name, Span time);

  // None, and refused, where the row's times or its device make no sense.
  void report_invalid_size(std::string_view table, const Scan&);
  std::int64_t size_in(const Scan&, int column, std::string_view table);
  std::int32_t stream_in(const Scan&, std::string_view table);
  std::optional<Span> time_of(const Scan&, std::string_view table);
  std::optional<RankPlace> place_of(const Scan&, std::string_view table, int process, int device);
  NsightRank* rank_at(const RankPlace&, bool create);
  Process* process_at(std::int64_t process);
  std::uint32_t name_of(NsightRank&, std::optional<std::int64_t> id, std::optional<std::int64_t> other,
                        std::string_view table, std::int64_t row);
  void finish_ranks();
  void report_missing_data();

  NsightFile& file_;
  SortOptions sort_;
  RawSink* sink_;
  std::size_t first_source_;
  SessionFacts session_;
  Strings strings_;
  PayloadSchemas schemas_;
  bool one_process_ = false;  // kernels have no process
  std::vector<std::unique_ptr<NsightRank>> ranks_;
  std::map<std::pair<std::int64_t, std::int64_t>, NsightRank*> places_;
  std::map<std::int64_t, Process> processes_;
  std::vector<NcclMember> members_;
  std::map<std::pair<std::string, std::string>, Refused> refused_;
  std::vector<Note> notes_;
  std::int64_t too_many_ = 0, elsewhere_ = 0, unended_ = 0, payloads_ = 0, copies_elsewhere_ = 0;
  std::int64_t nccl_ranges_ = 0;
  std::int64_t graphs_ = 0, graphs_elsewhere_ = 0;
};

}  // namespace ddpprof::import
