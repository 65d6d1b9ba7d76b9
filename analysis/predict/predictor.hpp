// One strategy's prediction at any N: the simulator fed with measured profiles and fitted parameters.
//
// At a measured N the profile is that N's own; elsewhere it is the one with the nearest ranks per host (of those the
// nearest N), its compute scaled by the compute fit, its collectives costed by the all-reduce fit. Each measured N
// gives calibration factors: compute, input and gaps are that N's own medians, so what the model misses is first sought
// in the waiting (exposed communication and skew), the rest spread over the step. Between measured ranks per host (and
// N) they are interpolated in the logarithm, beyond them the last are kept. The interval is a Monte Carlo over the
// fits' covariances, the competing forms of the all-reduce, the noise of the medians (between repeats, too), the
// straggler's spread, how compute grows with the batch where a change asks that, and the drift of the waiting beyond
// the data. Every draw is calibrated anew, as each must give
// what was measured where it was measured; none may be faster than fewer ranks were on as easy a machine. A row that
// was measured shows what was measured: its median step, its interval and its parts.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/fit/models.hpp"
#include "analysis/predict/predict.hpp"
#include "analysis/predict/what_if.hpp"
#include "simulator/stats/interval.hpp"
#include "simulator/step/ddp_step.hpp"

namespace ddpprof::fit {

// A step split so that step = compute + exposed + skew + other. For dp, communication and exposed are the copies.
struct Terms {
  double compute_s = 0.0;
  double exposed_s = 0.0;
  double skew_s = 0.0;
  double other_s = 0.0;
  double communication_s = 0.0;
  double latency_s = 0.0;    // of communication_s
  double bandwidth_s = 0.0;  // of communication_s
  double input_s = 0.0;      // of other_s

  double step_s() const { return compute_s + exposed_s + skew_s + other_s; }
};

struct SimulatedStep;  // lanes.hpp

// How many times as large a change makes a micro-batch, and how many times as many of them it makes a step.
double batch_ratio(const StepProfile&, const WhatIf&);
double rounds_ratio(const StepProfile&, const WhatIf&);

struct Outlook {
  Terms terms;
  double low_s = 0.0, high_s = 0.0;  // of the step
  std::string why_not;               // of a curve's point without figures
};

// How far and for what Predictor::knees looks.
struct KneeSearch {
  std::vector<double> shares = {scaling::knee_shares.begin(), scaling::knee_shares.end()};
  std::int64_t furthest = knee_search_limit;
  std::function<bool()> stop;  // asked at every N
};

class Predictor {
 public:
  // Empty when the strategy can be predicted, else why not.
  std::string refusal(std::int64_t workers) const;

  Predictor(const Models&, std::string strategy, const PredictOptions&);

