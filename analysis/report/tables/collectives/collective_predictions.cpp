// Predicted times of collectives alone at other numbers of ranks.
#include <fmt/format.h>

#include "analysis/metrics/bus_factor.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/collectives/collectives.hpp"

namespace ddpprof::report {

Table collective_predictions_table(const std::vector<fit::CollectivePrediction>& rows, double confidence) {
  Table table;
  table.name = "collective_predictions";
  table.title = "Collectives, predicted from nccl-tests";
  table.note = fmt::format(
      "Each collective alone, with the sizes of nccl-tests. Low and high: {:.0f} % interval. It contains what other "
      "ranks "
      "per host leave open (network cards that the ranks share or not), and NCCL's switch of algorithms (latency of a "
      "ring or of a tree). Busbw as in nccl-tests (GB/s = 1e9 bytes/s). N / measured: N over the most measured ranks.",
      100.0 * confidence);
  table.empty = "No sweep of an all-reduce, all-gather, reduce-scatter or all-to-all with NCCL on two ranks or more.";
  table.columns = {text("op", "op", true),
                   count("workers", "N", "workers"),
                   count("hosts", "hosts", "hosts"),
                   count("bytes", "size", "bytes"),
                   digits(seconds("time_s", "time"), 4),
                   digits(seconds("time_low_s", "low", "time_s"), 4),
                   digits(seconds("time_high_s", "high", "time_s"), 4),
                   quantity("busbw_bytes_per_s", "busbw", "bytes/s"),
                   digits(quantity("extrapolation", "N / measured", ""), 3),
                   prose("note", "note")};
  table.key_columns = 4;
  for (const fit::CollectivePrediction& one : rows) {
    Row row{one.op, one.ranks, one.hosts};
    if (one.time.time_s > 0.0) {
      const double algbw = static_cast<double>(one.bytes) / one.time.time_s;
      row.insert(row.end(), {one.bytes, one.time.time_s, one.time.low_s, one.time.high_s,
                             algbw * metrics::bus_factor(one.op, one.ranks)});
    } else {
      row.resize(row.size() + 5);
    }
    row.insert(row.end(), {one.extrapolation, one.note});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::report
