#include "analysis/timeline/utilisation.hpp"

#include <algorithm>
#include <cmath>

namespace ddpprof::timeline {
namespace {

// Busy ns of one rank by part.
class Parts {
 public:
  Parts(const Timeline& all, std::size_t count)
      : begin_ns_(all.begin_ns),
        part_ns_(static_cast<double>(all.end_ns - all.begin_ns) / static_cast<double>(count)),
        ns_(count, 0.0) {}

  // Spreads `busy_ns` evenly over [start_ns, end_ns).
  void add(std::int64_t start_ns, std::int64_t end_ns, double busy_ns) {
    const double from = since_begin(start_ns), to = since_begin(end_ns);
    if (!(to > from)) return;
    const double density = busy_ns / (to - from);
    for (std::size_t i = index(from); i < ns_.size(); ++i) {
      const double left = static_cast<double>(i) * part_ns_;
      if (left >= to) break;
      ns_[i] += density * std::max(0.0, std::min(to, left + part_ns_) - std::max(from, left));
    }
  }
  double ns(std::size_t part) const { return ns_[part]; }
  double part_ns() const { return part_ns_; }

 private:
  double since_begin(std::int64_t ns) const { return static_cast<double>(ns - begin_ns_); }
  std::size_t index(double from) const {
    return std::min(ns_.size(), static_cast<std::size_t>(std::max(0.0, std::floor(from / part_ns_))));
  }

  std::int64_t begin_ns_;
  double part_ns_;
  std::vector<double> ns_;
};

bool has_streams(const Timeline& all, const Rank& rank) {
  for (std::uint32_t t = rank.first_track; t < rank.first_track + rank.tracks; ++t)
    if (all.tracks[t].kind == TrackKind::stream) return true;
  return false;
}

void add_streams(const Timeline& all, const Rank& rank, Parts& busy) {
  for (std::uint32_t t = rank.first_track; t < rank.first_track + rank.tracks; ++t) {
    const Track& track = all.tracks[t];
    if (track.kind != TrackKind::stream) continue;
    for (std::uint32_t r = track.first_row; r < track.first_row + track.rows; ++r) {
      const Row& row = all.rows[r];
      if (const Level* level = level_for(row, busy.part_ns())) {
        for (const Block& block : level->blocks)
          busy.add(block.start_ns, block.end_ns, static_cast<double>(block.busy_ns));
      } else {
        for (std::size_t i = 0; i < row.size(); ++i)
          busy.add(row.start_ns[i], row.end_ns(i), static_cast<double>(row.duration_ns[i]));
      }
    }
  }
}

void add_intervals(const ingest::IntervalSet& set, Parts& into) {
  for (const ingest::Interval& one : set)
    into.add(one.start_ns, one.end_ns, static_cast<double>(one.end_ns - one.start_ns));
}

}  // namespace

Utilisation utilisation(const Timeline& all, std::size_t parts) {
  Utilisation made;
  made.shares.resize(parts);
  if (parts == 0 || all.end_ns <= all.begin_ns) return made;
  made.of_devices = std::ranges::any_of(all.ranks, [&](const Rank& rank) { return has_streams(all, rank); });
  std::vector<double> known_ns(parts, 0.0), busy_ns(parts, 0.0);
  for (const Rank& rank : all.ranks) {
    if (made.of_devices && !has_streams(all, rank)) continue;
    Parts busy(all, parts), known(all, parts);
    if (made.of_devices) {
      add_streams(all, rank, busy);
      known.add(all.begin_ns, all.end_ns, static_cast<double>(all.end_ns - all.begin_ns));
    } else {
      add_intervals(ingest::intersect(rank.time.compute, rank.time.known), busy);
      add_intervals(rank.time.known, known);
    }
    for (std::size_t i = 0; i < parts; ++i) {
      known_ns[i] += known.ns(i);
      busy_ns[i] += std::min(busy.ns(i), known.ns(i));
    }
  }
  for (std::size_t i = 0; i < parts; ++i)
    if (known_ns[i] > 0.0) made.shares[i] = std::min(1.0, busy_ns[i] / known_ns[i]);
  return made;
}

}  // namespace ddpprof::timeline
