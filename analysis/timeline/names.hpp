// Names and categories of events: each (text, category) is stored once, and events hold its number.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace ddpprof::timeline {

enum class Category : std::uint8_t {
  step,
  compute,         // forward, backward, optimizer, replicas
  input,           // waiting for data, making it, moving it to the device
  copy,            // DataParallel's replicate, scatter, gather, reduce; DDP's buffers
  collective,      // in flight
  gradient_ready,  // an instant
  launch,          // an instant: a collective is passed to the backend
  kernel,
  communication_kernel,
  memory_copy,
  cuda_call,
  range,       // any other range or mark of the host
  unfinished,  // began and never ended: an instant
};
inline constexpr std::size_t category_count = 13;
std::string_view to_string(Category);
// Returns the category of a phase of the vocabulary; `range` for any other name. Never returns `step`, even if a
// foreign file names a phase so, because an event of that category has a row of Timeline::steps.
Category category_of_phase(std::string_view name);

class Names {
 public:
  std::uint32_t intern(std::string_view text, Category);
  std::size_t size() const { return entries_.size(); }
  const std::string& text(std::uint32_t name) const { return entries_[name].first; }
  Category category(std::uint32_t name) const { return entries_[name].second; }

 private:
  std::deque<std::pair<std::string, Category>> entries_;
  std::map<std::pair<std::string, Category>, std::uint32_t> numbers_;
};

}  // namespace ddpprof::timeline
