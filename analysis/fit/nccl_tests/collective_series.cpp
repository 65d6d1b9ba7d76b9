#include "analysis/fit/nccl_tests/collective_series.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

#include "analysis/fit/not_supported.hpp"
#include "analysis/fit/table/growth.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/stats/summary.hpp"

namespace ddpprof::fit {
namespace {

// p, from nodes of 8 B200 with 8 network cards of 50 GB/s: a ring inside of a node has 682.2 GB/s of bus bandwidth, an
// all-reduce over four nodes 381.8 (stas00/ml-engineering, network/README.md), and (400^-p + 682.2^-p)^(-1/p) = 381.8.
constexpr double links_sharpness = 3.35;

// Half of a 90 % interval of ln(time) without any change of the ranks; with the square root of the doublings of N
// beside, as for the steps of growth.hpp: nine tenths of the times of nccl-tests between two measured sizes are within
// a tenth of their line (docs/internals/validation.md, nccl_tests).
constexpr double time_scatter = 0.1;

// The power of the hops with which the latency grows, and by how much it may be off either way.
constexpr double hops_power_off = 0.5;
double hops_power(const std::string& op) { return op == "all_gather" || op == "reduce_scatter" ? 1.0 : 0.5; }

// t = a + b S with the least relative squares, a and b not below 0.
std::pair<double, double> relative_line(const std::vector<collective::SizeTime>& times) {
  double aa = 0.0, ab = 0.0, bb = 0.0, a1 = 0.0, b1 = 0.0;
  for (const collective::SizeTime& one : times) {
    const double u = 1.0 / one.time_s, v = one.bytes / one.time_s;
    aa += u * u, ab += u * v, bb += v * v, a1 += u, b1 += v;
  }
  const double determinant = aa * bb - ab * ab;
  if (times.size() < 2 || determinant <= 1e-12 * aa * bb) return {0.0, b1 / bb};
  const double a = (a1 * bb - b1 * ab) / determinant, b = (aa * b1 - ab * a1) / determinant;
  if (a < 0.0) return {0.0, b1 / bb};
  return {a, std::max(b, 0.0)};
}

double soft_minimum(double a, double b) {
  return std::pow(std::pow(a, -links_sharpness) + std::pow(b, -links_sharpness), -1.0 / links_sharpness);
}

double hops(std::int64_t ranks) { return static_cast<double>(ranks) - 1.0; }

}  // namespace

bool is_predicted_collective(const std::string& op) {
  constexpr std::array known = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  return std::ranges::find(known, op) != known.end();
}

double CollectiveSeries::Sweep::departure(double bytes) const {
  const auto at = [&](const collective::SizeTime& one) { return one.time_s / (latency_s + s_per_byte * one.bytes); };
  const auto after = std::ranges::lower_bound(times, bytes, {}, &collective::SizeTime::bytes);
  if (after == times.begin()) return at(times.front());
  if (after == times.end()) return at(times.back());
  const collective::SizeTime &low = *(after - 1), &high = *after;
  const double part = std::log(bytes / low.bytes) / std::log(high.bytes / low.bytes);
  return std::pow(at(low), 1.0 - part) * std::pow(at(high), part);
}

// The larger one of the sizes around these bytes.
double CollectiveSeries::Sweep::runs_apart(double bytes) const {
  const auto after = std::ranges::lower_bound(times, bytes, {}, &collective::SizeTime::bytes);
  const auto index = static_cast<std::size_t>(after - times.begin());
  return std::max(index < apart.size() ? apart[index] : 0.0, index > 0 ? apart[index - 1] : 0.0);
}

std::string CollectiveSeries::Sweep::warning(const std::string& op) const {
  constexpr double alike = 1.25;  // repeats differ by less
  if (!(differ > alike)) return "";
  return std::to_string(runs) + " runs of " + op + " with " + std::to_string(ranks) + " ranks on " +
         (hosts == 1 ? "one host" : std::to_string(hosts) + " hosts") + " differ by up to " + number_text(differ) +
         " times: the geometric mean of their times is used, and intervals contain all of them";
}

CollectiveSeries::CollectiveSeries(const std::string& op, const std::vector<CollectiveRun>& runs) : op_(op) {
  struct Place {
    std::map<double, std::vector<double>> times;  // by size: the median of each run
    std::size_t runs = 0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Place> places;
  for (const CollectiveRun& run : runs) {
    if (run.op != op || run.ranks < 2 || run.hosts < 1 || run.hosts > run.ranks) continue;
    std::map<double, std::vector<double>> own;
    for (const collective::SizeTime& one : run.times)
      if (one.bytes > 0.0 && one.time_s > 0.0) own[one.bytes].push_back(one.time_s);
    if (own.empty()) continue;
    Place& place = places[{run.ranks, run.hosts}];
    ++place.runs;
    for (const auto& [bytes, same] : own) place.times[bytes].push_back(stats::median(same));
  }
  for (const auto& [ranks_and_hosts, place] : places) {
    Sweep sweep;
    std::tie(sweep.ranks, sweep.hosts) = ranks_and_hosts;
    sweep.runs = place.runs;
    for (const auto& [bytes, medians] : place.times) {
      double sum = 0.0, fastest = medians.front(), slowest = medians.front();
      for (const double time_s : medians) {
        sum += std::log(time_s);
        fastest = std::min(fastest, time_s), slowest = std::max(slowest, time_s);
      }
      const double mean = sum / static_cast<double>(medians.size());
      sweep.times.push_back({bytes, medians.size() == 1 ? medians.front() : std::exp(mean)});
      sweep.apart.push_back(std::max(std::log(slowest) - mean, mean - std::log(fastest)));
      sweep.differ = std::max(sweep.differ, slowest / fastest);
    }
    std::tie(sweep.latency_s, sweep.s_per_byte) = relative_line(sweep.times);
    if (sweep.s_per_byte > 0.0) sweeps_.push_back(std::move(sweep));
  }
  if (sweeps_.empty())
    throw NotSupported("no sweep of " + op + " on two or more ranks has times that grow with the size",
                       "import the output of nccl-tests with sizes up to 1 GiB or more");
}

double CollectiveSeries::limiting_bytes(std::int64_t ranks, std::int64_t hosts) const {
  const auto n = static_cast<double>(ranks);
  const double g = n / static_cast<double>(hosts);
  if (op_ == "all_to_all" && hosts > 1) return g * (n - g) / n;
  return (op_ == "all_reduce" ? 2.0 : 1.0) * (n - 1.0) / n;
}

const CollectiveSeries::Sweep& CollectiveSeries::nearest(std::int64_t ranks, std::int64_t hosts) const {
  if (ranks < 2 || hosts < 1 || hosts > ranks)
    throw std::invalid_argument("collective: " + std::to_string(ranks) + " ranks on " + std::to_string(hosts) +
                                " hosts, expected at least 2 ranks, and at most as many hosts");
  const double per_host = static_cast<double>(ranks) / static_cast<double>(hosts);
  const Sweep* found = nullptr;
  std::pair<double, double> least;
  for (const Sweep& one : sweeps_) {
    if ((one.hosts > 1) != (hosts > 1)) continue;
    const std::pair away = {std::abs(std::log(one.per_host() / per_host)),
                            std::abs(std::log(static_cast<double>(one.ranks) / static_cast<double>(ranks)))};
    if (found == nullptr || away < least) found = &one, least = away;
  }
  if (found != nullptr) return *found;
  if (hosts > 1)
    throw NotSupported("no sweep of " + op_ + " measured the links between hosts",
                       "import the output of nccl-tests on two hosts or more");
  throw NotSupported("no sweep of " + op_ + " was measured on one host",
                     "import the output of nccl-tests on one host, or give fewer ranks per host (--gpus-per-node)");
}

double CollectiveSeries::inside_bandwidth(double per_host) const {
  const Sweep* found = nullptr;
  const auto away = [&](const Sweep& one) { return std::abs(std::log(static_cast<double>(one.ranks) / per_host)); };
  for (const Sweep& one : sweeps_)
    if (one.hosts == 1 && (found == nullptr || away(one) < away(*found))) found = &one;
  return found == nullptr ? 0.0 : bandwidth(*found);
}

CollectiveSeries::Bandwidth CollectiveSeries::bandwidth_at(const Sweep& from, double per_host) const {
  const double measured = bandwidth(from), ratio = per_host / from.per_host();
  if (from.hosts == 1 || std::abs(ratio - 1.0) < 0.01) return {measured, measured, measured};
  // The next g on the other side of the nearest one shows how many cards the ranks of a host use.
  const Sweep* other = nullptr;
  for (const Sweep& one : sweeps_) {
    const bool beyond = ratio > 1.0 ? one.per_host() < 0.99 * from.per_host() : one.per_host() > 1.01 * from.per_host();
    const auto away = [&](const Sweep& sweep) { return std::abs(std::log(sweep.per_host() / from.per_host())); };
    if (one.hosts > 1 && beyond && (other == nullptr || away(one) < away(*other))) other = &one;
  }
  double power = 0.5;
  if (other != nullptr)
    power =
        std::clamp(std::log(measured / bandwidth(*other)) / std::log(from.per_host() / other->per_host()), 0.0, 1.0);
  const double own_cards = measured * ratio;
  Bandwidth found{std::min(measured, own_cards), measured * std::pow(ratio, power), std::max(measured, own_cards)};
  const double inside = op_ == "all_to_all" ? 0.0 : inside_bandwidth(per_host);
  if (inside > 0.0) {
    found.mid = soft_minimum(found.mid, inside);
    found.high = std::max(found.mid, std::min(found.high, inside));
    found.low = std::min(found.low, found.mid);
  }
  return found;
}

CollectiveTime CollectiveSeries::predict(double bytes, std::int64_t ranks, std::int64_t hosts,
                                         double confidence) const {
  if (!(bytes > 0.0) || !std::isfinite(bytes))
    throw std::invalid_argument("collective: a message of " + std::to_string(bytes) + " bytes, expected more than 0");
  const Sweep& from = nearest(ranks, hosts);
  const Bandwidth links = bandwidth_at(from, static_cast<double>(ranks) / static_cast<double>(hosts));
  const double more_hops = hops(ranks) / hops(from.ranks), power = hops_power(op_);
  const double departure = from.departure(bytes), moved = bytes * limiting_bytes(ranks, hosts);
  const auto time = [&](double hops_to_the, double bandwidth) {
    return departure * (from.latency_s * std::pow(more_hops, hops_to_the) + moved / bandwidth);
  };
  const double mid = time(power, links.mid);
  const auto off = [&](double other) { return std::log(other / mid); };
  const double doublings = std::abs(std::log2(static_cast<double>(ranks) / static_cast<double>(from.ranks)));
  const double runs = from.runs_apart(bytes);
  const auto side = [&](double latency, double bandwidth) {
    return interval_ratio(confidence) * std::sqrt(time_scatter * time_scatter * (1.0 + doublings) + latency * latency +
                                                  bandwidth * bandwidth + runs * runs);
  };
  const double less = more_hops >= 1.0 ? -hops_power_off : hops_power_off;
  const double shorter = side(off(time(power + less, links.mid)), off(time(power, links.high)));
  const double longer = side(off(time(power - less, links.mid)), off(time(power, links.low)));
  return {mid, mid * std::exp(-shorter), mid * std::exp(longer)};
}

std::vector<double> CollectiveSeries::sizes(std::int64_t ranks, std::int64_t hosts) const {
  std::vector<double> all;
  for (const collective::SizeTime& one : nearest(ranks, hosts).times) all.push_back(one.bytes);
  return all;
}

std::string CollectiveSeries::warning(std::int64_t ranks, std::int64_t hosts) const {
  return nearest(ranks, hosts).warning(op_);
}

std::vector<std::string> CollectiveSeries::warnings() const {
  std::vector<std::string> all;
  for (const Sweep& sweep : sweeps_)
    if (std::string text = sweep.warning(op_); !text.empty()) all.push_back(std::move(text));
  return all;
}

}  // namespace ddpprof::fit
