#include "gui/models/scaling/curve.hpp"

#include <algorithm>

namespace ddpprof::gui::whatif {
namespace {

bool is_wide(const Figure& step_s) {
  fit::Prediction row;
  row.step_low_s = step_s.low;
  row.step_high_s = step_s.high;
  return fit::is_wide(row);
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
  of.host_s = terms.host_s;
  of.input_s = std::min(terms.input_s, std::max(0.0, terms.other_s));
  of.other_s = terms.other_s - of.input_s;
  return of;
}

const CurvePoint* Curve::at(std::int64_t workers) const {
  const auto found = std::lower_bound(points.begin(), points.end(), workers,
                                      [](const CurvePoint& point, std::int64_t n) { return point.workers < n; });
  return found != points.end() && found->workers == workers ? &*found : nullptr;
}

Curve make_curve(const fit::Predictor& predictor, const Estimates& estimates, const fit::WhatIf& change,
                 std::int64_t measured_accumulation) {
  // Uses central(), like predictions do, because predict(1) can be refused.
  const double one_step_s = predictor.central(1).step_s();
  Curve curve;
  const double rounds_ratio = static_cast<double>(change.accumulation.value_or(measured_accumulation)) /
                              static_cast<double>(std::max<std::int64_t>(1, measured_accumulation));
  curve.points.reserve(estimates.size());
  const auto known = static_cast<double>(predictor.job().largest_measured());
  for (const auto& [workers, estimate] : estimates) {
    if (estimate.refusal) {
      if (curve.why_not.empty()) curve.why_not = estimate.refusal->reason;
      continue;
    }
    const auto n = static_cast<double>(workers);
    const auto throughput = [&](double step_s) { return fit::throughput(predictor.job(), workers, step_s, change); };
    CurvePoint point;
    point.workers = workers;
    point.terms = estimate.terms;
    const double step_s = estimate.terms.step_s();
    point.step_s = {step_s, estimate.low_s, estimate.high_s};
    point.throughput = {throughput(step_s), throughput(estimate.high_s), throughput(estimate.low_s)};
    // How many times more samples a worker's step has with the change; 1 without one.
    const double samples = fit::throughput(predictor.job(), workers, 1.0);
    const double samples_ratio =
        samples > 0.0 ? fit::throughput(predictor.job(), workers, 1.0, change) / samples : rounds_ratio;
    const auto efficiency = [&](double at_s) { return samples_ratio * (one_step_s / at_s); };
    point.efficiency = {efficiency(step_s), efficiency(estimate.high_s), efficiency(estimate.low_s)};
    point.speedup = {n * point.efficiency.value, n * point.efficiency.low, n * point.efficiency.high};
    point.far = n > far_beyond * known;
    point.wide = is_wide(point.step_s);
    curve.points.push_back(std::move(point));
  }
  return curve;
}

std::vector<fit::Knee> drawn_knees(const Curve& curve) {
  std::vector<scaling::ScalingPoint> points;
  for (const CurvePoint& point : curve.points)
    if (point.workers > 1)
      points.push_back({point.workers, point.step_s.value, point.terms.exposed_s + point.terms.skew_s});
  std::vector<fit::Knee> all;
  for (const double share : scaling::knee_shares) {
    fit::Knee knee;
    knee.share = share;
    knee.workers = scaling::knee(points, share);
    if (!points.empty()) knee.furthest = points.back().workers;
    all.push_back(knee);
  }
  return all;
}

}  // namespace ddpprof::gui::whatif
