#include "analysis/predict/tables/collective_prediction.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>

#include "analysis/fit/not_supported.hpp"

namespace ddpprof::fit {
namespace {

std::int64_t divide_up(std::int64_t value, std::int64_t by) { return (value + by - 1) / by; }

}  // namespace

std::vector<CollectivePrediction> predict_collectives(const std::vector<CollectiveRun>& runs,
                                                      const CollectiveQuestion& question) {
  std::set<std::string> ops;
  std::int64_t per_host = 1;
  for (const CollectiveRun& run : runs) {
    if (is_predicted_collective(run.op)) ops.insert(run.op);
    per_host = std::max(per_host, divide_up(run.ranks, run.hosts));
  }
  if (question.gpus_per_node.value_or(0) > 0) per_host = *question.gpus_per_node;
  std::vector<CollectivePrediction> all;
  for (const std::string& op : ops) {
    std::optional<CollectiveSeries> series;
    std::string why_not;
    try {
      series.emplace(op, runs);
    } catch (const NotSupported& error) {
      why_not = error.what();
    }
    std::int64_t most = 0;
    for (const CollectiveRun& run : runs)
      if (run.op == op) most = std::max(most, run.ranks);
    for (const std::int64_t ranks : question.workers) {
      if (ranks < 2)
        throw std::invalid_argument("--workers: a collective of one rank transfers nothing; give 2 or more");
      CollectivePrediction row;
      row.op = op;
      row.ranks = ranks;
      row.hosts = divide_up(ranks, per_host);
      row.extrapolation = static_cast<double>(ranks) / static_cast<double>(most);
      if (!series) {
        row.note = why_not;
        all.push_back(row);
        continue;
      }
      try {
        row.note = series->warning(ranks, row.hosts);
        for (const double bytes : series->sizes(ranks, row.hosts)) {
          row.bytes = static_cast<std::int64_t>(bytes);
          row.time = series->predict(bytes, ranks, row.hosts, question.confidence);
          all.push_back(row);
        }
      } catch (const NotSupported& error) {
        row.note = error.what();
        all.push_back(row);
      }
    }
  }
  return all;
}

}  // namespace ddpprof::fit
