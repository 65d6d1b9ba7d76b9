// Decides whether a time differs between two files.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/report/tables/compare/compare_parts.hpp"
#include "simulator/stats/ratio.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

std::string one_repeat_where(std::size_t repeats_a, std::size_t repeats_b) {
  if (repeats_a > 1 && repeats_b > 1) return "";
  return repeats_a > 1 ? "B" : repeats_b > 1 ? "A" : "both files";
}

// The time is 0 in some steps, so a ratio does not exist and the interval of B − A is used. The difference between runs
// cannot be given as a share of such a time, so one repeat never shows a difference.
void judge_difference(Difference& d, const stats::Interval& b_less_a, const std::string& one_repeat) {
  d.why = fmt::format("its time is 0 in some steps, so there is no ratio: B − A is between {} and {}",
                      signed_time(b_less_a.low), signed_time(b_less_a.high));
  const double negligible_s = negligible_of_step * d.pair->step_a_s;
  const bool apart = b_less_a.low > 0.0 || b_less_a.high < 0.0;
  d.verdict = cannot_tell;
  if (b_less_a.achieved_confidence < metrics::confidence) {
    d.why += fmt::format("; too few steps: the interval covers only {}; measure at least 6 steps",
                         units::percent(b_less_a.achieved_confidence));
  } else if (apart && one_repeat.empty()) {
    d.verdict = different;
  } else if (apart) {
    d.why += fmt::format("; one repeat in {}: two runs of the same thing may differ; measure more repeats", one_repeat);
  } else if (b_less_a.high <= negligible_s && b_less_a.low >= -negligible_s) {
    d.verdict = no_difference;
  } else {
    d.why += "; the interval is too wide; measure more repeats or steps";
  }
}

// Means are not 0, so with one repeat the interval must exclude the difference that two runs may have.
void judge_means(Difference& d, const stats::Interval& b_less_a, const std::string& one_repeat) {
  d.why = fmt::format("its time is 0 in most steps, so means are compared: B − A is between {} and {}",
                      signed_time(b_less_a.low), signed_time(b_less_a.high));
  const double negligible_s = negligible_of_step * d.pair->step_a_s;
  d.verdict = cannot_tell;
  if (b_less_a.achieved_confidence < metrics::confidence) {
    d.why += fmt::format("; too few steps: the interval covers only {}; measure at least 6 steps",
                         units::percent(b_less_a.achieved_confidence));
  } else if (b_less_a.low > 0.0 || b_less_a.high < 0.0) {
    const bool beyond =
        d.a_s > 0.0 && d.b_s > 0.0 && (b_less_a.low > run_to_run * d.a_s || b_less_a.high < -run_to_run * d.b_s);
    if (one_repeat.empty() || beyond)
      d.verdict = different;
    else
      d.why += fmt::format("; one repeat in {}: two runs of the same thing may differ by {}; measure more repeats",
                           one_repeat, units::percent(run_to_run));
  } else if (b_less_a.high <= negligible_s && b_less_a.low >= -negligible_s) {
    d.verdict = no_difference;
  } else {
    d.why += "; the interval is too wide; measure more repeats or steps";
  }
}

bool positive(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value > 0.0; });
}

// Reduces samples to at most `samples_most` blocks of neighbours, each with its `middle`. This limits the work of the
// bootstrap, and correlated neighbours do not count as independent.
Samples thinned(const Samples& repeats, double (*middle)(std::span<const double>) = stats::median) {
  constexpr std::size_t samples_most = 200;
  Samples all;
  for (const std::vector<double>& repeat : repeats) {
    const std::size_t blocks = std::min(repeat.size(), samples_most);
    std::vector<double>& kept = all.emplace_back();
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t from = block * repeat.size() / blocks, to = (block + 1) * repeat.size() / blocks;
      kept.push_back(middle(std::span(repeat).subspan(from, to - from)));
    }
  }
  return all;
}

// Interval of mean(log b) - mean(log a). Returns nothing with fewer than 3 samples in a or b.
std::optional<stats::Interval> student_ratio(const std::vector<double>& b, const std::vector<double>& a) {
  constexpr std::size_t fewest = 3;
  if (a.size() < fewest || b.size() < fewest) return std::nullopt;
  struct Side {
    double mean = 0, variance_of_mean = 0, degrees = 0;
    explicit Side(const std::vector<double>& values) {
      std::vector<double> logs;
      for (const double value : values) logs.push_back(std::log(value));
      const auto n = static_cast<double>(logs.size());
      mean = stats::mean(logs);
      variance_of_mean = std::pow(stats::standard_deviation(logs), 2) / n;
      degrees = n - 1.0;
    }
  };
  const Side above(b), below(a);
  const double variance = above.variance_of_mean + below.variance_of_mean, mid = above.mean - below.mean;
  double half = 0.0;
  if (variance > 0.0) {
    const double degrees =
        variance * variance /
        (std::pow(above.variance_of_mean, 2) / above.degrees + std::pow(below.variance_of_mean, 2) / below.degrees);
    half = stats::student_quantile(0.5 * (1.0 + metrics::confidence), std::max(1.0, degrees)) * std::sqrt(variance);
  }
  return stats::Interval{std::exp(mid - half), std::exp(mid), std::exp(mid + half), metrics::confidence};
}

