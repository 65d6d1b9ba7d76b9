#include "analysis/import/trace/launch_order.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace ddpprof::import {
namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t later_than_all = std::numeric_limits<std::int64_t>::max();

}  // namespace

LaunchOrder::LaunchOrder(std::vector<std::int64_t> moments_ns) : moments_ns_(std::move(moments_ns)) {
  std::sort(moments_ns_.begin(), moments_ns_.end());
  moments_ns_.erase(std::unique(moments_ns_.begin(), moments_ns_.end()), moments_ns_.end());
  computed_.assign(moments_ns_.size() + 1, never);
  done_.assign(moments_ns_.size() + 1, never);
  begun_.assign(moments_ns_.size() + 1, later_than_all);
}

void LaunchOrder::add(const Slice& slice) {
  // The first requested time after the launch.
  const auto at = static_cast<std::size_t>(std::upper_bound(moments_ns_.begin(), moments_ns_.end(), slice.launch_ns) -
                                           moments_ns_.begin());
  const std::pair stream{slice.device, slice.stream};
  if (slice.work == Work::copy || slice.work == Work::set) {
    auto found = copies_.find(stream);
    if (found == copies_.end()) found = copies_.emplace(stream, no_work()).first;
    Bounds& copies = found->second;
    copies.ends[at] = std::max(copies.ends[at], slice.end_ns);
    copies.starts[at] = std::min(copies.starts[at], slice.start_ns);
    return;
  }
  done_[at] = std::max(done_[at], slice.end_ns);
  if (slice.work == Work::communication) return;
  kernel_streams_.insert(stream);
  computed_[at] = std::max(computed_[at], slice.end_ns);
  begun_[at] = std::min(begun_[at], slice.start_ns);
}

LaunchOrder::Bounds LaunchOrder::no_work() const {
  return {std::vector<std::int64_t>(moments_ns_.size() + 1, never),
          std::vector<std::int64_t>(moments_ns_.size() + 1, later_than_all)};
}

void LaunchOrder::finish() {
  for (const auto& [stream, copies] : copies_) {
    if (!kernel_streams_.empty() && !kernel_streams_.contains(stream)) continue;
    for (std::size_t i = 0; i < done_.size(); ++i) {
      done_[i] = std::max(done_[i], copies.ends[i]);
      computed_[i] = std::max(computed_[i], copies.ends[i]);
      begun_[i] = std::min(begun_[i], copies.starts[i]);
    }
  }
  for (std::size_t i = 1; i < done_.size(); ++i) {
    done_[i] = std::max(done_[i], done_[i - 1]);
    computed_[i] = std::max(computed_[i], computed_[i - 1]);
  }
  for (std::size_t i = begun_.size() - 1; i > 0; --i) begun_[i - 1] = std::min(begun_[i - 1], begun_[i]);
}

std::size_t LaunchOrder::place(std::int64_t moment_ns) const {
  return static_cast<std::size_t>(std::lower_bound(moments_ns_.begin(), moments_ns_.end(), moment_ns) -
                                  moments_ns_.begin());
}

std::optional<std::int64_t> LaunchOrder::computed_by_ns(std::int64_t moment_ns) const {
  const std::int64_t found = computed_[place(moment_ns)];
  return found == never ? std::nullopt : std::optional(found);
}

std::optional<std::int64_t> LaunchOrder::done_by_ns(std::int64_t moment_ns) const {
  const std::int64_t found = done_[place(moment_ns)];
  return found == never ? std::nullopt : std::optional(found);
}

std::optional<std::int64_t> LaunchOrder::begun_from_ns(std::int64_t moment_ns) const {
  const std::int64_t found = begun_[place(moment_ns) + 1];
  return found == later_than_all ? std::nullopt : std::optional(found);
}

ingest::Interval LaunchOrder::step_on_device(const ingest::Interval& host) const {
  const std::optional<std::int64_t> before_ns = done_by_ns(host.start_ns), end_ns = done_by_ns(host.end_ns);
  if (before_ns || !end_ns) return {before_ns.value_or(host.start_ns), end_ns.value_or(host.end_ns)};
  const std::int64_t assumed_ns = host.start_ns + (*end_ns - host.end_ns);
  return {std::min(assumed_ns, begun_from_ns(host.start_ns).value_or(assumed_ns)), *end_ns};
}

}  // namespace ddpprof::import
