#include "analysis/fit/table/scaling_series.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <set>

#include "analysis/fit/batch_fit.hpp"
#include "analysis/fit/table/row_noise.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/stats/random.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

constexpr double noise_tolerance = 1.05;  // a smaller difference of two measured steps has no meaning

std::string n_text(std::int64_t workers) { return "N = " + std::to_string(workers); }

std::string ranks_text(std::int64_t ranks) { return std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks"); }

using MeasuredEntry = MeasuredCurve::const_iterator;

double loss_since(const MeasuredStep& reference, const MeasuredStep& step) {
  return std::max(0.0, 1.0 - reference.micro_s / step.micro_s);
}

double ring_share(std::int64_t workers) { return 1.0 - 1.0 / static_cast<double>(workers); }

// A step between two measured ones. Its interval contains both if they are of different kinds of links.
ScalingSeries::Start interpolated(MeasuredEntry below, MeasuredEntry above, std::int64_t workers) {
  const auto& [fewer, first] = *below;
  const auto& [more, second] = *above;
  const bool ring = first.nodes == 1 && second.nodes == 1;
  const double share = ring ? (ring_share(workers) - ring_share(fewer)) / (ring_share(more) - ring_share(fewer))
                            : log2_ratio(workers, fewer) / log2_ratio(more, fewer);
  const auto at = [share](double from, double to) {
    return std::exp((1.0 - share) * std::log(from) + share * std::log(to));
  };
  ScalingSeries::Start start;
  MeasuredStep& step = start.step;
  step = share < 0.5 ? first : second;
  step.micro_s = at(first.micro_s, second.micro_s);
  step.low_s = at(first.low_s, second.low_s);
  step.high_s = at(first.high_s, second.high_s);
  step.nodes = std::max(first.nodes, second.nodes);
  step.other_batch = first.other_batch || second.other_batch;
  step.other_accumulation = first.other_accumulation || second.other_accumulation;
  step.by_line = first.by_line || second.by_line;
  step.measured_backward_s = second.measured_backward_s;  // fewer ranks do not communicate longer
  step.backward_s = second.backward_s;
  start.question.region = Region::interpolated;
  start.question.doublings = std::min(log2_ratio(workers, fewer), log2_ratio(more, workers));
  start.question.loss = std::max(loss_since(first, second), loss_since(second, first));
  if ((first.nodes > 1) != (second.nodes > 1)) {
    start.question.region = Region::several_nodes;
    start.question.doublings = 0.0;
    step.devices = (first.nodes > 1 ? first : second).devices;
    step.low_s = std::min({step.low_s, first.low_s, second.low_s});
    step.high_s = std::max({step.high_s, first.high_s, second.high_s});
  }
  return start;
}

// A step of fewer ranks than were measured.
ScalingSeries::Start of_fewer(const MeasuredCurve& measured, std::int64_t workers) {
  ScalingSeries::Start start;
  start.step = measured.begin()->second;
  start.question.region = Region::fewer_ranks;
  start.question.doublings = log2_ratio(measured.begin()->first, workers);
  start.question.loss = loss_since(start.step, measured.rbegin()->second);
  start.notes.push_back("fewer ranks than " + n_text(measured.begin()->first) + " were not measured");
  return start;
}

}  // namespace

ScalingSeries::ScalingSeries(const std::vector<StepRow>& rows, std::shared_ptr<const Alone> alone,
                             const TableConstants& constants)
    : alone_(alone), constants_(constants), measured_(rows, std::move(alone)) {}

