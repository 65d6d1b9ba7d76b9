// Kernels of A and B, matched by short name and shape, and their changes.
#include "analysis/report/tables/compare/compare_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "analysis/metrics/device_work.hpp"
#include "simulator/stats/summary.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

// One kernel of both files; nullptr if a file does not have it.
struct Match {
  const metrics::Work* a = nullptr;
  const metrics::Work* b = nullptr;
  const char* change = "";
};

// Returns seconds per rank for each measured step with raw events, by repeat.
Samples per_step(const metrics::Workload& workload, const metrics::Configuration& configuration,
                 const metrics::Work* work) {
  std::map<std::int64_t, std::vector<double>> values;
  for (std::size_t i = 0; i < workload.ranks.size(); ++i) {
    if (workload.ranks[i] == 0) continue;
    const std::int64_t time_ns = work != nullptr && i < work->steps.size() ? work->steps[i].time_ns : 0;
    values[workload.totals ? 0 : configuration.measured[i].measurement].push_back(
        units::ns_to_s(time_ns) / static_cast<double>(workload.ranks[i]));
  }
  Samples all;
  for (auto& [measurement, one] : values) all.push_back(std::move(one));
  return all;
}

std::vector<double> calls_per_step(const metrics::Workload& workload, const metrics::Work& work) {
  std::vector<double> calls;
  for (std::size_t i = 0; i < workload.ranks.size(); ++i) {
    if (workload.ranks[i] == 0) continue;
    calls.push_back(i < work.steps.size()
                        ? static_cast<double>(work.steps[i].calls) / static_cast<double>(workload.ranks[i])
                        : 0.0);
  }
  return calls;
}

// Returns the median per step, or the mean if most steps do not have it.
double usual_calls(const metrics::Workload& workload, const metrics::Work& work) {
  const std::vector<double> calls = calls_per_step(workload, work);
  if (calls.empty()) return 0.0;
  const double usual = stats::median(calls);
  return usual > 0.0 ? usual : stats::mean(calls);
}

// If exactly one removed and one added kernel have the same `key`, they are treated as one kernel.
template <class Key>
void pair_alike(std::vector<Match>& all, const char* change, Key&& key) {
  using Alike = decltype(key(*all.front().a, true));
  std::map<Alike, std::pair<std::vector<std::size_t>, std::vector<std::size_t>>> groups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].b == nullptr) groups[key(*all[i].a, true)].first.push_back(i);
    if (all[i].a == nullptr) groups[key(*all[i].b, false)].second.push_back(i);
  }
  std::set<std::size_t> taken;
  for (const auto& [alike, group] : groups) {
    const auto& [gone, fresh] = group;
    if (gone.size() != 1 || fresh.size() != 1) continue;
    all[gone.front()].b = all[fresh.front()].b;
    all[gone.front()].change = change;
    taken.insert(fresh.front());
  }
  std::size_t at = 0;
  std::erase_if(all, [&](const Match&) { return taken.contains(at++); });
}

std::vector<Match> matched(const metrics::Workload& a, const metrics::Workload& b) {
  std::map<std::tuple<std::string, std::string, std::string>, Match> by_name;
  for (const metrics::Work& work : a.all) by_name[{work.kind, work.name, work.shape}].a = &work;
  for (const metrics::Work& work : b.all) by_name[{work.kind, work.name, work.shape}].b = &work;
  std::vector<Match> all;
  for (const auto& [name, match] : by_name) all.push_back(match);
  if (all.empty() || a.totals) return all;
  const auto calls = [&](const metrics::Work& work, bool in_a) { return usual_calls(in_a ? a : b, work); };
  pair_alike(all, "other shape?",
             [&](const metrics::Work& work, bool in_a) { return std::tuple(work.kind, work.name, calls(work, in_a)); });
  pair_alike(all, "renamed?", [&](const metrics::Work& work, bool in_a) {
    return std::tuple(work.kind, work.shape, calls(work, in_a));
  });
  return all;
}

std::string both_texts(const std::string& a, const std::string& b) { return a == b ? a : a + " → " + b; }

class Comparison {
 public:
  Comparison(const Pair& pair, metrics::Workload a, metrics::Workload b, std::string totals_because)
      : pair_(pair), a_(std::move(a)), b_(std::move(b)), because_(std::move(totals_because)) {}

  void run(std::vector<KernelDifference>& all, const std::function<bool()>& stopped) {
    std::set<metrics::KindAndName> many = names_of_many_shapes(a_);
    many.merge(names_of_many_shapes(b_));
    merge_shapes(a_, many);
    merge_shapes(b_, many);
    metrics::Work rest_a, rest_b;
    std::int64_t others = 0;
    for (const Match& match : matched(a_, b_)) {
      if (stopped()) return;
      if (std::max(mean_of(per_step(a_, *pair_.a, match.a)), mean_of(per_step(b_, *pair_.b, match.b))) >=
          shown_kernel_of_step * pair_.step_a_s) {
        all.push_back(difference(match));
        continue;
      }
      ++others;
      if (match.a != nullptr) add(rest_a, *match.a);
      if (match.b != nullptr) add(rest_b, *match.b);
    }
    if (others == 0) return;
    rest_a.kind = "various";
    rest_a.name = fmt::format("{} other names and shapes", others);
    all.push_back(difference({&rest_a, &rest_b, ""}));
  }

