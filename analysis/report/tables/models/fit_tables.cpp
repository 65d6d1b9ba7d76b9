#include "analysis/report/tables/models/fit_tables.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/metrics/bus_factor.hpp"
#include "analysis/report/core/columns.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

constexpr const char* no_all_reduce =
    "No all-reduce was measured with more than one worker. Measure DDP with 2 or more workers, run ddpprof bench-comm, "
    "import traces that record message sizes, or give a log of nccl-tests (ddpprof predict --all-reduce).";

// Returns why a form was or was not selected, by the criterion that was used.
std::string reason(const fit::AllReduceFit& all, std::size_t index) {
  const fit::FormFit& form = all.forms[index];
  const fit::FormFit& picked = all.picked();
  if (all.forms.size() == 1) return form.form.curves ? "given: not measured here" : "the only form for such links";
  if (!form.solution.converged) return "the solver did not converge";
  const char* yardstick = form.held_out_error ? "at the held-out N" : "of the fit itself: nothing could be held out";
  const auto best = std::min_element(all.forms.begin(), all.forms.end(),
                                     [](const auto& a, const auto& b) { return a.score < b.score; });
  if (index == 0) {
    if (best == all.forms.begin()) return fmt::format("selected: the smallest error {}", yardstick);
    return fmt::format("selected: it is the backend's own form; {} is better by {}, which is within the noise",
                       best->form.name(), units::percent(form.score - best->score));
  }
  if (form.score < picked.score)
    return fmt::format("not clearly better than the backend's own form ({} compared with {})",
                       units::percent(form.score), units::percent(picked.score));
  return fmt::format("error {}; the selected form has {}", units::percent(form.score), units::percent(picked.score));
}

}  // namespace

std::vector<store::FitRow> fit_rows(const fit::Models& models) {
  std::vector<store::FitRow> rows;
  const bool ddp = !models.measured.ddp.empty();
  if (ddp || !models.measured.collectives.empty()) rows.push_back(fit::to_row(models.all_reduce));
  if (ddp) rows.push_back(fit::to_row(models.ddp_compute));
  if (!models.measured.dp.empty()) {
    rows.push_back(fit::to_row(models.dp_compute));
    rows.push_back(fit::to_row(models.copies));
  }
  return rows;
}

Table forms_table(const fit::AllReduceFit& all) {
  Table table;
  table.name = "forms";
  table.title = "Compared forms";
  table.note =
      "Held-out error: median relative error at the largest N of a fit to the smaller N. The form with the smallest "
      "held-out error is selected; if no N can be held out, the error of the fit is used. The backend's own form is "
      "kept unless another form is better by one fifth and by one percentage point. Share of the draws: the weight of "
      "each form in the intervals of predictions.";
  table.empty = all.status.empty() ? no_all_reduce : "No form: " + all.status;
  table.columns = {text("form", "form"),
                   flag("picked", "picked"),
                   share("held_out_error", "held-out error"),
                   share("median_relative_error", "error of the fit"),
                   share("draws_share", "share of the draws"),
                   flag("converged", "converged"),
                   prose("reason", "why")};
  table.key_columns = 1;
  for (std::size_t i = 0; i < all.forms.size(); ++i) {
    const fit::FormFit& form = all.forms[i];
    table.rows.push_back({form.form.name(), static_cast<std::int64_t>(i == 0), known(form.held_out_error),
                          form.solution.median_relative_error, form.weight,
                          static_cast<std::int64_t>(form.solution.converged), reason(all, i)});
  }
  return table;
}

Table all_reduce_points_table(const fit::AllReduceFit& all) {
  Table table;
  table.name = "all_reduce_points";
  table.title = "Measured and fitted all-reduces";
  table.note =
      "Time: the fastest rank, so without waiting for other ranks; median. Algbw = size / time, busbw = algbw · "
      "2(N−1)/N, as in nccl-tests. In flight: mean number of all-reduces that share the link, which lowers the "
      "bandwidth of each. Beside compute: share of the duration in which the rank's backward ran. Error = fitted / "
      "measured − 1.";
  table.empty = no_all_reduce;
  table.columns = {text("source", "source", true),
                   count("workers", "N", "workers"),
                   count("bytes", "size", "bytes"),
                   count("collectives", "count"),
                   seconds("time_s", "time"),
                   seconds("fitted_s", "fitted", "time_s"),
                   share("relative_error", "error"),
                   quantity("algbw_bytes_per_s", "algbw", "bytes/s"),
                   quantity("busbw_bytes_per_s", "busbw", "bytes/s"),
                   quantity("concurrency", "in flight", ""),
                   share("beside_compute", "beside compute")};
  table.columns[8].scale_with = "algbw_bytes_per_s";
  table.key_columns = 3;
  const bool regimes = std::any_of(all.points.begin(), all.points.end(),
                                   [](const fit::CollectivePoint& point) { return !point.regime.empty(); });
  if (regimes) table.columns.push_back(text("regime", "NCCL's regime", true));
  const bool fitted = !all.forms.empty() && all.picked().solution.fitted.size() == all.points.size();
  for (std::size_t i = 0; i < all.points.size(); ++i) {
    const fit::CollectivePoint& point = all.points[i];
    const double algbw = static_cast<double>(point.bytes) / point.transfer_s;
    const double model_s = fitted ? all.picked().solution.fitted[i] : 0.0;
    table.rows.push_back({std::string(point.bench ? "bench-comm" : "step"), point.machine.workers, point.bytes,
                          point.count, point.transfer_s, fitted ? Cell(model_s) : Cell(),
                          fitted ? Cell(model_s / point.transfer_s - 1.0) : Cell(), algbw,
                          algbw * metrics::bus_factor("all_reduce", point.machine.workers), point.concurrency,
                          point.beside_compute});
    if (regimes) table.rows.back().emplace_back(point.regime);
  }
  return table;
}

}  // namespace ddpprof::report
