#include "gui/timeline/range_tables.hpp"

#include <algorithm>

#include "analysis/report/core/columns.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

double seconds(double ns) { return ns * 1e-9; }
double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string shown(const timeline::Detail& detail) {
  if (const auto* text = std::get_if<std::string>(&detail.value)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&detail.value))
    return detail.unit == "bytes" ? units::format_bytes(*integer) : std::to_string(*integer);
  const double value = std::get<double>(detail.value);
  if (detail.unit.empty()) return units::format_significant(value, 6);
  // 0 s has no unit prefix. A start needs more digits than a duration.
  return units::format_quantity(value, detail.unit, detail.name == "start" ? 9 : 4);
}

}  // namespace

report::Table names_table(const timeline::Timeline& all, const timeline::RangeStatistics& statistics) {
  report::Table table;
  table.name = "range_names";
  table.title = "In the range, by name";
  table.note =
      "Events that touch the range, with their times cut to it. Share: time / (length of the range × number of ranks). "
      "Nested and parallel events each count in full.";
  table.columns = {report::text("name", "name"),
                   report::text("what", "kind"),
                   report::count("count", "events"),
                   report::digits(report::seconds("total_s", "total"), 4),
                   report::digits(report::seconds("mean_s", "mean"), 3),
                   report::digits(report::seconds("longest_s", "longest"), 3),
                   report::share("share", "share")};
  table.empty = "The range has no events. Select a wider one.";
  const double whole_ns = static_cast<double>(statistics.end_ns - statistics.begin_ns) *
                          static_cast<double>(std::max<std::size_t>(1, all.ranks.size()));
  for (const timeline::NameStatistics& of : statistics.names)
    table.rows.push_back({all.names.text(of.name), std::string(to_string(all.names.category(of.name))), of.count,
                          seconds(of.total_ns), seconds(of.mean_ns()), seconds(of.longest_ns),
                          static_cast<double>(of.total_ns) / whole_ns});
  return table;
}

report::Table ranks_table(const timeline::Timeline& all, const timeline::RangeStatistics& statistics) {
  report::Table table;
  table.name = "range_ranks";
  table.title = "In the range, by rank";
  table.note =
      "Whole steps count as in the report's step table. A step that is cut by the range is counted by its intervals of "
      "compute and communication. This is unknown for a warm-up step and for a step on a GPU.";
  table.columns = {report::count("rank", "rank"),
                   report::count("whole_steps", "whole steps"),
                   report::count("cut_steps", "cut steps"),
                   report::digits(report::seconds("compute_s", "compute"), 4),
                   report::digits(report::seconds("communication_s", "communication"), 4),
                   report::digits(report::seconds("overlapped_s", "overlapped"), 4),
                   report::digits(report::seconds("exposed_s", "exposed"), 4),
                   report::digits(report::seconds("skew_s", "skew"), 4),
                   report::share("exposed_share", "exposed share")};
  table.empty = "The measurement has no ranks.";
  const double length_s = seconds(statistics.end_ns - statistics.begin_ns);
  for (const timeline::RankStatistics& of : statistics.ranks) {
    report::Row row = {all.ranks[of.rank].rank, of.whole_steps, of.cut_steps};
    if (of.time) {
      for (const std::int64_t ns : {of.time->compute_ns, of.time->communication_ns, of.time->overlapped_ns,
                                    of.time->exposed_ns, of.time->skew_ns})
        row.emplace_back(seconds(ns));
      row.emplace_back(seconds(of.time->exposed_ns) / length_s);
    } else {
      row.resize(table.columns.size());
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

report::Table details_table(const std::vector<timeline::Detail>& details) {
  report::Table table;
  table.name = "event";
  table.title = "Event";
  table.columns = {report::text("property", "property"), report::text("value", "value")};
  for (const timeline::Detail& detail : details) table.rows.push_back({detail.name, shown(detail)});
  return table;
}

}  // namespace ddpprof::gui
