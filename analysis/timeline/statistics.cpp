#include "analysis/timeline/statistics.hpp"

#include <algorithm>

namespace ddpprof::timeline {
namespace {

constexpr std::size_t events_between_checks = 1 << 18;

RankStatistics of_rank(const Timeline& timeline, std::uint32_t index, ingest::Interval range) {
  RankStatistics out;
  out.rank = index;
  const RankTime& times = timeline.ranks[index].time;
  RankStatistics::Time sum;
  bool all_known = true;
  for (const Step& step : timeline.steps) {
    const std::int64_t end_ns = step.start_ns + step.duration_ns;
    if (step.rank != index || step.start_ns >= range.end_ns || end_ns <= range.start_ns) continue;
    if (step.start_ns >= range.start_ns && end_ns <= range.end_ns) {
      ++out.whole_steps;
      sum.compute_ns += step.compute_ns;
      sum.communication_ns += step.communication_ns;
      sum.overlapped_ns += step.overlapped_ns;
      sum.exposed_ns += step.exposed_ns;
      sum.skew_ns += step.skew_ns;
      continue;
    }
    ++out.cut_steps;
    const ingest::Interval cut{std::max(step.start_ns, range.start_ns), std::min(end_ns, range.end_ns)};
    if (ingest::total_ns(ingest::clip(times.known, cut)) != cut.end_ns - cut.start_ns) {
      all_known = false;
      continue;
    }
    const ingest::IntervalSet compute = ingest::clip(times.compute, cut);
    const ingest::IntervalSet communication = ingest::clip(times.communication, cut);
    const std::int64_t overlapped_ns = ingest::total_ns(ingest::intersect(compute, communication));
    sum.compute_ns += ingest::total_ns(compute);
    sum.communication_ns += ingest::total_ns(communication);
    sum.overlapped_ns += overlapped_ns;
    sum.exposed_ns += ingest::total_ns(communication) - overlapped_ns;
    sum.skew_ns += ingest::total_ns(ingest::clip(times.skew, cut));
  }
  if (all_known) out.time = sum;
  return out;
}

}  // namespace

std::optional<RangeStatistics> range_statistics(const Timeline& timeline, std::int64_t begin_ns, std::int64_t end_ns,
                                                const std::function<bool()>& cancelled) {
  RangeStatistics out;
  out.begin_ns = begin_ns;
  out.end_ns = end_ns;
  std::vector<NameStatistics> names(timeline.names.size());
  for (const Row& row : timeline.rows) {
    const std::size_t first = row.first_touching(begin_ns), last = row.first_from(end_ns);
    for (std::size_t i = first; i < last; ++i) {
      if ((i - first) % events_between_checks == 0 && cancelled && cancelled()) return std::nullopt;
      NameStatistics& of = names[row.name[i]];
      const std::int64_t inside_ns = std::min(row.end_ns(i), end_ns) - std::max(row.start_ns[i], begin_ns);
      ++of.count;
      of.total_ns += inside_ns;
      of.longest_ns = std::max(of.longest_ns, inside_ns);
    }
  }
  for (std::uint32_t name = 0; name < names.size(); ++name) {
    if (names[name].count == 0) continue;
    names[name].name = name;
    out.events += names[name].count;
    out.names.push_back(names[name]);
  }
  std::sort(out.names.begin(), out.names.end(), [&](const NameStatistics& a, const NameStatistics& b) {
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    if (a.count != b.count) return a.count > b.count;
    return timeline.names.text(a.name) < timeline.names.text(b.name);
  });
  for (std::uint32_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    if (cancelled && cancelled()) return std::nullopt;
    out.ranks.push_back(of_rank(timeline, rank, {begin_ns, end_ns}));
  }
  return out;
}

}  // namespace ddpprof::timeline
