#include "analysis/fit/given_curves.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/fit/text.hpp"

namespace ddpprof::fit {
namespace {

using Runs = std::vector<const collective::Curve*>;

constexpr double alike = 1.25;               // repeats of nccl-tests differ by less
constexpr double normal_95_percent = 1.645;  // standard deviations

bool covers(const collective::Curve& curve, double bytes) {
  return curve.points().front().bytes <= bytes && bytes <= curve.points().back().bytes;
}

std::vector<double> run_times(const Runs& runs, double bytes) {
  std::vector<double> times_s;
  for (const collective::Curve* run : runs)
    if (covers(*run, bytes)) times_s.push_back(run->time_s(bytes));
  return times_s;
}

std::set<double> sizes_of(const Runs& runs) {
  std::set<double> sizes;
  for (const collective::Curve* run : runs)
    for (const collective::SizeTime& point : run->points()) sizes.insert(point.bytes);
  return sizes;
}

collective::Curve joined_runs(const Runs& runs) {
  if (runs.size() == 1) return *runs.front();
  std::vector<collective::SizeTime> points;
  for (const double bytes : sizes_of(runs)) {
    const std::vector<double> times_s = run_times(runs, bytes);
    double sum = 0.0;
    for (const double time_s : times_s) sum += std::log(time_s);
    points.push_back({bytes, std::exp(sum / static_cast<double>(times_s.size()))});
  }
  return {runs.front()->ranks(), points, runs.front()->hosts()};
}

// Returns the largest quotient of the runs' times at one size: near the job's sizes if runs have them in common.
double runs_apart(const Runs& runs, const MessageSizes& job) {
  constexpr double near = 4.0;
  double all = 1.0, at_job = 0.0;
  for (const double bytes : sizes_of(runs)) {
    const std::vector<double> times_s = run_times(runs, bytes);
    if (times_s.size() < 2) continue;
    const auto [fastest, slowest] = std::ranges::minmax(times_s);
    all = std::max(all, slowest / fastest);
    if (bytes * near >= job.smallest && bytes <= near * job.largest) at_job = std::max(at_job, slowest / fastest);
  }
  return at_job > 0.0 ? at_job : all;
}

// Returns how far the latency below a curve's smallest size may be off; 0 if the job has messages of that size and
// more.
//
// Public logs (nccl-tests in tests/validation), cut at 1 MiB and more: the line through the smallest sizes that are
// left gives up to five times the time of messages far below them, and at least five sixths of it. Besides, a hundredth
// of the time of the smallest size may be noise.
SmallLatency small_latency(const collective::Curve& curve, const MessageSizes& job) {
  constexpr double each_doubling = 0.4, far = 1.2, in_noise = 2.0, noise = 0.01, least_longer = 1.5;
  const collective::SizeTime& first = curve.points().front();
  if (!(job.largest > 0.0) || job.largest >= first.bytes) return {};
  const double latency_s = curve.cost(job.largest, curve.ranks()).latency_s, noise_s = noise * first.time_s;
  SmallLatency small;
  small.sd = std::min(far, each_doubling * std::log2(first.bytes / job.largest));
  if (latency_s < 2.0 * noise_s) small.sd = std::max(in_noise, std::log(noise_s / latency_s) / normal_95_percent);
  small.most = std::log(std::max(least_longer, 1.0 + 2.0 * noise_s / latency_s));
  return small;
}

void add_unknown_hosts(GivenCurves& all, std::int64_t ranks, bool fit_on_one) {
  const std::string log = "the log of " + std::to_string(ranks) + " ranks does not name their hosts: ",
                    state = "ddpprof import LOG --append FILE.db --nodes N states their number";
  if (fit_on_one)
    all.notes.push_back(log + "one host is assumed, so the log does not have the links between hosts; " + state);
  else
    all.warnings.push_back(log + "its times are used inside a host and across hosts; " + state);
}

std::string sizes_text(const MessageSizes& job) {
  const std::string largest = bytes_text(std::llround(job.largest));
  return job.smallest < job.largest ? bytes_text(std::llround(job.smallest)) + " to " + largest : largest;
}

}  // namespace

std::string placement_text(const collective::Curve& curve) {
  std::string text = std::to_string(curve.ranks()) + " ranks";
  if (curve.hosts() == 1) text += " on one host";
  if (curve.hosts() > 1) text += " on " + std::to_string(curve.hosts()) + " hosts";
  return text;
}

GivenCurves join_curves(const std::vector<collective::Curve>& given, const MessageSizes& job, std::int64_t host_ranks) {
  constexpr double far_below = 4.0;
  GivenCurves all;
  std::vector<collective::Curve> placed = given;
  std::set<std::int64_t> unknown;  // numbers of ranks
  for (collective::Curve& curve : placed) {
    if (curve.hosts() > 0) continue;
    unknown.insert(curve.ranks());
    if (curve.ranks() <= host_ranks) curve = {curve.ranks(), curve.points(), 1};
  }
  for (const std::int64_t ranks : unknown) add_unknown_hosts(all, ranks, ranks <= host_ranks);
  std::map<std::pair<std::int64_t, std::int64_t>, Runs> places;
  for (const collective::Curve& curve : placed) places[{curve.ranks(), curve.hosts()}].push_back(&curve);
  for (const auto& [place, runs] : places) {
    const collective::Curve& curve = all.curves.emplace_back(joined_runs(runs));
    const double differ = runs.size() > 1 ? runs_apart(runs, job) : 1.0;
    double& sd = curve.hosts() > 1 ? all.runs_across : all.runs_inside;
    // The mean of n is not further from one of them than 1 - 1/n of the distance between the ends. 1.4 standard
    // deviations to each side: a 90 % interval of drawn values then contains the ends.
    sd = std::max(sd, (1.0 - 1.0 / static_cast<double>(runs.size())) * std::log(differ) / 1.4);
    if (differ > alike)
      all.warnings.push_back(std::to_string(runs.size()) + " runs with " + placement_text(curve) + " differ by up to " +
                             number_text(differ) +
                             " times: the geometric mean of their times is used, and intervals contain all of them; "
                             "give only the run with the settings of the job (NCCL_ALGO, NCCL_PROTO, …)");
    const SmallLatency small = small_latency(curve, job);
    all.small.sd = std::max(all.small.sd, small.sd);
    all.small.most = std::max(all.small.most, small.most);
    const double smallest = curve.points().front().bytes;
    if (job.largest > 0.0 && far_below * job.largest < smallest)
      all.warnings.push_back("the job's all-reduces have " + sizes_text(job) + ", and the log of " +
                             placement_text(curve) + " begins at " + bytes_text(std::llround(smallest)) +
                             ": their times are extrapolated, and the interval is wider; give a log with their sizes "
                             "(nccl-tests -b 8)");
  }
  return all;
}

}  // namespace ddpprof::fit