ScalingSeries::Start ScalingSeries::on_one_node(const StepRow& asked, const MeasuredCurve& one_node,
                                                const MeasuredCurve& several) const {
  Start start;
  start.question.region = Region::one_node;
  if (one_node.empty()) {  // at most the step of the fewest ranks on several nodes, and less by an unknown loss
    if (asked.workers < several.begin()->first)
      start = of_fewer(several, asked.workers);
    else
      start.step = several.begin()->second;
    start.step.low_s *= std::exp(-constants_.growth.first_crossing.high);
    start.notes.push_back("no N was measured on one node: the step is at most that of " +
                          n_text(several.begin()->first) + " on several nodes");
    return start;
  }
  const auto above = one_node.lower_bound(asked.workers);
  if (above == one_node.end()) {
    const auto& [workers, step] = *one_node.rbegin();
    start.step = step;
    start.question.doublings = log2_ratio(asked.workers, workers);
    if (!several.empty()) {  // one node takes at most the step of several with as many ranks
      const auto bound = several.lower_bound(asked.workers);
      const MeasuredStep& most = (bound == several.end() ? std::prev(bound) : bound)->second;
      if (most.micro_s > step.micro_s) {
        start.step.high_s = std::max(step.high_s, most.high_s);
        start.notes.push_back("no more than " + n_text(workers) +
                              " was measured on one node: the interval contains the step of several nodes");
      }
    }
    consider_last_step(start, asked, one_node, one_node.begin()->second);
  } else if (above->first == asked.workers) {
    start.step = above->second;
  } else if (above == one_node.begin()) {
    return of_fewer(one_node, asked.workers);
  } else {
    return interpolated(std::prev(above), above, asked.workers);
  }
  start.question.loss = loss_since(one_node.begin()->second, start.step);
  return start;
}

ScalingSeries::Start ScalingSeries::on_several_nodes(const StepRow& asked, const MeasuredCurve& one_node,
                                                     const MeasuredCurve& several) const {
  Start start;
  start.question.region = Region::several_nodes;
  const auto above = several.lower_bound(asked.workers);
  if (several.empty()) {
    const auto found = one_node.lower_bound(asked.workers);
    const auto& [workers, step] = found == one_node.end() ? *one_node.rbegin() : *found;
    start.step = step;
    start.question.region = Region::first_crossing;
    start.question.doublings = std::max(0.0, log2_ratio(asked.workers, workers));
    start.notes.push_back(
        "links between nodes were not measured: the interval contains those of all published clusters; measure two and "
        "three nodes to narrow it; each node has " +
        ranks_text(asked.devices()) + " (--gpus-per-node)");
    return start;
  }
  const auto below = one_node.lower_bound(asked.workers);
  if (above == several.end()) {
    start.step = several.rbegin()->second;
    start.question.doublings = log2_ratio(asked.workers, several.rbegin()->first);
    consider_last_step(start, asked, several, one_node.empty() ? several.begin()->second : one_node.rbegin()->second);
  } else if (above->first == asked.workers) {
    start.step = above->second;
  } else if (above != several.begin()) {
    start = interpolated(std::prev(above), above, asked.workers);
  } else if (below != one_node.begin()) {
    start = interpolated(std::prev(below), above, asked.workers);
    start.notes.push_back("between " + n_text(std::prev(below)->first) + " on one node and " + n_text(above->first) +
                          " on several nothing was measured");
  } else {
    start = of_fewer(several, asked.workers);
  }
  if (start.question.region == Region::several_nodes)
    start.question.loss =
        loss_since(one_node.empty() ? several.begin()->second : one_node.rbegin()->second, start.step);
  consider_full_node(start, asked, one_node);
  if (start.question.region == Region::first_crossing) return start;
  consider_other_nodes(start, asked, one_node);
  consider_two_nodes(start, asked);
  return start;
}

