#include "analysis/fit/regimes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "analysis/fit/least_squares.hpp"
#include "analysis/fit/text.hpp"
#include "simulator/collective/nccl.hpp"

namespace ddpprof::fit {
namespace {

namespace nccl = collective::nccl;

constexpr double offset_sd = 1.0;         // a regime's latency and bandwidth lie within e of the others', more or less
constexpr double across_sd = 1.0;         // a hop between nodes takes as long as one inside, within e
constexpr double usual_base_hops = 5.0;   // by NCCL's tables 2 to 11, within a factor of e
constexpr double regime_least_sd = 0.02;  // relative standard error assumed for every point, at least
constexpr double endless = std::numeric_limits<double>::infinity();

std::string_view algorithm_of(std::string_view name) { return name.substr(0, name.find('/')); }

double log2_of(std::int64_t count) { return std::log2(static_cast<double>(count)); }

double latencies(std::string_view algorithm, std::int64_t workers, std::int64_t nodes, double across) {
  const auto n = static_cast<double>(workers), hosts = static_cast<double>(nodes);
  const double log2_hosts = std::log2(hosts);
  if (algorithm == "TREE") return std::max(1.0, 2.0 * (n / hosts - 1.0 + across * log2_hosts));
  if (algorithm.starts_with("NVLS")) return 2.0 + 2.0 * across * log2_hosts;
  const double between = nodes > 1 ? 2.0 * hosts : 0.0;
  return std::max(0.0, 2.0 * (n - 1.0) - between) + across * between;
}

double moved(std::string_view algorithm, std::int64_t workers, std::int64_t bytes) {
  if (algorithm == "TREE" || algorithm.starts_with("NVLS")) return 2.0 * static_cast<double>(bytes);
  return collective::ring_hops(workers, static_cast<double>(bytes)).count *
         collective::ring_hops(workers, static_cast<double>(bytes)).bytes;
}

// Returns the algorithm and protocol of NCCL's estimate; nothing if the estimate does not have them.
std::optional<std::pair<nccl::Algorithm, nccl::Protocol>> known_to_nccl(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, nccl::Algorithm>, 4> algorithms{{
      {"TREE", nccl::Algorithm::tree},
      {"RING", nccl::Algorithm::ring},
      {"NVLS", nccl::Algorithm::nvls},
      {"NVLS_TREE", nccl::Algorithm::nvls_tree},
  }};
  constexpr std::array<std::pair<std::string_view, nccl::Protocol>, 3> protocols{
      {{"LL", nccl::Protocol::ll}, {"LL128", nccl::Protocol::ll128}, {"SIMPLE", nccl::Protocol::simple}}};
  const auto algorithm = std::find_if(algorithms.begin(), algorithms.end(),
                                      [&](const auto& one) { return one.first == algorithm_of(name); });
  const auto protocol = std::find_if(protocols.begin(), protocols.end(), [&](const auto& one) {
    return name.find('/') != name.npos && one.first == name.substr(name.find('/') + 1);
  });
  if (algorithm == algorithms.end() || protocol == protocols.end()) return std::nullopt;
  return std::pair(algorithm->second, protocol->second);
}

// Returns the size at which NCCL's estimate changes from `small` to `large` on a machine with usual values. Only the
// change of this size with N is used. 0: it does not change.
double change_over_bytes(std::string_view small, std::string_view large, std::int64_t workers, std::int64_t nodes) {
  const auto from = known_to_nccl(small), to = known_to_nccl(large);
  if (!from || !to || workers % nodes != 0) return 0.0;
  nccl::System system;
  system.ranks = workers;
  system.nodes = nodes;
  system.channels = 8;
  system.network_us = nodes > 1 ? 5.0 : 0.0;
  system.nvls = small.starts_with("NVLS") || large.starts_with("NVLS");
  system.generation = system.nvls ? nccl::Generation::hopper : nccl::Generation::ampere;
  const auto later = [&](double log2_bytes) -> std::optional<bool> {
    std::optional<double> small_s, large_s;
    for (const nccl::Estimate& one : nccl::all_reduce_estimates(system, std::llround(std::exp2(log2_bytes)))) {
      if (std::pair(one.algorithm, one.protocol) == *from) small_s = one.total_s();
      if (std::pair(one.algorithm, one.protocol) == *to) large_s = one.total_s();
    }
    if (!small_s || !large_s) return std::nullopt;
    return *large_s < *small_s;
  };
  constexpr double smallest = 2.0, largest = 36.0, near = 1e-3;
  if (later(smallest) != std::optional(false) || later(largest) != std::optional(true)) return 0.0;
  double low = smallest, high = largest;
  while (high - low > near) {
    const double middle = 0.5 * (low + high);
    (*later(middle) ? high : low) = middle;
  }
  return std::exp2(high);
}

std::vector<Rung> ladder_of(const std::map<std::int64_t, std::map<std::size_t, std::int64_t>>& by_size) {
  std::vector<Rung> rungs;
  std::int64_t last_bytes = 0;
  for (const auto& [bytes, counts] : by_size) {
    const auto most = std::max_element(counts.begin(), counts.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (rungs.empty() || rungs.back().regime != most->first) {
      if (!rungs.empty())
        rungs.back().up_to_bytes = std::sqrt(static_cast<double>(last_bytes) * static_cast<double>(bytes));
      rungs.push_back({endless, most->first});
    }
    last_bytes = bytes;
  }
  return rungs;
}

}  // namespace

std::shared_ptr<const Regimes> Regimes::fitted(const std::vector<CollectivePoint>& points) {
  auto found = std::make_shared<Regimes>();
  std::map<std::int64_t, std::map<std::int64_t, std::map<std::size_t, std::int64_t>>> measured;  // N, bytes, regime
  for (const CollectivePoint& point : points) {
    if (point.machine.nodes > 1)
      found->ranks_per_node_ = std::max(found->ranks_per_node_, point.machine.ranks_per_host());
    if (point.regime.empty()) continue;
    auto regime = std::find_if(found->regimes_.begin(), found->regimes_.end(),
                               [&](const Regime& one) { return one.name == point.regime; });
    if (regime == found->regimes_.end()) regime = found->regimes_.insert(regime, Regime{point.regime, 1.0, 1.0, 0});
    ++regime->points;
    measured[point.machine.workers][point.bytes][static_cast<std::size_t>(regime - found->regimes_.begin())] +=
        point.count;
  }
  if (found->regimes_.size() < 2) return nullptr;
  for (const auto& [workers, by_size] : measured) found->measured_[workers] = ladder_of(by_size);

  Problem problem;
  std::vector<std::size_t> of_point;
  const auto index_of = [&](const CollectivePoint& point) {
    for (std::size_t i = 0; i < found->regimes_.size(); ++i)
      if (found->regimes_[i].name == point.regime) return i;
    return static_cast<std::size_t>(&found->at(point.machine.workers, point.bytes) - found->regimes_.data());
  };
  const bool bench =
      std::any_of(points.begin(), points.end(), [](const CollectivePoint& point) { return point.bench; });
  const bool steps =
      std::any_of(points.begin(), points.end(), [](const CollectivePoint& point) { return !point.bench; });
  for (const CollectivePoint& point : points) {
    problem.measured.push_back(point.transfer_s);
    problem.sd.push_back(std::hypot(regime_least_sd, point.noise));
    of_point.push_back(index_of(point));
  }
  problem.parameters = {
      {"latency", "s", std::log(5e-6), factor_of_ten, std::log(1e-9), std::log(1.0), true, false},
      {"inverse_bandwidth", "s/byte", std::log(1e-10), factor_of_ten, std::log(1e-14), std::log(1e-3), true, false},
      {"in_step_factor", "", 0.0, 0.7, std::log(0.1), std::log(20.0), true, !(bench && steps)},
      {"across_nodes", "", 0.0, across_sd, std::log(0.1), std::log(100.0), true, found->ranks_per_node_ == 0}};
  constexpr std::size_t common = 4, of_each = 3;
  for (const Regime& regime : found->regimes_) {
    for (const char* of : {"latency of ", "bandwidth of "})
      problem.parameters.push_back({of + regime.name, "", 0.0, offset_sd, std::log(1e-3), std::log(1e3), true, false});
    problem.parameters.push_back(
        {"base of " + regime.name, "hops", std::log(usual_base_hops), 1.0, std::log(1e-3), std::log(1e3), true, false});
  }
  const Regimes* kept = found.get();
  problem.model = [kept, points, of_point](std::span<const double> values, std::size_t i) {
    const CollectivePoint& point = points[i];
    const std::string_view algorithm = algorithm_of(kept->regimes_[of_point[i]].name);
    const std::size_t own = common + of_each * of_point[i];
    const double latency_s =
        values[0] * values[own] *
        (values[own + 2] + latencies(algorithm, point.machine.workers, point.machine.nodes, values[3]));
    const double bandwidth_s = values[1] * values[own + 1] * moved(algorithm, point.machine.workers, point.bytes);
    return (point.bench ? 1.0 : values[2]) * (latency_s + point.concurrency * bandwidth_s);
  };
  const Solution solution = solve(problem);
  if (!solution.converged) return nullptr;
  found->across_ = solution.values[3];
  for (std::size_t i = 0; i < found->regimes_.size(); ++i) {
    found->regimes_[i].latency_factor = solution.values[common + of_each * i];
    found->regimes_[i].bandwidth_factor = solution.values[common + of_each * i + 1];
    found->regimes_[i].base_hops = solution.values[common + of_each * i + 2];
  }
  return found;
}

std::int64_t Regimes::nodes(std::int64_t workers) const {
  return ranks_per_node_ == 0 ? 1 : std::max<std::int64_t>(1, (workers + ranks_per_node_ - 1) / ranks_per_node_);
}

std::vector<Rung> Regimes::ladder(std::int64_t workers) const {
  if (const auto found = measured_.find(workers); found != measured_.end()) return found->second;
  const std::lock_guard lock(mutex_);
  const auto [found, fresh] = moved_.try_emplace(workers);
  if (fresh) found->second = moved_ladder(workers);
  return found->second;
}

std::vector<Rung> Regimes::moved_ladder(std::int64_t workers) const {
  const auto apart = [&](const auto& one) {
    return std::abs(log2_of(one.first) - log2_of(std::max<std::int64_t>(1, workers)));
  };
  const auto& [nearest, rungs] = *std::min_element(measured_.begin(), measured_.end(),
                                                   [&](const auto& a, const auto& b) { return apart(a) < apart(b); });
  std::vector<Rung> here = rungs;
  double last = 0.0;
  for (std::size_t i = 0; i + 1 < here.size(); ++i) {
    const std::string& small = regimes_[here[i].regime].name;
    const std::string& large = regimes_[here[i + 1].regime].name;
    const double there = change_over_bytes(small, large, nearest, nodes(nearest));
    const double asked = change_over_bytes(small, large, workers, nodes(workers));
    if (there > 0.0 && asked > 0.0) here[i].up_to_bytes *= asked / there;
    here[i].up_to_bytes = last = std::max(last, here[i].up_to_bytes);
  }
  return here;
}

const Regime& Regimes::at(std::int64_t workers, std::int64_t bytes) const {
  for (const Rung& rung : ladder(workers))
    if (static_cast<double>(bytes) <= rung.up_to_bytes) return regimes_[rung.regime];
  return regimes_.front();
}

collective::Hops Regimes::hops(std::int64_t workers, std::int64_t bytes) const {
  const Regime& regime = at(workers, bytes);
  const std::string_view algorithm = algorithm_of(regime.name);
  const double count =
      regime.latency_factor * (regime.base_hops + latencies(algorithm, workers, nodes(workers), across_));
  if (workers < 2 || !(count > 0.0)) return {};
  return {count, regime.bandwidth_factor * moved(algorithm, workers, bytes) / count};
}

double Regimes::latency_across(std::int64_t workers, std::int64_t nodes, double longer, std::int64_t bytes) const {
  const Regime& regime = at(workers, bytes);
  const std::string_view algorithm = algorithm_of(regime.name);
  const double inside = regime.base_hops + latencies(algorithm, workers, this->nodes(workers), across_);
  if (!(inside > 0.0 && regime.latency_factor > 0.0)) return 1.0;
  const double between = 1.0 + longer / regime.latency_factor;
  return (regime.base_hops + latencies(algorithm, workers, nodes, between)) / inside;
}

std::string Regimes::ladder_text(std::int64_t workers) const {
  std::string text;
  for (const Rung& rung : ladder(workers)) {
    text += (text.empty() ? "" : ", then ") + regimes_[rung.regime].name;
    if (rung.up_to_bytes < endless) text += " up to " + bytes_text(std::llround(rung.up_to_bytes));
  }
  return text;
}

double Regimes::hop_unit(std::int64_t workers) const { return regimes_[ladder(workers).front().regime].latency_factor; }

double Regimes::byte_unit(std::int64_t workers) const {
  return regimes_[ladder(workers).back().regime].bandwidth_factor;
}

}  // namespace ddpprof::fit