Difference judged_means(const Pair& pair, const std::string& what, const Samples& in_a, const Samples& in_b) {
  Difference d = judged_by_cycle(pair, what, in_a, in_b).value_or(Difference{});
  const bool judged = d.pair != nullptr;
  d.pair = &pair;
  d.what = what;
  d.a_s = mean_of(in_a);
  d.b_s = mean_of(in_b);
  if (!judged)
    judge_means(d, mean_difference_interval(thinned(in_b, stats::mean), thinned(in_a, stats::mean)),
                one_repeat_where(in_a.size(), in_b.size()));
  return d;
}

}  // namespace

std::vector<double> joined(const Samples& repeats) {
  std::vector<double> all;
  for (const auto& one : repeats) all.insert(all.end(), one.begin(), one.end());
  return all;
}

void judge_ratio(Difference& d, std::size_t repeats_a, std::size_t repeats_b) {
  const std::string one_repeat = one_repeat_where(repeats_a, repeats_b);
  const stats::Interval& ratio = *d.ratio;
  const double widest = 1.0 + run_to_run;
  if (ratio.achieved_confidence < metrics::confidence) {
    d.verdict = cannot_tell;
    d.why = fmt::format("too few steps: the interval covers only {}; measure at least 6 steps",
                        units::percent(ratio.achieved_confidence));
  } else if (ratio.low > 1.0 || ratio.high < 1.0) {
    const bool beyond = ratio.low > widest || ratio.high < 1.0 / widest;
    d.verdict = one_repeat.empty() || beyond ? different : cannot_tell;
    if (d.verdict == cannot_tell) {
      d.why = fmt::format("one repeat in {}: two runs of the same thing may differ by {}; measure more repeats",
                          one_repeat, units::percent(run_to_run));
    }
  } else if (ratio.high <= widest && ratio.low >= 1.0 / widest) {
    d.verdict = no_difference;
  } else {
    d.verdict = cannot_tell;
    d.why = "the interval is too wide; measure more repeats or steps";
  }
}

std::optional<Difference> judged(const Pair& pair, std::string what, const Samples& in_a, const Samples& in_b) {
  const std::vector<double> a = joined(in_a), b = joined(in_b);
  Difference d;
  d.pair = &pair;
  d.what = std::move(what);
  d.a_s = stats::median(a);
  d.b_s = stats::median(b);
  if (d.a_s == 0.0 && d.b_s == 0.0) return std::nullopt;
  if (positive(a) && positive(b)) {
    d.ratio = stats::clustered_ratio_interval(in_b, in_a, metrics::confidence);
    // A resampling of few steps does not reach the confidence. Student's interval does, and it is wide for few steps.
    if (d.ratio->achieved_confidence < metrics::confidence && in_a.size() == 1 && in_b.size() == 1)
      if (const auto interval = student_ratio(b, a)) d.ratio = interval;
    judge_ratio(d, in_a.size(), in_b.size());
  } else {
    judge_difference(d, stats::clustered_difference_interval(in_b, in_a, metrics::confidence),
                     one_repeat_where(in_a.size(), in_b.size()));
  }
  return d;
}

std::optional<Difference> judged_work(const Pair& pair, std::string what, const Samples& in_a, const Samples& in_b) {
  const std::vector<double> a = joined(in_a), b = joined(in_b);
  if (a.empty() || b.empty()) return std::nullopt;
  if (lacking_in_most(in_a) || lacking_in_most(in_b)) return judged_means(pair, what, in_a, in_b);
  std::optional<Difference> d = judged(pair, std::move(what), thinned(in_a), thinned(in_b));
  if (!d) return d;
  d->a_s = stats::median(a);
  d->b_s = stats::median(b);
  return d;
}

std::pair<std::string, std::string> judged_only(const Samples& with, const Samples& without, const std::string& file) {
  constexpr std::size_t fewest = 3;
  const std::vector<double> own = joined(with), others = joined(without);
  const auto runs = static_cast<std::size_t>(std::ranges::count_if(own, [](double value) { return value > 0.0; }));
  std::string why = fmt::format("in {} of {} steps of {}, in 0 of {} steps of {}", runs, own.size(), file,
                                others.size(), file == "A" ? "B" : "A");
  if (runs < own.size()) return {cannot_tell, why};
  // Work in all steps of one file and in no step of the other is not due to chance.
  if (std::min(own.size(), others.size()) >= fewest) return {different, why};
  return {cannot_tell, why + fmt::format("; too few steps: measure at least {}", fewest)};
}

}  // namespace ddpprof::report