  Prediction predict(std::int64_t workers, const std::vector<TermGain>& why) const;  // why: gains(workers)
  // A prediction's figures alone, under a change or none: what a plot needs at each of many N. Throws
  // std::invalid_argument where there is none: with a refusal, or why the change cannot be.
  Outlook outlook(std::int64_t workers, const WhatIf& = {}) const;
  // The same at each of many N, on as many threads as there are processors; where there is none, `why_not` is set.
  std::vector<Outlook> curve(std::span<const std::int64_t> workers, const WhatIf& = {}) const;
  // How much of the step each term would give back if it were free, with the options' change or without: shares of that
  // step, none below 0, in the order of Term.
  std::vector<TermGain> gains(std::int64_t workers, bool with_change = false) const;
  std::vector<TermGain> gains(std::int64_t workers, const WhatIf&) const;  // with this change instead
  // The options' change beside what is predicted without. Throws std::invalid_argument where it cannot be: more servers
  // than workers, say. Its bounds are left open.
  WhatIfRow what_if(std::int64_t workers) const;
  WhatIfRow what_if(std::int64_t workers, const WhatIf&) const;  // this change instead
  // The same job on another machine beside this one: a predictor of the same models and options but for that. Throws
  // std::invalid_argument with its refusal or this one's.
  WhatIfRow on(const Predictor& other, std::int64_t workers) const;
  // Samples a second of so many workers whose step takes so long, under a change that may alter the batch.
  double throughput(std::int64_t workers, double step_s, const WhatIf& = {}) const;
  // The measurement that would narrow the prediction at `workers` most, of those that could be added: this strategy at
  // another N up to eight times the largest, or a sweep of all-reduces. None when none would narrow it by a fifth.
  std::optional<NextMeasurement> next_measurement(std::int64_t workers) const;
  // What a run with the change's batch would make of the change's interval. None where the change has the measured
  // batch, or its batch was measured.
  std::optional<NextMeasurement> next_batch(std::int64_t workers, const WhatIf&) const;
  // What a change of the batch assumes, where nothing that was measured tells it; empty otherwise.
  std::string batch_assumption(const WhatIf&) const;
  // Why a change says nothing about this strategy; empty when it does.
  std::string no_change(const WhatIf&) const;
  std::string no_change_at(std::int64_t workers, const WhatIf&) const;  // … at so many workers
  // The measured terms where there are any, else the model's, calibrated, with the best parameters.
  Terms central(std::int64_t workers) const;
  // Where the median measured step went: the means of the steps' own shares of it. None where N was not measured so, or
  // what was in flight was not recorded.
  std::optional<Terms> recorded(std::int64_t workers) const;
  // Where communication takes over, by share; empty where no N from 2 on can be predicted, none at all when it was
  // stopped. N that cannot be predicted are passed over. Up to the same `furthest` the answer hangs on
  // measurements, machine and change alone.
  std::optional<std::vector<Knee>> knees(const WhatIf& = {}, const KneeSearch& = {}) const;
  // How far to look for them where `asked` is the largest N asked about: to knee_search_limit, or there if that is
  // further. Another strategy is simulated transfer by transfer: no further than there, or the largest measured N.
  std::int64_t knees_up_to(std::int64_t asked, const WhatIf&) const;
  // The simulation behind the model's terms, as it ran before it was calibrated. Throws std::invalid_argument with a
  // refusal.
  SimulatedStep simulated_step(std::int64_t workers) const;
  // Its interval spans more than a factor of ten.
  static bool is_wide(const Prediction&);
  // How many times the waiting the fits give was measured at the largest N, or the step where that is more.
  double largest_correction() const;
  std::int64_t largest_measured() const;

 private:
  // Another strategy's step is simulated task by task: fewer draws carry its interval.
  static constexpr std::size_t draws_of_strategies = 40;

  struct Draw {
    const FormFit* form = nullptr;  // none when the all-reduce is not fitted (N = 1 alone)
    std::vector<double> link, compute, copies;
    double straggler = 1.0;                          // times its expected lateness
    double profile = 0.0, drift = 0.0, batch = 0.0;  // standard normal
    const BatchLaw* batch_law = nullptr;             // none: the picked one, or none was fitted
    double batch_own = 0.0;                          // the law's own parameter
    std::vector<double> levels;                      // standard normal, of each measured N's median step
  };

  // What all draws share: a machine under a change.
  struct Case {
    Machine machine;
    WhatIf change;
    const StepProfile* profile = nullptr;
    bool measured = false;              // the profile was taken on this very machine
    ComputeFit::LogCompute log_scale;   // of its compute, from where the profile was taken to here
    double lateness = 0.0;              // expected, of the slowest rank, as a share of the measured passes
    std::vector<Bucket> buckets;        // ddp's, under the change
    double copy_back_s_per_byte = 0.0;  // at the profile's compute
    double slowdown = 1.0;
    double buffers_s = 0.0;     // at the links as fitted
    double least_step_s = 0.0;  // that all ranks' work takes on the cores they share
  };

  // Measured over modelled at one N, as logarithms.
  struct Calibration {
    std::int64_t workers = 1;
    std::int64_t ranks_per_machine = 1;
    double waiting = 0.0;  // on exposed communication and skew, within a factor of five either way
    double missed = 0.0;   // of the waiting, as a share of the communication in flight: no logarithm
    double step = 0.0;     // on the whole step, for what is left
    double raw = 0.0;      // of the step before either
    double waiting_less_1 = 0.0, step_factor = 1.0;  // exp(waiting) - 1 and exp(step)
  };
  using Calibrations = std::vector<Calibration>;  // by ranks per host, then N

