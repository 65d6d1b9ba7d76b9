#include "analysis/import/trace/sharding/unit_names.hpp"

#include <algorithm>

#include "analysis/import/trace/sharding/unit_segments.hpp"

namespace ddpprof::import {
namespace {

// Assigns units in the order of one step's annotations.
class NamelessUnits {
 public:
  void take(ShardingMark& mark, bool in_backward) {
    while (!around_.empty() && mark.time.start_ns >= around_.back()->time.end_ns) around_.pop_back();
    switch (mark.action) {
      case ShardingAction::root_pre_forward:
        if (!backward_ || in_backward) break;
        finish();
        *this = NamelessUnits();
        break;
      case ShardingAction::pre_forward:
        if (in_backward) {  // the unit whose backward comes next is recomputed
          mark.unit = pre_backwards_ == 0 ? 0 : from_last(pre_backwards_ - 1);
        } else {
          if (open_.empty()) forwards_ = 0;  // the root's forward, also a second one before the backward
          mark.unit = forwards_ == 0 ? 0 : first_nameless_unit + forwards_;
          ++forwards_;
        }
        open_.push_back(mark.unit);
        break;
      case ShardingAction::post_forward:
        if (open_.empty()) break;
        mark.unit = open_.back();
        open_.pop_back();
        break;
      case ShardingAction::pre_backward:
        backward_ = true;
        mark.unit = pre_backwards_ == 0 ? 0 : from_last(pre_backwards_ - 1);
        ++pre_backwards_;
        break;
      case ShardingAction::reduce:
        mark.unit = from_last(reductions_++);
        break;
      case ShardingAction::prefetch:
        mark.unit = around_.empty() ? 0 : following(*around_.back());
        break;
      default:
        mark.unit = around_.empty() ? 0 : around_.back()->unit;
        break;
    }
    around_.push_back(&mark);
    taken_.push_back(&mark);
  }

  // The last unit of a forward has no next unit: its annotation of a prefetch gathers nothing and is its own work.
  void finish() {
    for (ShardingMark* mark : taken_)
      if (mark->unit >= first_nameless_unit + forwards_)
        mark->unit = forwards_ > 1 ? first_nameless_unit + forwards_ - 1 : 0;
  }

 private:
  // The unit whose forward was the k-th from the end; the root at the end.
  std::uint32_t from_last(std::uint32_t k) const {
    return k + 1 < forwards_ ? first_nameless_unit + forwards_ - 1 - k : 0;
  }

  std::uint32_t following(const ShardingMark& around) const {
    const std::uint32_t number = around.unit == 0 ? 0 : around.unit - first_nameless_unit;
    if (around.action == ShardingAction::pre_forward) return first_nameless_unit + number + 1;
    if (number == 0) return from_last(0);
    return number == 1 ? 0 : first_nameless_unit + number - 1;
  }

  std::uint32_t forwards_ = 0, pre_backwards_ = 0, reductions_ = 0;
  bool backward_ = false;
  std::vector<std::uint32_t> open_;          // units in their forward
  std::vector<const ShardingMark*> around_;  // annotations around the current one
  std::vector<ShardingMark*> taken_;
};

}  // namespace

std::string unit_name(const Names& names, std::uint32_t unit) {
  return unit < first_nameless_unit ? names.text(unit) : "unit " + std::to_string(unit - first_nameless_unit);
}

void number_nameless_units(std::vector<ShardingMark>& marks, const std::vector<const HostStep*>& steps) {
  auto mark = marks.begin();
  for (const HostStep* step : steps) {
    NamelessUnits units;
    while (mark != marks.end() && mark->time.start_ns < step->time.start_ns) ++mark;
    for (; mark != marks.end() && mark->time.start_ns < step->time.end_ns; ++mark)
      if (mark->nameless) units.take(*mark, backward_around(*step, mark->time.start_ns).has_value());
    units.finish();
  }
}

}  // namespace ddpprof::import
