#include "analysis/predict/lanes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddpprof::fit {
namespace {

using step::Lane;
using step::Segment;
using step::SegmentKind;
using step::StepLanes;

constexpr double rounding = 1e-9;           // share of a step: smaller differences are ignored
constexpr std::int64_t replicas_shown = 8;  // with one lane each; one more lane shows all others

std::string number(std::int64_t value) { return std::to_string(value); }

// The pieces of the step's own thread. Each has a duration in the simulation and a shown duration.
class Thread {
 public:
  void add(std::string name, SegmentKind kind, double raw_s, double shown_s, std::optional<std::int64_t> bytes = {}) {
    pieces_.push_back({std::move(name), kind, raw_s, std::max(0.0, shown_s), bytes});
  }

  // Makes the thread end at step_s. Returns a remark if pieces had to be shortened, else an empty text.
  std::string fit_to(double step_s) {
    double sum_s = 0.0;
    for (const Piece& piece : pieces_) sum_s += piece.shown_s;
    const double missing_s = step_s - sum_s;
    if (missing_s > rounding * step_s) {
      add("not modelled", SegmentKind::not_modelled, 0.0, missing_s);
      return "";
    }
    if (sum_s > 0.0) drawn_ = step_s / sum_s;
    for (Piece& piece : pieces_) piece.shown_s *= drawn_;
    return missing_s < -rounding * step_s
               ? "the medians of the parts add up to more than the step: all parts are shortened by one factor"
               : "";
  }

  // Returns the factor by which fit_to() changed the pieces.
  double drawn() const { return drawn_; }

  // Returns the shown time of a simulated time. At the boundary between two pieces it is the end of the first, before
  // the inserted wait for slower ranks.
  double shown_at(double raw_s) const {
    double raw_begin_s = 0.0, shown_begin_s = 0.0;
    for (const Piece& piece : pieces_) {
      const double raw_end_s = raw_begin_s + piece.raw_s;
      if (raw_s <= raw_end_s + seam_s) {
        const double share = piece.raw_s > 0.0 ? std::clamp((raw_s - raw_begin_s) / piece.raw_s, 0.0, 1.0) : 0.0;
        return shown_begin_s + share * piece.shown_s;
      }
      raw_begin_s = raw_end_s;
      shown_begin_s += piece.shown_s;
    }
    return shown_begin_s;
  }

  // Returns the segment of the piece with this name.
  Segment find(const std::string& name) const {
    double begin_s = 0.0;
    for (const Piece& piece : pieces_) {
      if (piece.name == name) return {name, piece.kind, begin_s, begin_s + piece.shown_s, piece.bytes};
      begin_s += piece.shown_s;
    }
    return {};
  }

  Lane lane(std::string name, double step_s) const {
    Lane lane{std::move(name), {}};
    double at_s = 0.0;
    for (const Piece& piece : pieces_) {
      const double end_s = at_s + piece.shown_s;
      if (end_s > at_s) lane.segments.push_back({piece.name, piece.kind, at_s, end_s, piece.bytes});
      at_s = end_s;
    }
    if (!lane.segments.empty()) lane.segments.back().end_s = step_s;
    return lane;
  }

 private:
  static constexpr double seam_s = 1e-12;

