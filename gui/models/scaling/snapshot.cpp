#include "gui/models/scaling/snapshot.hpp"

#include <stdexcept>

#include "gui/models/scaling/worker_counts.hpp"

namespace ddpprof::gui::whatif {
namespace {

Answer answer_at(const fit::Predictor& predictor, std::int64_t workers, const fit::WhatIf& change) {
  Answer answer;
  if (const auto refused = predictor.refusal(workers)) {
    answer.refusal = refused->reason;
    return answer;
  }
  answer.gains = fit::gains(predictor, workers);
  answer.prediction = fit::predict(predictor, workers, answer.gains);
  if (!change.any()) return answer;
  if (const auto refused = fit::change_refusal(predictor.job(), change)) {
    answer.why_no_change = refused->reason;
    return answer;
  }
  try {
    answer.what_if = fit::change_effect(predictor, workers, change);
    answer.changed_gains = fit::gains(predictor, workers, change);
    answer.what_if->bound = answer.prediction.bound;
    answer.what_if->changed_bound = fit::binding(answer.changed_gains);
  } catch (const std::invalid_argument& error) {
    answer.what_if.reset();
    answer.why_no_change = error.what();
  }
  return answer;
}

}  // namespace

Snapshot answer(Simulations& simulations, const Question& question, Simulations::Clock::time_point deadline,
                const std::function<bool()>& stop) {
  const Knobs& knobs = question.knobs;
  Snapshot shot;
  shot.knobs = knobs;
  shot.measured_knobs = question.measured_knobs;
  shot.limit = std::max(question.limit, knobs.workers);
  shot.measured = *simulations.measured(knobs);
  shot.refusal = simulations.refusal(knobs);
  if (!shot.refusal.empty()) {
    shot.complete = true;
    return shot;
  }
  shot.change = what_if(knobs, question.measured_knobs);
  const auto predictor = simulations.predictor(knobs);
  std::vector<std::int64_t> measured;
  for (const MeasuredPoint& point : shot.measured) measured.push_back(point.workers);
  const std::vector<std::int64_t> counts = curve_counts(shot.limit, measured, knobs.workers);
  const std::vector<std::int64_t> order = coarse_to_fine(counts, knobs.workers);

  Knobs own = knobs;
  own.gpus_per_node = question.measured_knobs.gpus_per_node;
  own.inter_node = question.measured_knobs.inter_node;
  own.dedicated = question.measured_knobs.dedicated;
  const bool elsewhere = own.gpus_per_node != knobs.gpus_per_node || own.inter_node != knobs.inter_node ||
                         own.dedicated != knobs.dedicated;
  // The curve that has just changed comes first; the others are mostly cached.
  Estimates changed, plain, at_home;
  bool all = true;
  if (shot.change.any()) all = simulations.add(knobs, shot.change, order, deadline, stop, changed) && all;
  // Each curve has at least a few points, even after the deadline, so that the unchanged curves stay visible.
  const std::span<const std::int64_t> first = std::span(order).first(std::min<std::size_t>(order.size(), 5));
  const auto whenever = Simulations::Clock::time_point::max();
  if (shot.change.any()) simulations.add(knobs, shot.change, first, whenever, stop, changed);
  simulations.add(knobs, {}, first, whenever, stop, plain);
  all = simulations.add(knobs, {}, order, deadline, stop, plain) && all;
  if (elsewhere) {
    simulations.add(own, {}, first, whenever, stop, at_home);
    all = simulations.add(own, {}, order, deadline, stop, at_home) && all;
  }
  shot.predicted = make_curve(*predictor, plain, {}, question.measured_knobs.accumulation);
  const auto knees = [&](const fit::WhatIf& change, const Curve& curve) {
    if (auto found = simulations.knees(knobs, change, shot.limit, deadline, stop)) return *found;
    shot.knees_of_drawn = true;
    return drawn_knees(curve);
  };
  if (shot.change.any()) {
    shot.changed = make_curve(*predictor, changed, shot.change, question.measured_knobs.accumulation);
    shot.changed_knees = knees(shot.change, *shot.changed);
  }
  shot.predicted_knees = knees({}, shot.predicted);
  if (elsewhere) {
    const auto home = simulations.predictor(own);
    shot.own = make_curve(*home, at_home, {}, question.measured_knobs.accumulation);
  }
  if (!all || shot.knees_of_drawn || stop() || Simulations::Clock::now() >= deadline) return shot;
  shot.answer = answer_at(*predictor, knobs.workers, shot.change);
  shot.complete = true;
  return shot;
}

Figure figure(const CurvePoint& point, Quantity quantity) {
  switch (quantity) {
    case Quantity::throughput:
      return point.throughput;
    case Quantity::speedup:
      return point.speedup;
    case Quantity::efficiency:
      return point.efficiency;
    case Quantity::step:
      break;
  }
  return point.step_s;
}

std::optional<Figure> figure(const MeasuredPoint& point, Quantity quantity) {
  const Figure step{point.step_s.mid, point.step_s.low, point.step_s.high};
  if (quantity == Quantity::step) return step;
  const auto over_steps = [&](double value) {
    return Figure{value, value * step.value / step.high, value * step.value / step.low};
  };
  if (quantity == Quantity::throughput) return over_steps(point.throughput);
  const std::optional<double> value = quantity == Quantity::speedup ? point.speedup : point.efficiency;
  if (!value) return std::nullopt;
  return over_steps(*value);
}

}  // namespace ddpprof::gui::whatif