// If the last measured step is longer than the law and its interval give from the one before it, the table has a law of
// its own. Then the interval contains that the step goes on growing in proportion to N, as with a cost for each rank.
void ScalingSeries::consider_last_step(Start& start, const StepRow& asked, const MeasuredCurve& curve,
                                       const MeasuredStep& reference) const {
  if (curve.size() < 2) return;
  const auto& [fewer, before] = *std::prev(curve.end(), 2);
  const auto& [most, last] = *curve.rbegin();
  if (before.nodes == 2 || last.nodes == 2 || before.devices > last.devices) return;
  const bool other_batch = before.by_line || last.by_line;
  const GrowthQuestion question{start.question.region, log2_ratio(most, fewer), loss_since(reference, before),
                                other_batch};
  const double explained = growth_of(question, constants_.growth, 0.9).high + normal_90 * measured_.scatter();
  if (!(std::log(last.micro_s / before.micro_s) > explained)) return;
  const double slope_s = (last.micro_s - before.micro_s) / static_cast<double>(most - fewer);
  const double further = growth_of({question.region, 0.0, 0.0, other_batch}, constants_.growth, 0.9).high;
  start.continued_s = (last.micro_s + slope_s * static_cast<double>(asked.workers - most)) * std::exp(further);
  start.notes.push_back("from " + n_text(fewer) + " to " + n_text(most) + " the step grows by " +
                        percent(last.micro_s / before.micro_s - 1.0) +
                        ", more than in published tables: the interval contains that it goes on so in proportion to N");
}

// Several nodes with as many ranks each do not take less than one node. If the measured ones have fewer ranks each, the
// prediction starts from one node. Otherwise the measurements contradict each other, and the interval contains both.
void ScalingSeries::consider_full_node(Start& start, const StepRow& asked, const MeasuredCurve& one_node) const {
  const auto after = one_node.upper_bound(asked.devices());
  if (after == one_node.begin()) return;
  const auto& [workers, full] = *std::prev(after);
  if (start.step.by_line || full.by_line || full.micro_s <= noise_tolerance * start.step.micro_s) return;
  if (start.step.devices < full.devices) {
    start.step = full;
    start.question = {Region::first_crossing, std::max(0.0, log2_ratio(asked.workers, workers)), 0.0, false};
    start.notes.push_back("one node with " + n_text(workers) +
                          " takes longer than the measured steps of several nodes, so the prediction starts from it");
    return;
  }
  start.step.high_s = std::max(start.step.high_s, full.micro_s);
  start.notes.push_back("one node with " + n_text(workers) +
                        " takes longer than measured steps of several nodes: the interval contains both");
}

double ScalingSeries::one_node_s(const MeasuredCurve& one_node, std::int64_t ranks) const {
  StepRow row;
  row.workers = ranks;
  return on_one_node(row, one_node, {}).step.micro_s;
}

// Ranks of one node share its links. If the measured nodes have another number of ranks, what is lost between nodes may
// be up to as many times more or less, and what the ranks lose on one node may be that of the other number.
void ScalingSeries::consider_other_nodes(Start& start, const StepRow& asked, const MeasuredCurve& one_node) const {
  if (start.step.nodes == 1 || start.step.devices == asked.devices()) return;
  const double ratio = static_cast<double>(asked.devices()) / static_cast<double>(start.step.devices);
  const double loss = start.question.loss;
  const double inside =
      one_node.empty() ? 1.0 : one_node_s(one_node, asked.devices()) / one_node_s(one_node, start.step.devices);
  if (ratio > 1.0)
    start.step.high_s =
        std::max(start.step.high_s, start.step.micro_s * (1.0 + loss * (ratio - 1.0)) * std::max(1.0, inside));
  if (ratio < 1.0)
    start.step.low_s =
        std::min(start.step.low_s, start.step.micro_s * (1.0 - loss * (1.0 - ratio)) * std::min(1.0, inside));
  start.notes.push_back("nodes with " + ranks_text(asked.devices()) + " were not measured at this N, but nodes with " +
                        std::to_string(start.step.devices));
}

// Nodes with other numbers of ranks were measured, with more or with fewer. If the links of a node limit the step, it
// is that of as many nodes; if each rank's bytes and hops do, it is that of as many ranks.
std::vector<StepRow> ScalingSeries::other_placements(const StepRow& asked, const Start& start) const {
  std::vector<StepRow> others;
  if (asked.nodes == 1 || start.step.nodes == 1 || start.step.devices == asked.devices()) return others;
  const auto add = [&](std::int64_t devices) {
    StepRow other = asked;
    other.devices_per_node = devices;
    other.nodes = (asked.workers + devices - 1) / devices;
    if (other.nodes > 1) others.push_back(other);
    other.nodes = asked.nodes;
    other.workers = asked.nodes * devices;
    others.push_back(other);
  };
  const std::set<std::int64_t>& measured = measured_.devices_of_nodes();
  const auto more = measured.upper_bound(asked.devices());
  const auto from = measured.lower_bound(asked.devices());
  if (more != measured.end()) add(*more);
  if (from != measured.begin()) add(*std::prev(from));
  return others;
}

