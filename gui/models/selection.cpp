#include "gui/models/selection.hpp"

namespace ddpprof::gui {

void Selection::set_range(const std::optional<TimeRange>& range) {
  if (range) set_measurement(range->measurement);
  if (range == range_) return;
  range_ = range;
  emit range_changed();
}

void Selection::set_measurement(std::optional<std::int64_t> measurement) {
  if (measurement == measurement_) return;
  measurement_ = measurement;
  if (range_ && range_->measurement != measurement) {
    range_.reset();
    emit range_changed();
  }
  emit measurement_changed();
}

void Selection::set_choice(const std::optional<PredictionChoice>& choice) {
  if (choice == choice_) return;
  choice_ = choice;
  emit choice_changed();
}

}  // namespace ddpprof::gui
