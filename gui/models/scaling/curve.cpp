#include "gui/models/scaling/curve.hpp"

#include <algorithm>

#include "analysis/report/model_tables.hpp"

namespace ddpprof::gui::whatif {
namespace {

store::PredictionRow row_of(const CurvePoint& point, const std::string& strategy) {
  store::PredictionRow row;
  row.strategy = strategy;
  row.world_size = point.workers;
  row.step_s = point.step_s.value;
  row.step_low_s = point.step_s.low;
  row.step_high_s = point.step_s.high;
  row.exposed_s = point.terms.exposed_s;
  row.skew_s = point.terms.skew_s;
  return row;
}

}  // namespace

double CurvePoint::overlapped_s() const {
  return std::clamp(terms.communication_s - terms.exposed_s, 0.0, std::max(0.0, terms.compute_s));
}

StepParts parts(const CurvePoint& point, bool copies) {
  const fit::Terms& terms = point.terms;
  StepParts of;
  of.overlapped_s = copies ? 0.0 : point.overlapped_s();
  of.compute_s = terms.compute_s - of.overlapped_s;
  of.exposed_s = terms.exposed_s + (copies ? terms.skew_s : 0.0);
  of.skew_s = copies ? 0.0 : terms.skew_s;
  of.input_s = std::min(terms.input_s, std::max(0.0, terms.other_s));
  of.other_s = terms.other_s - of.input_s;
  return of;
}

const CurvePoint* Curve::at(std::int64_t workers) const {
  const auto found = std::lower_bound(points.begin(), points.end(), workers,
                                      [](const CurvePoint& point, std::int64_t n) { return point.workers < n; });
  return found != points.end() && found->workers == workers ? &*found : nullptr;
}

Curve make_curve(const fit::Predictor& predictor, const Outlooks& outlooks, const fit::WhatIf& change,
                 double one_step_s) {
  Curve curve;
  curve.points.reserve(outlooks.size());
  const auto known = static_cast<double>(predictor.largest_measured());
  for (const auto& [workers, outlook] : outlooks) {
    if (!outlook.why_not.empty()) {
      if (curve.why_not.empty()) curve.why_not = outlook.why_not;
      continue;
    }
    const auto n = static_cast<double>(workers);
    const auto throughput = [&](double step_s) { return predictor.throughput(workers, step_s, change); };
    CurvePoint point;
    point.workers = workers;
    point.terms = outlook.terms;
    const double step_s = outlook.terms.step_s();
    point.step_s = {step_s, outlook.low_s, outlook.high_s};
    point.throughput = {throughput(step_s), throughput(outlook.high_s), throughput(outlook.low_s)};
    point.efficiency = {one_step_s / step_s, one_step_s / outlook.high_s, one_step_s / outlook.low_s};
    point.speedup = {n * point.efficiency.value, n * point.efficiency.low, n * point.efficiency.high};
    point.far = n > far_beyond * known;
    point.wide = fit::Predictor::is_wide(row_of(point, ""));
    curve.points.push_back(std::move(point));
  }
  return curve;
}

std::vector<Knee> knees(const Curve& curve, const std::string& strategy, const std::vector<MeasuredPoint>& measured) {
  std::vector<store::PredictionRow> rows;
  rows.reserve(curve.points.size());
  for (const CurvePoint& point : curve.points) rows.push_back(row_of(point, strategy));
  std::vector<report::MeasuredScaling> known;
  for (const MeasuredPoint& point : measured) {
    const report::MeasuredScaling one{strategy, {point.workers, point.step_s.mid, point.exposed_s}};
    if (report::of_measured_machine(one, rows)) known.push_back(one);
  }
  const report::Table table = report::knee_table(known, std::move(rows));
  std::size_t share = 0, workers = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == "threshold") share = i;
    if (table.columns[i].name == "knee_workers") workers = i;
  }
  std::vector<Knee> all;
  for (const report::Row& row : table.rows) {
    Knee knee{std::get<double>(row[share]), std::nullopt};
    if (const auto* from = std::get_if<std::int64_t>(&row[workers])) knee.workers = *from;
    all.push_back(knee);
  }
  return all;
}

}  // namespace ddpprof::gui::whatif