// Collective libraries treat two nodes specially: what is lost may be less on more nodes, by a factor that is known
// from other clusters only.
void ScalingSeries::consider_two_nodes(Start& start, const StepRow& asked) const {
  const bool from_two = start.step.nodes == 2 && asked.nodes > 2, to_two = start.step.nodes > 2 && asked.nodes == 2;
  if (!from_two && !to_two) return;
  const PlacementConstants& learned = constants_.placement;
  const bool shared = start.step.devices > 1;
  const double sd = std::hypot(learned.two_nodes_sd, shared ? learned.two_nodes_shared_sd : 0.0);
  const double factor = std::exp(learned.two_nodes + (shared ? learned.two_nodes_shared : 0.0) + normal_90 * sd);
  const double loss = start.question.loss;
  if (to_two) {
    start.step.high_s = std::max(start.step.high_s, start.step.micro_s * (1.0 + loss * (factor - 1.0)));
    start.notes.push_back("two nodes were not measured at this N; collective libraries treat them specially");
    return;
  }
  // What two nodes lose is communication beyond what the backward hides. On more nodes the communication may take
  // 1 / factor of that time, and the same backward hides all of it that it can.
  const double hidden = backward_share * (1.0 - loss);
  const double left = std::max(0.0, (loss + hidden) / factor - hidden);
  start.step.low_s = std::min(start.step.low_s, start.step.micro_s * (1.0 - loss + left));
  if (loss > hidden_loss_limit) {
    // A rank of a ring over n nodes sends (n - 1) / n of its bytes: up to twice as much as over two nodes.
    const double ring = 2.0 * ring_share(asked.nodes);
    start.step.high_s = std::max(start.step.high_s, start.step.micro_s * (1.0 + loss * (ring - 1.0)));
    start.question.loss = hidden_loss_limit;  // no further growth of what may become less
  }
  if (start.step.micro_s > noise_tolerance * start.step.low_s)
    start.notes.push_back(
        "the prediction starts from a measurement on two nodes, which collective libraries treat specially: a "
        "measurement of three nodes would narrow the interval most");
}

// If the rows differ by more than noise, it is not known which of them are right.
void ScalingSeries::consider_contradictions(Start& start, const MeasuredCurve& curve) const {
  if (!measured_.contradict()) return;
  for (const auto& [workers, step] : curve) {
    start.step.low_s = std::min(start.step.low_s, step.low_s);
    start.step.high_s = std::max(start.step.high_s, step.high_s);
  }
  start.notes.push_back("the measured steps differ by more than noise: the interval contains all of them");
}

std::shared_ptr<const MeasuredCurve> ScalingSeries::curve_of(const StepRow& asked, bool several_nodes) const {
  constexpr std::size_t most_curves = 32;
  const CurveKey key{several_nodes,   asked.nodes > 1,        asked.nodes == 2,
                     asked.devices(), asked.batch_per_worker, asked.accumulation};
  const std::lock_guard lock(curves_mutex_);
  if (const auto known = curves_.find(key); known != curves_.end()) return known->second;
  if (curves_.size() >= most_curves) curves_.clear();
  return curves_[key] = std::make_shared<const MeasuredCurve>(measured_.curve(asked, several_nodes));
}

