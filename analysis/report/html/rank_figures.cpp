// Compute of each rank, and its waits for the other ranks.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "analysis/report/html/figures.hpp"
#include "analysis/report/html/table_reader.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report::html {
namespace {

struct Rank {
  std::string name;
  double compute_s = 0;
  std::optional<double> waits_s;  // empty if the times of collectives are not known
};

// A group of ranks that were measured together, with its label.
struct Group {
  std::string about;
  std::vector<Rank> ranks;
};

std::vector<Group> groups_of(const Table& source) {
  const TableReader table(source);
  std::vector<Group> groups;
  std::vector<std::string> models;
  for (const Row& row : table.rows()) models.push_back(table.text(row, "model"));
  const bool several = std::adjacent_find(models.begin(), models.end(), std::not_equal_to<>()) != models.end();
  for (const Row& row : table.rows()) {
    const auto rank = table.number(row, "rank"), compute = table.number(row, "compute_median_s");
    if (!rank || !compute) continue;
    std::string about;
    if (table.has("strategy"))
      about =
          fmt::format("{}{}, N = {}, {} samples per step", several ? table.text(row, "model") + ", " : "",
                      table.text(row, "strategy"), table.text(row, "workers"), table.text(row, "global_batch_samples"));
    if (groups.empty() || groups.back().about != about) groups.push_back({about, {}});
    groups.back().ranks.push_back({fmt::format("{:.0f}", *rank), *compute, table.number(row, "skew_median_s")});
  }
  return groups;
}

std::string described(const Group& group) {
  std::string text;
  for (const Rank& rank : group.ranks)
    text += fmt::format("{}Rank {} computes {}{}.", text.empty() ? "" : " ", rank.name,
                        units::format_quantity(rank.compute_s, "s"),
                        rank.waits_s ? " and waits " + units::format_quantity(*rank.waits_s, "s") : "");
  return text;
}

Figure figure(int number, const Group& group) {
  std::vector<std::string> names;
  std::vector<double> totals;
  bool any_waits = false;
  for (const Rank& rank : group.ranks) {
    names.push_back(rank.name);
    totals.push_back(rank.compute_s + rank.waits_s.value_or(0));
    any_waits = any_waits || rank.waits_s;
  }
  Figure out;
  out.title = "Ranks" + (group.about.empty() ? "" : ": " + group.about);
  // Bars show values by their length, so the axis starts at 0.
  const std::vector<double> largest = {*std::max_element(totals.begin(), totals.end())};
  Drawing drawing(fmt::format("figure-ranks-{}", number), out.title, described(group), {.height = 260});
  drawing.frame(names, "rank", Axis::quantity("time a step", "s", largest));
  for (std::size_t i = 0; i < group.ranks.size(); ++i) {
    const Rank& rank = group.ranks[i];
    const auto x = static_cast<double>(i);
    drawing.bar(x, 0, rank.compute_s, "part-compute",
                fmt::format("rank {}, compute: {}", rank.name, units::format_quantity(rank.compute_s, "s")));
    if (rank.waits_s)
      drawing.bar(x, rank.compute_s, rank.compute_s + *rank.waits_s, "part-waiting",
                  fmt::format("rank {}, waits: {}", rank.name, units::format_quantity(*rank.waits_s, "s")));
  }
  out.legend = {{LegendItem::Mark::block, "part-compute", "compute"}};
  if (any_waits) out.legend.push_back({LegendItem::Mark::block, "part-waiting", "waiting for slower ranks"});
  out.caption = any_waits ? "The rank that computes longest waits least: the other ranks wait for it."
                          : "Waiting for other ranks is not known: the times of collectives were not recorded.";
  out.svg = drawing.svg();
  return out;
}

}  // namespace

std::vector<Figure> rank_figures(const Table& ranks) {
  std::vector<Figure> all;
  int number = 0;
  for (const Group& group : groups_of(ranks))
    if (group.ranks.size() > 1) all.push_back(figure(number++, group));
  return all;
}

}  // namespace ddpprof::report::html
