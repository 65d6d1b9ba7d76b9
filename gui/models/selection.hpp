// The user's selection, shared by all pages: a measurement, a range of its time, and what predictions are for.
#pragma once

#include <QObject>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/predict/predict.hpp"

namespace ddpprof::gui {

struct TimeRange {
  std::int64_t measurement = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // on rank 0's clock
  bool operator==(const TimeRange&) const = default;
};

// Another N or another machine than those of the file's own predictions.
struct PredictionChoice {
  std::int64_t workers = 1;     // the largest N to predict
  fit::PredictOptions options;  // the machine; without worker counts and logs
  std::string text;             // all that differs from the file: "N = 16, link between nodes: hdr"
  bool operator==(const PredictionChoice& other) const { return workers == other.workers && text == other.text; }
};

class Selection : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

  const std::optional<TimeRange>& range() const { return range_; }
  std::optional<std::int64_t> measurement() const { return measurement_; }
  // Empty: the file's own predictions.
  const std::optional<PredictionChoice>& choice() const { return choice_; }

  void set_range(const std::optional<TimeRange>&);
  // Selecting another measurement than the range's clears the range.
  void set_measurement(std::optional<std::int64_t>);
  void set_choice(const std::optional<PredictionChoice>&);

 signals:
  void range_changed();
  void measurement_changed();
  void choice_changed();

 private:
  std::optional<TimeRange> range_;
  std::optional<std::int64_t> measurement_;
  std::optional<PredictionChoice> choice_;
};

}  // namespace ddpprof::gui
