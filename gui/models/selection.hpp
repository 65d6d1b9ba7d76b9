// The user's selection, shared by all pages: a measurement, and a range of its time.
#pragma once

#include <QObject>
#include <cstdint>
#include <optional>

namespace ddpprof::gui {

struct TimeRange {
  std::int64_t measurement = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // on rank 0's clock
  bool operator==(const TimeRange&) const = default;
};

class Selection : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  const std::optional<TimeRange>& range() const { return range_; }
  std::optional<std::int64_t> measurement() const { return measurement_; }

  void set_range(const std::optional<TimeRange>&);
  // Selecting another measurement than the range's clears the range.
  void set_measurement(std::optional<std::int64_t>);

 signals:
  void range_changed();
  void measurement_changed();

 private:
  std::optional<TimeRange> range_;
  std::optional<std::int64_t> measurement_;
};

}  // namespace ddpprof::gui