 private:
  static void add(metrics::Work& sum, const metrics::Work& one) {
    if (sum.steps.size() < one.steps.size()) sum.steps.resize(one.steps.size());
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
      sum.steps[i].time_ns += one.steps[i].time_ns;
      sum.steps[i].calls += one.steps[i].calls;
    }
  }

  static KernelSide side_of(const metrics::Workload& workload, const metrics::Work* work, const Samples& steps,
                            bool means) {
    KernelSide side;
    side.mean_s = mean_of(steps);
    const std::vector<double> values = joined(steps);
    side.step_s = means || values.empty() ? side.mean_s : stats::median(values);
    if (work == nullptr) return side;
    const metrics::WorkInStep total = work->total();
    const std::vector<double> calls = calls_per_step(workload, *work);
    side.calls = calls.empty() ? 0.0 : stats::mean(calls);
    if (total.calls > 0) side.call_s = units::ns_to_s(total.time_ns) / static_cast<double>(total.calls);
    return side;
  }

  KernelDifference difference(const Match& match) const {
    KernelDifference d;
    d.pair = &pair_;
    d.totals = a_.totals;
    const metrics::Work& named = match.a != nullptr ? *match.a : *match.b;
    const metrics::Work& other = match.b != nullptr ? *match.b : named;
    d.kind = named.kind;
    const bool renamed = match.change[0] != '\0';
    d.name = renamed ? both_texts(named.name, other.name) : named.name;
    d.shape = renamed ? both_texts(named.shape, other.shape) : named.shape;
    d.change = match.change;
    const Samples in_a = per_step(a_, *pair_.a, match.a), in_b = per_step(b_, *pair_.b, match.b);
    const bool means = lacking_in_most(in_a) || lacking_in_most(in_b);
    d.a = side_of(a_, match.a, in_a, means);
    d.b = side_of(b_, match.b, in_b, means);
    judge(d, match, in_a, in_b);
    return d;
  }

  void judge(KernelDifference& d, const Match& match, const Samples& in_a, const Samples& in_b) const {
    d.verdict = cannot_tell;
    const char* only = match.b == nullptr ? "A" : match.a == nullptr ? "B" : nullptr;
    if (only != nullptr) d.change = std::string("only in ") + only;
    if (a_.totals) {
      d.why = because_;
      return;
    }
    if (only != nullptr) {
      std::tie(d.verdict, d.why) = only[0] == 'A' ? judged_only(in_a, in_b, "A") : judged_only(in_b, in_a, "B");
      return;
    }
    const std::optional<Difference> judged = judged_work(pair_, d.name, in_a, in_b);
    if (!judged) {
      d.why = took_no_time;
      return;
    }
    d.verdict = judged->verdict;
    d.why = judged->why;
    d.ratio = judged->ratio;
    if (d.change.empty() && d.verdict == different && d.kind != "various") d.change = change_of(d);
  }

  // The larger relative change decides: number of calls or time per call. Both are of the time per step that the verdict
  // compares: a few long calls change the mean duration of a call, and not the median.
  static std::string change_of(const KernelDifference& d) {
    if (!(d.a.step_s > 0 && d.b.step_s > 0 && d.a.calls > 0 && d.b.calls > 0)) return "";
    const double calls = std::log(d.b.calls / d.a.calls), duration = std::log(d.b.step_s / d.a.step_s) - calls;
    if (std::abs(calls) > std::abs(duration)) return calls > 0 ? "more calls" : "fewer calls";
    return duration > 0 ? "slower calls" : "faster calls";
  }

  const Pair& pair_;
  metrics::Workload a_, b_;
  std::string because_;
};

// Configurations of both files, with the same index as the pairs.
std::vector<metrics::Workload> work_of(const Source& file,
                                       const std::vector<const metrics::Configuration*>& configurations,
                                       const std::function<bool()>& stopped) {
  return reading(file, [&](const Source& source) { return metrics::read_work(source.db, configurations, stopped); });
}

bool recorded(const metrics::Workload& workload) { return !workload.all.empty(); }

std::string why_totals(const Pair& pair, const metrics::Workload& a, const metrics::Workload& b) {
  if (!pair.has_steps()) return "totals of the whole traces: neither has steps, so the spread is unknown";
  const char* where = !recorded(a) && !recorded(b) ? "both files" : recorded(a) ? "B" : "A";
  return fmt::format("totals of the whole trace / its steps, because {} has no single events; import without --no-raw",
                     where);
}

}  // namespace

double KernelDifference::of_step() const { return pair->step_a_s > 0 ? (b.mean_s - a.mean_s) / pair->step_a_s : 0.0; }

std::vector<KernelDifference> kernel_differences(const Source& a, const Source& b, const Paired& paired,
                                                 const std::function<bool()>& stopped) {
  std::vector<const metrics::Configuration*> of_a, of_b;
  for (const Pair& pair : paired.both) {
    of_a.push_back(pair.a);
    of_b.push_back(pair.b);
  }
  std::vector<metrics::Workload> in_a = work_of(a, of_a, stopped), in_b = work_of(b, of_b, stopped);
  std::vector<KernelDifference> all;
  for (std::size_t i = 0; i < paired.both.size(); ++i) {
    if (stopped()) return {};
    const Pair& pair = paired.both[i];
    std::string because;
    if (!recorded(in_a[i]) || !recorded(in_b[i])) {
      because = why_totals(pair, in_a[i], in_b[i]);
      in_a[i] = reading(a, [&](const Source& source) { return metrics::read_work_totals(source.db, *pair.a); });
      in_b[i] = reading(b, [&](const Source& source) { return metrics::read_work_totals(source.db, *pair.b); });
    }
    Comparison(pair, std::move(in_a[i]), std::move(in_b[i]), because).run(all, stopped);
  }
  std::ranges::stable_sort(all, std::greater{}, [](const KernelDifference& d) {
    return std::pair(std::abs(d.of_step()), std::max(d.a.mean_s, d.b.mean_s));
  });
  return all;
}

}  // namespace ddpprof::report