  struct Piece {
    std::string name;
    SegmentKind kind;
    double raw_s, shown_s;
    std::optional<std::int64_t> bytes;
  };
  std::vector<Piece> pieces_;
  double drawn_ = 1.0;
};

double factor(double target_s, double raw_s) { return raw_s > 0.0 ? std::max(0.0, target_s) / raw_s : 0.0; }

double gaps_s(const Terms& terms) { return terms.other_s - terms.input_s + terms.host_gap_s; }

// Phases are drawn with the time between their kernels. A median of differences may be negative beside a sum of
// medians. Compute is then shortened by it.
double compute_target_s(const Terms& terms) {
  return terms.compute_s + terms.host_inside_s() + std::min(0.0, gaps_s(terms));
}

double rest_s(const Terms& terms) { return std::max(0.0, gaps_s(terms)); }

void set_host(StepLanes& out, const Terms& terms, double drawn) {
  const Terms measured = as_measured(terms);
  out.host_in_compute_s = measured.host_inside_s() * drawn;
  out.exposed_in_compute_s = (measured.exposed_s - terms.exposed_s) * drawn;
  out.host_in_other_s = terms.host_gap_s * drawn;
}

std::string forward_name(std::int64_t accumulation) {
  return accumulation > 1 ? "forward, after " + number(accumulation - 1) + " earlier micro-batches" : "forward";
}

// Adds gradients and launches of the buckets, the all-reduces on one lane for each in flight, and the copies back.
void add_buckets(StepLanes& out, const SimulatedStep& simulated, const Thread& thread, double backward_raw_s) {
  const step::DdpResult& result = simulated.result;
  const auto at = [&](double s) { return thread.shown_at(backward_raw_s + s); };
  const Segment skew = thread.find("waiting for slower ranks");
  Lane moments{"buckets", {}};
  std::vector<Lane> lanes;
  std::vector<double> free_s;  // of each lane, in the simulation
  for (std::size_t i = 0; i < result.buckets.size(); ++i) {
    const step::BucketTimes& times = result.buckets[i];
    const std::string bucket = "bucket " + std::to_string(i);
    const std::int64_t bytes = simulated.buckets[i].bytes;
    moments.segments.push_back({bucket + " ready", SegmentKind::gradient, at(times.ready_s), at(times.ready_s), bytes});
    if (simulated.workers == 1 || !(times.end_s > times.start_s)) continue;
    moments.segments.push_back(
        {bucket + " launched", SegmentKind::launch, at(times.launch_s), at(times.launch_s), bytes});
    std::size_t lane = 0;
    while (lane < free_s.size() && free_s[lane] > times.start_s) ++lane;
    if (lane == free_s.size()) {
      free_s.push_back(0.0);
      lanes.push_back({"all-reduce " + std::to_string(lane + 1), {}});
    }
    free_s[lane] = times.end_s;
    const double begin_s = at(times.start_s), end_s = at(times.end_s);
    const auto part = [&](SegmentKind kind, const std::string& what, double from_s, double to_s) {
      from_s = std::max(from_s, begin_s);
      to_s = std::min(to_s, end_s);
      if (to_s > from_s) lanes[lane].segments.push_back({"all-reduce of " + bucket + what, kind, from_s, to_s, bytes});
    };
    part(SegmentKind::overlapped, "", 0.0, skew.begin_s);
    part(SegmentKind::skew, ": waiting for slower ranks", skew.begin_s, skew.end_s);
    part(SegmentKind::exposed, "", skew.end_s, std::numeric_limits<double>::infinity());
  }
  std::stable_sort(moments.segments.begin(), moments.segments.end(),
                   [](const Segment& a, const Segment& b) { return a.begin_s < b.begin_s; });
  if (!moments.segments.empty()) out.lanes.push_back(std::move(moments));
  for (Lane& lane : lanes) out.lanes.push_back(std::move(lane));

  Lane back{"copies back", {}};
  double done_s = result.backward_s;
  for (std::size_t i = 0; i < result.buckets.size(); ++i) {
    const double begin_s = std::max(done_s, result.buckets[i].end_s);
    done_s = begin_s + simulated.work.buckets[i].copy_back_s;
    // At the boundary, a copy comes after the wait for slower ranks.
    const double shown_begin_s = std::max(at(begin_s), skew.end_s), shown_end_s = at(done_s);
    if (shown_end_s > shown_begin_s)
      back.segments.push_back({"copy back of bucket " + std::to_string(i), SegmentKind::own_copy, shown_begin_s,
                               shown_end_s, simulated.buckets[i].bytes});
  }
  if (!back.segments.empty()) out.lanes.push_back(std::move(back));
}

StepLanes ddp_lanes(const SimulatedStep& simulated, StepLanes out) {
  const step::DdpStep& work = simulated.work;
  const step::DdpResult& result = simulated.result;
  const Terms& terms = simulated.terms;
  const bool alone = simulated.workers == 1;
  const double tail_raw_s = result.finish_s - result.backward_s - result.exposed_copy_s;
  double compute_raw_s = work.forward_s + result.backward_s + result.exposed_copy_s + work.optimizer_s;
  double exposed_raw_s = work.buffers_s + tail_raw_s;
  if (alone) {  // one rank does not communicate
    compute_raw_s += exposed_raw_s;
    exposed_raw_s = 0.0;
  }
  const double compute = factor(compute_target_s(terms), compute_raw_s);
  const double exposed = alone ? compute : factor(terms.exposed_s, exposed_raw_s);

  Thread thread;
  thread.add("input", SegmentKind::data, work.data_s, terms.input_s);
  thread.add("buffers", alone ? SegmentKind::own_copy : SegmentKind::exposed, work.buffers_s, work.buffers_s * exposed);
  thread.add(forward_name(simulated.accumulation), SegmentKind::forward, work.forward_s, work.forward_s * compute);
  thread.add("backward", SegmentKind::backward, result.backward_s, result.backward_s * compute);
  thread.add("waiting for slower ranks", SegmentKind::skew, 0.0, terms.skew_s);
  thread.add("waiting for all-reduces", alone ? SegmentKind::own_copy : SegmentKind::exposed, tail_raw_s,
             tail_raw_s * exposed);
  thread.add("copies back", SegmentKind::own_copy, result.exposed_copy_s, result.exposed_copy_s * compute);
  thread.add("optimizer", SegmentKind::optimizer, work.optimizer_s, work.optimizer_s * compute);
  thread.add("other", SegmentKind::other, std::max(0.0, simulated.gap_s), rest_s(terms));
  out.note = thread.fit_to(out.step_s);
  set_host(out, terms, thread.drawn());
  out.lanes.push_back(thread.lane("a median rank", out.step_s));
  add_buckets(out, simulated, thread, work.data_s + work.buffers_s + work.forward_s);
  return out;
}

// Adds the copies to and from each replica, and its passes.
void add_replicas(StepLanes& out, const SimulatedStep& simulated, const Thread& thread) {
  const step::DataParallelStep& copying = simulated.copying;
  const std::int64_t replicas = copying.replicas;
  if (replicas < 2) return;
  const std::int64_t lanes = std::min(replicas, replicas_shown);
  struct Copy {
    const char* name;
    const char* turn;
    double bytes, s_per_byte;
  };
  const Copy sent[] = {{"replicate", "parameters received", copying.parameter_bytes, copying.root_s_per_byte},
                       {"scatter", "inputs received", copying.input_bytes, copying.root_s_per_byte},
                       {"gather", "outputs given", copying.output_bytes, copying.to_root_s_per_byte},
                       {"reduce", "gradients given", copying.parameter_bytes, copying.to_root_s_per_byte}};
  const std::string forward = forward_name(simulated.accumulation);
  for (std::int64_t i = 0; i < lanes; ++i) {
    const std::int64_t last = i + 1 == lanes ? replicas - 1 : i;
    Lane lane{last == i ? "replica " + number(i) : "replicas " + number(i) + " … " + number(last) + ", alike", {}};
    for (const Copy& copy : sent) {
      const Segment whole = thread.find(copy.name);
      const double each_s = copying.copy_overhead_s + copy.bytes * copy.s_per_byte;
      const double own_s = copying.copy_overhead_s + copying.own_copy * copy.bytes * copy.s_per_byte;
      const double all_s = own_s + static_cast<double>(replicas - 1) * each_s;
      const auto until = [&](std::int64_t count) {  // end of the copies of the first `count` replicas
        const double done_s = count == 0 ? 0.0 : own_s + static_cast<double>(count - 1) * each_s;
        return all_s > 0.0 ? whole.begin_s + whole.duration_s() * done_s / all_s : whole.begin_s;
      };
      const double begin_s = until(i), end_s = until(last + 1);
      if (end_s > begin_s)
        lane.segments.push_back({copy.turn, SegmentKind::copies, begin_s, end_s,
                                 std::llround(static_cast<double>(last - i + 1) * copy.bytes)});
    }
    for (const std::string& name : {forward, std::string("backward")})
      if (const Segment pass = thread.find(name); pass.duration_s() > 0.0) lane.segments.push_back(pass);
    std::sort(lane.segments.begin(), lane.segments.end(),
              [](const Segment& a, const Segment& b) { return a.begin_s < b.begin_s; });
    out.lanes.push_back(std::move(lane));
  }
}

StepLanes dp_lanes(const SimulatedStep& simulated, StepLanes out) {
  const step::DataParallelStep& copying = simulated.copying;
  const step::DataParallelResult& copies = simulated.copies;
  const Terms& terms = simulated.terms;
  const double compute = factor(compute_target_s(terms), copying.forward_s + copying.backward_s + copying.optimizer_s);
  const double exposed = factor(terms.exposed_s, copies.copies_s);
  const double gap_s = std::max(0.0, simulated.gap_s);
  const double rest = factor(rest_s(terms), simulated.buffers_s + gap_s);
  const auto bytes = [&](double of_one) { return std::llround(static_cast<double>(copying.replicas) * of_one); };

  Thread thread;
  thread.add("input", SegmentKind::data, copying.data_s, terms.input_s);
  thread.add("buffers", SegmentKind::other, simulated.buffers_s, simulated.buffers_s * rest);
  const auto copy = [&](const char* name, double raw_s, double of_one) {
    thread.add(name, SegmentKind::copies, raw_s, raw_s * exposed, bytes(of_one));
  };
  copy("replicate", copies.replicate_s, copying.parameter_bytes);
  copy("scatter", copies.scatter_s, copying.input_bytes);
  thread.add(forward_name(simulated.accumulation), SegmentKind::forward, copying.forward_s,
             copying.forward_s * compute);
  copy("gather", copies.gather_s, copying.output_bytes);
  thread.add("backward", SegmentKind::backward, copying.backward_s, copying.backward_s * compute);
  copy("reduce", copies.reduce_s, copying.parameter_bytes);
  thread.add("optimizer", SegmentKind::optimizer, copying.optimizer_s, copying.optimizer_s * compute);
  thread.add("other", SegmentKind::other, gap_s, gap_s * rest);
  out.note = thread.fit_to(out.step_s);
  set_host(out, terms, thread.drawn());
  out.lanes.push_back(thread.lane("device 0", out.step_s));
  add_replicas(out, simulated, thread);
  return out;
}

}  // namespace

StepLanes simulated_lanes(const SimulatedStep& simulated) {
  StepLanes out;
  out.strategy = simulated.strategy;
  out.workers = simulated.workers;
  out.simulated = true;
  out.step_s = simulated.step_s;
  return simulated.strategy == "dp" ? dp_lanes(simulated, std::move(out)) : ddp_lanes(simulated, std::move(out));
}

StepLanes simulated_lanes(const Predictor& predictor, std::int64_t workers) {
  return simulated_lanes(simulated_step(predictor, workers));
}

StepLanes simulated_lanes(std::shared_ptr<const Models> models, const std::string& strategy, std::int64_t workers,
                          const PredictOptions& options) {
  PredictOptions without_draws = options;
  without_draws.draws = 0;  // draws are needed for intervals only, and lanes do not show intervals
  return simulated_lanes(make_predictor(std::move(models), strategy, without_draws), workers);
}

}  // namespace ddpprof::fit