  // Why nothing can be said of so many workers, under the change; empty otherwise.
  std::string why_none(std::int64_t workers, const WhatIf&) const;
  Draw best() const;
  std::vector<Draw> draws() const;
  const std::map<std::int64_t, StepProfile>& profiles() const;
  const ComputeFit& compute() const;
  Machine machine_for(std::int64_t workers) const;
  // The profile measured on this very machine, or null.
  const StepProfile* measured_on(const Machine&) const;
  const StepProfile& nearest(const Machine&) const;
  Case case_of(const Machine&, const WhatIf&) const;
  Case case_at(std::int64_t workers, const WhatIf& = {}) const;  // each rank on its own cores where sharing is free
  Terms model(const Case&, const Draw&) const;
  Terms ddp_terms(const Case&, const Draw&) const;
  Terms dp_terms(const Case&, const Draw&) const;
  // The terms of each of the first samples.
  std::vector<Terms> model_samples(const Case&, std::size_t count) const;
  bool runs_at_once(const Case&) const;  // so that one call simulates many draws
  std::vector<Terms> ddp_terms_at_once(const Case&, std::span<const Draw* const>) const;
  std::vector<Terms> ddp_terms_of_algorithm(const Case&, std::span<const Draw* const>) const;
  // Compute's factor to the profile's; of forward and backward alone, that of a changed batch.
  double scale(const Case&, const Draw&) const;
  double passes(const Case&, const Draw&) const;
  // Forward and backward of one micro-batch under a change, over the profile's.
  double passes(const StepProfile&, const WhatIf&, const Draw&) const;
  // Of it what the batch makes.
  double batch_factor(const StepProfile&, const WhatIf&, const Draw&) const;
  // A DDP step before its straggler.
  step::DdpStep ddp_step(const Case&, const Draw&, double scale) const;
  // A DataParallel step's copies; of one replica where there are none.
  step::DataParallelStep copies_step(const Case&, const Draw&) const;
  double copy_back_s_per_byte(const StepProfile&, const std::vector<Bucket>&) const;
  double buffers_s(const StepProfile&, const Machine&) const;
  // How much longer the broadcast of buffers takes where latency changes: along a tree, as much as its hops explain.
  static double slower_broadcast_s(const Case&, const Draw&);
  double all_work_s(const Case&) const;
  // The model with a change, calibrated as without.
  Terms changed(const Case&, const Draw&, const Calibrations&, double drift) const;
  // The step of each sample, or of the first so many.
  std::vector<double> changed_samples_s(const Case&, double drift_sd, std::size_t most = SIZE_MAX) const;
  double lateness(const StepProfile&, const Machine&) const;
  double slowdown() const;
  Calibrations calibrate(const Draw&) const;
  // How much each of them counts on a machine.
  static std::vector<double> weights(const Calibrations&, const Machine&);
  static Calibration mean(const Calibrations&, const std::vector<double>& weights);
  static Calibration calibration(const Calibrations&, const Machine&);
  // What was missed grows with the communication, and never by more than in proportion to the waiting itself: where
  // compute hides nearly all, a small remainder says little of how it grows.
  static Terms calibrated(Terms, const Calibration&, double drift);
  // The profile's buckets, or another N's stretched to its backward, or one for all parameters at its end.
  std::vector<Bucket> buckets_of(const StepProfile&) const;
  std::vector<Bucket> buckets_under(const StepProfile&, const WhatIf&) const;
  // How the waiting's logarithm may drift beyond the measured N: standard deviations.
  struct Drift {
    double a_doubling = 0.0;
    double at_start = 0.0;   // where no measured N shows what the waiting is
    double doublings = 0.0;  // of N, beyond what was measured
  };
  Drift drift(const Machine&) const;
  double drift_sd(const Machine&) const;                      // of it all
  std::vector<double> log_steps(std::int64_t workers) const;  // of each draw, without drift
  Terms modelled(std::int64_t workers) const;
  static Terms with_all_work(Terms, const Case&, bool dp);
  static std::optional<Terms> recorded(const StepProfile&, const Terms& modelled);
  stats::Interval interval(std::int64_t workers) const;
  // Quantiles of the samples' steps; no middle.
  stats::Interval interval_of(const std::vector<double>& steps_s, double least_s) const;
  // The low end of what fewer ranks took on a machine no harder than this one.
  double least_s(const Machine&) const;
  std::string note(std::int64_t workers) const;
  std::string regimes_text(const Regimes&, std::int64_t workers) const;

  const Models& models_;
  std::string strategy_;
  PredictOptions options_;
  bool asked_dedicated_ = false;                                // as the options said before DataParallel took it back
  Calibrations calibrations_;                                   // with the best parameters
  std::map<std::int64_t, stats::Interval> measured_intervals_;  // by measured N: of its median step
  struct Sample {
    Draw draw;
    Calibrations calibrations;
  };
  std::vector<Sample> samples_;

  friend struct PredictorJudge;  // a test that both ways to simulate the samples agree
};

}  // namespace ddpprof::fit
