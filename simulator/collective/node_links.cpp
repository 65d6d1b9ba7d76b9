#include "simulator/collective/node_links.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "simulator/units/quantity.hpp"

namespace ddpprof::collective {
namespace {

constexpr double gbit_per_s = 0.125e9;  // in bytes/s

// Share of a link's rate that all-reduces reach.
struct Reached {
  double least, most;
};
// Least: gradients of ResNet-50, ResNet-18, BERT and YOLOv3 over 50 Gb/s Ethernet between T4 nodes of a cloud (Pollux,
// OSDI'21) reach 5 to 25 % of the rate, from the recorded sync times. Most: the rate less the headers of TCP and IP.
constexpr Reached ethernet = {0.06, 0.95};
// nccl-tests between H100 nodes with one NDR link per GPU (xxrjun/nccl-tests-cluster) reach 70 to 98 % from 256 MiB on,
// and B200 nodes with 8 × 400 Gbit/s (stas00/ml-engineering) 57 to 95 %.
constexpr Reached infiniband = {0.5, 1.0};

constexpr double slowest_usual = 25.0, fastest_usual = 8.0 * 400.0;  // Gbit/s per node: Ethernet, InfiniBand

constexpr std::array<std::pair<std::string_view, double>, 5> infiniband_gbit_per_s = {
    {{"fdr", 56.0}, {"edr", 100.0}, {"hdr", 200.0}, {"ndr", 400.0}, {"xdr", 800.0}}};

}  // namespace

NodeLinks usual_node_links() {
  return {std::string(NodeLinks::usual), "25 Gbit/s Ethernet to 8 × 400 Gbit/s InfiniBand per node",
          ethernet.least * slowest_usual * gbit_per_s, infiniband.most * fastest_usual * gbit_per_s};
}

NodeLinks parse_node_links(std::string_view text) {
  const auto refuse = [&]() -> std::invalid_argument {
    return std::invalid_argument("link between nodes '" + std::string(text) + "': expected for example " +
                                 std::string(node_links_example) +
                                 " (the number of links of a node and x, then an Ethernet rate or fdr, edr, hdr, ndr, "
                                 "xdr), or usual");
  };
  if (text == NodeLinks::usual) return usual_node_links();
  std::string_view link = text;
  int count = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && end != text.data() + text.size() && *end == 'x') {
    link = text.substr(static_cast<std::size_t>(end - text.data()) + 1);
    if (count < 1 || count > 64) throw refuse();
  } else {
    count = 1;
  }
  const auto kind = std::ranges::find(infiniband_gbit_per_s, link, &std::pair<std::string_view, double>::first);
  const bool named = kind != infiniband_gbit_per_s.end();
  const std::optional<double> rate = named ? kind->second * gbit_per_s : units::parse_rate(link);
  if (!rate) throw refuse();
  const Reached& reached = named ? infiniband : ethernet;
  const double all = count * *rate;
  return {std::string(text), std::string(text) + " per node", reached.least * all, reached.most * all};
}

}  // namespace ddpprof::collective