ScalingSeries::Start ScalingSeries::start_of(const StepRow& asked) const {
  const auto curves = std::pair(curve_of(asked, false), curve_of(asked, true));
  const MeasuredCurve &one_node = *curves.first, &several = *curves.second;
  Start start = asked.nodes == 1 ? on_one_node(asked, one_node, several) : on_several_nodes(asked, one_node, several);
  consider_contradictions(start, (asked.nodes == 1 || several.empty()) && !one_node.empty() ? one_node : several);
  start.question.other_batch = start.step.by_line;
  const auto& [workers, step] = one_node.empty() ? *several.begin() : *one_node.begin();
  start.fewest_workers = workers;
  // The line through rows of other N contains what is lost there. In strong scaling, compute is what N ranks share.
  start.fewest_micro_s = step.by_line ? std::min(step.micro_s, step.proportional_s) : step.micro_s;
  start.fewest_by_line = step.by_line;
  return start;
}

// Lower and upper half of the interval of ln(step) that the batch adds: 0 between measured batches; beyond them the
// uncertainty of the law of compute, or without a law that of its exponent.
std::pair<double, double> ScalingSeries::batch_spread(const MeasuredStep& step, std::int64_t batch,
                                                      const TableOptions& options) const {
  if (!step.other_batch || step.by_line) return {0.0, 0.0};  // the learned spread of a line contains it
  if (alone_->beyond(batch) && alone_->law().usable) {
    stats::Random random(options.seed);
    std::vector<double> factors;
    for (int i = 0; i < options.draws; ++i) factors.push_back(std::log(alone_->drawn_factor(batch, random)));
    const auto [low, high] =
        stats::quantiles(factors, (1.0 - options.confidence) / 2.0, (1.0 + options.confidence) / 2.0);
    return {std::max(0.0, -low), std::max(0.0, high)};
  }
  const auto [least, most] = measured_.batches();
  const double beyond = std::numbers::ln2 * std::max({0.0, log2_ratio(batch, most), log2_ratio(least, batch)});
  const double half = normal_90 * interval_ratio(options.confidence) * batch_exponent_sd * beyond;
  return {half, half};
}

// Communication that a larger batch hides is exposed behind the shorter backward of a smaller one. How long it takes is
// not known: at most the backward that hid it. A rank of a ring over n nodes sends (n - 1) / n of its bytes.
double ScalingSeries::exposed_by_batch_s(const Start& start, const StepRow& asked) {
  const MeasuredStep& step = start.step;
  if (start.question.region == Region::first_crossing) return 0.0;  // that interval contains other links
  double most_s = step.measured_backward_s;
  if (step.nodes > 1 && asked.nodes > step.nodes) most_s *= ring_share(asked.nodes) / ring_share(step.nodes);
  return std::max(0.0, most_s - step.backward_s);
}

// Between two measured N, the interval is not narrower than that of a measured one.
Growth ScalingSeries::growth_with_noise(const GrowthQuestion& question, bool several_nodes, double confidence) const {
  Growth growth = growth_of(question, constants_.growth, confidence);
  if (question.region != Region::interpolated) return growth;
  const Region measured = several_nodes ? Region::several_nodes : Region::one_node;
  const Growth row = growth_of({measured, 0.0, 0.0, question.other_batch}, constants_.growth, confidence);
  growth.low = std::min(growth.low, growth.mean + row.low);
  growth.high = std::max(growth.high, growth.mean + row.high);
  return growth;
}

TablePrediction ScalingSeries::predict(const StepRow& asked, const TableOptions& options) const {
  const Start start = start_of(asked);
  TablePrediction prediction = continued(start, asked, options);
  for (const StepRow& other : other_placements(asked, start)) {
    const Start from = start_of(other);
    if (from.step.nodes == 1 || from.step.devices != other.devices()) continue;  // not from its own placement
    const TablePrediction there = continued(from, other, options);
    prediction.low_s = std::min(prediction.low_s, there.low_s);
    prediction.high_s = std::max(prediction.high_s, there.high_s);
  }
  return prediction;
}

