#include "analysis/import/trace/slice_store.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/collectives/collective_launches.hpp"

namespace ddpprof::import {
namespace {

SortOptions share_of(SortOptions options, std::size_t parts) {
  options.bound_bytes /= parts;
  return options;
}

}  // namespace

SliceStore::SliceStore(SortOptions options)
    : options_(share_of(std::move(options), 4)),
      pending_(options_),
      calls_(options_),
      joined_(options_),
      outside_(options_),
      slices_(options_),
      lost_(options_) {}

void SliceStore::add(const Slice& slice, std::optional<std::int64_t> correlation) {
  pending_.push({slice, correlation.value_or(-1)});
  durations_[slice.name].add(slice.end_ns - slice.start_ns);
  all_durations_.add(slice.end_ns - slice.start_ns);
}

void SliceStore::add_call(std::int64_t correlation, const LaunchCall& launch) { calls_.push({correlation, launch}); }

void SliceStore::finish(const CollectiveLaunches* launches) {
  pending_.finish();
  calls_.finish();
  join(launches && !launches->empty() ? launches : nullptr);
  pending_.release();
  calls_.release();
  outside_.finish();
  lost_.finish();
  // If no slice is inside, the clocks of host and devices differ, and nothing is wrong with single slices.
  if (joined_.size() == 0)
    outside_.for_each([&](const Slice& slice) { joined_.push(slice); });
  else
    out_of_bounds_ = static_cast<std::int64_t>(outside_.size());
  outside_.release();
  joined_.finish();
  check();
  joined_.release();
  slices_.finish();
}

void SliceStore::join(const CollectiveLaunches* launches) {
  if (pending_.size() == 0) return;
  auto calls = calls_.cursor();
  const Call* call = calls.next();
  std::int64_t joined = -1;  // the last slice's correlation
  Slice last;
  const auto pass_over = [&] {
    if (call->correlation == joined)
      joined_launchers_.insert(call->launch.launcher);
    else if (call->launch.launcher != 0)
      lost_.push(call->launch);
    call = calls.next();
  };
  pending_.for_each([&](const Pending& pending) {
    if (pending.correlation >= 0 && pending.correlation == joined && pending.slice == last) {
      ++repeated_;
      return;
    }
    last = pending.slice;
    while (call && call->correlation < pending.correlation) pass_over();
    joined = pending.correlation;
    Slice slice = pending.slice;
    slice.launch_ns = slice.start_ns;
    if (!call || call->correlation != pending.correlation || pending.correlation < 0) {
      ++without_call_;
      return keep(slice);
    }
    slice.launch_ns = call->launch.start_ns;
    const bool kernel = slice.work == Work::compute || slice.work == Work::communication;
    const std::optional<std::size_t> own =
        launches && kernel && within_bounds(slice.start_ns) ? launches->call_of(call->launch) : std::nullopt;
    if (own) {
      call_of_.emplace(pending.correlation, *own);
      if (slice.work == Work::compute) {
        slice.work = Work::communication;
        called_.push_back({slice, *own});
      }
    }
    keep(slice);
  });
  while (call) pass_over();
}

void SliceStore::keep(const Slice& slice) { (within_bounds(slice.start_ns) ? joined_ : outside_).push(slice); }

void SliceStore::check() {
  std::map<std::pair<std::int32_t, std::int32_t>, Slice> last;  // by device and stream
  joined_.for_each([&](const Slice& slice) {
    const auto [found, fresh] = last.try_emplace({slice.device, slice.stream}, slice);
    if (fresh) return;
    settle(found->second, slice.start_ns);
    found->second = slice;
  });
  for (const auto& [stream, slice] : last) settle(slice, std::nullopt);
}

// A stream runs its slices one after the other. So a slice that overlaps the next one, or ends after the host's last
// event, and is far longer than similar slices has a wrong duration.
void SliceStore::settle(Slice slice, std::optional<std::int64_t> following_ns) {
  const std::int64_t duration_ns = slice.end_ns - slice.start_ns;
  const std::optional<std::int64_t> bound_ns = following_ns ? following_ns : host_end_ns_;
  if (bound_ns && slice.end_ns > *bound_ns) {
    const double usual = usual_ns(slice);
    if (static_cast<double>(duration_ns) > absurd_factor * std::max(usual, 1.0)) {
      const auto kept_ns =
          std::min(static_cast<std::int64_t>(usual), std::max<std::int64_t>(0, *bound_ns - slice.start_ns));
      const std::int64_t cut_ns = duration_ns - kept_ns;
      if (absurd_.count == 0 || duration_ns > absurd_.first_duration_ns) {
        absurd_.first_name = slice.name;
        absurd_.first_start_ns = slice.start_ns;
        absurd_.first_duration_ns = duration_ns;
      }
      ++absurd_.count;
      absurd_.cut_ns = sum_of(absurd_.cut_ns, cut_ns);
      slice.end_ns = slice.start_ns + kept_ns;
    } else if (following_ns) {
      ++overlapping_;
    }
  }
  NameTotals& totals = totals_[{slice.name, slice.work}];
  const std::int64_t sound_ns = slice.end_ns - slice.start_ns;
  totals.minimum_ns = totals.count == 0 ? sound_ns : std::min(totals.minimum_ns, sound_ns);
  totals.maximum_ns = std::max(totals.maximum_ns, sound_ns);
  totals.total_ns = sum_of(totals.total_ns, sound_ns);
  ++totals.count;
  slices_.push(slice);
}

double SliceStore::usual_ns(const Slice& slice) const {
  const auto found = durations_.find(slice.name);
  if (found != durations_.end() && found->second.count() >= few) return found->second.median_ns();
  return all_durations_.median_ns();
}

void SliceStore::Histogram::add(std::int64_t duration_ns) {
  const double position = duration_ns > 0 ? 2.0 * std::log2(static_cast<double>(duration_ns)) : 0.0;
  ++counts_[std::min(static_cast<std::size_t>(position), counts_.size() - 1)];
  ++count_;
}

double SliceStore::Histogram::median_ns() const {
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (2 * seen >= count_) return std::exp2((static_cast<double>(i) + 0.5) / 2.0);
  }
  return 0.0;
}

}  // namespace ddpprof::import