TablePrediction ScalingSeries::continued(const Start& start, const StepRow& asked, const TableOptions& options) const {
  const MeasuredStep& step = start.step;
  const Growth growth = growth_with_noise(start.question, asked.nodes > 1, options.confidence);
  const auto rounds = static_cast<double>(asked.accumulation);
  TablePrediction prediction;
  prediction.step_s = rounds * step.micro_s * std::exp(growth.mean);
  const double own = normal_90 * measured_.scatter() * interval_ratio(options.confidence);
  const auto [batch_low, batch_high] = batch_spread(step, asked.batch_per_worker, options);
  const double low = std::hypot(growth.mean - growth.low, own, batch_low);
  const double high = std::hypot(growth.high - growth.mean, own, batch_high);
  prediction.low_s = prediction.step_s * step.low_s / step.micro_s * std::exp(-low);
  prediction.high_s = prediction.step_s * step.high_s / step.micro_s * std::exp(high);
  prediction.high_s = std::max(prediction.high_s, rounds * start.continued_s);
  // The last backward of a step hides communication, so this is once a step.
  if (const double more_s = exposed_by_batch_s(start, asked); more_s > 0.0) {
    const GrowthQuestion further{start.question.region, 0.0, 0.0, false};
    prediction.high_s =
        std::max(prediction.high_s, (prediction.step_s + more_s) *
                                        std::exp(growth_of(further, constants_.growth, options.confidence).high));
  }
  // Bytes do not depend on the batch: a smaller batch waits for links as long as the measured one.
  if (start.question.region == Region::first_crossing)
    prediction.high_s = std::max(prediction.high_s, rounds * step.high_s + step.own_step_s * std::expm1(growth.high));

  prediction.alone_s = rounds * start.fewest_micro_s;
  // Fewer ranks than were measured lose nothing that is known.
  if (start.fewest_by_line || asked.workers < start.fewest_workers)
    prediction.alone_s = std::min(prediction.alone_s, prediction.step_s);
  prediction.compute_s = std::min(prediction.step_s, prediction.alone_s);
  const double lost_s = prediction.step_s - prediction.compute_s;
  prediction.exposed_s = lost_s;
  if (step.sync_share >= 0.0 && asked.workers > 1) {  // what was added to the measured step is communication
    const double measured_s = rounds * step.micro_s;
    // The step of one rank is compute; that of more ranks contains communication, too.
    const double most_s = start.fewest_workers == 1 ? std::max(0.0, lost_s) : prediction.step_s;
    prediction.exposed_s = std::clamp(step.sync_share * measured_s + prediction.step_s - measured_s, 0.0, most_s);
    prediction.compute_s = std::min(prediction.compute_s, prediction.step_s - prediction.exposed_s);
    (asked.devices() > 1 && !start.fewest_by_line ? prediction.sharing_s : prediction.compute_s) +=
        prediction.step_s - prediction.compute_s - prediction.exposed_s;
  }
  prediction.communication_s = prediction.exposed_s;
  prediction.name_bound();
  // Input, storage and power are shared, too: step times alone do not separate them from communication.
  if (step.sync_share < 0.0 && prediction.bound == "communication") prediction.bound = shared_bound;

  for (const std::string& note : start.notes) prediction.add_note(note);
  if (start.fewest_workers > 1)
    prediction.add_note("one rank was not measured: compute and efficiency are relative to " +
                        n_text(start.fewest_workers));
  if (step.by_line || start.fewest_by_line)
    prediction.add_note(
        "compute at this batch is not known, because N and the batch change together: the step is a line in the batch "
        "through all rows, compute is in proportion to the batch, and the exposed part contains a rank's fixed time");
  else if (!measured_.has_accumulation(asked.accumulation))
    prediction.add_note(std::to_string(asked.accumulation) +
                        " micro-batches per step were not measured: how much communication they hide is not known");
  else if (start.notes.empty() && (step.other_batch || step.other_accumulation) &&
           (step.high_s > step.micro_s || step.low_s < step.micro_s))
    prediction.add_note(std::string(step.other_batch ? "the batch" : "the accumulation") +
                        " was not measured at this N: how much communication it hides is not known");
  return prediction;
}

}  // namespace ddpprof::fit
