#include "gui/pages/timeline/step_panel.hpp"

#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <stdexcept>

#include "analysis/metrics/lanes/step_lanes.hpp"
#include "analysis/predict/lanes.hpp"
#include "analysis/predict/sharded/sharded_lanes.hpp"
#include "gui/widgets/lane_view.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

struct Answer {
  std::optional<step::StepLanes> measured, simulated;
  std::string why_not_measured, why_not_simulated;
};

const MeasurementInfo* info_of(const OpenedFile& file, std::int64_t measurement) {
  for (const MeasurementInfo& info : file.measurements)
    if (info.id == measurement) return &info;
  return nullptr;
}

Answer read_step(const OpenedFile& file, std::int64_t measurement, std::int64_t rank,
                 std::optional<std::int64_t> step) {
  Answer answer;
  try {
    store::Database database = store::Database::open_read(file.path);
    answer.measured = metrics::measured_lanes(database, measurement, rank, step);
  } catch (const std::exception& error) {
    answer.why_not_measured = error.what();
  }
  try {
    const MeasurementInfo* info = info_of(file, measurement);
    if (info != nullptr && info->strategy == "fsdp") {
      store::Database database = store::Database::open_read(file.path);
      answer.simulated = fit::simulated_sharded_lanes(database.sql(), info->workers, file.predict);
    } else if (!file.models)
      answer.why_not_simulated = file.why_no_models;
    else if (info != nullptr)
      answer.simulated = fit::simulated_lanes(file.models, info->strategy, info->workers, file.predict);
  } catch (const std::exception& error) {
    answer.why_not_simulated = error.what();
  }
  return answer;
}

void fill(LaneView& view, std::optional<step::StepLanes> lanes, const QString& title, const QString& name,
          const std::string& why_not) {
  if (lanes)
    view.set_lanes(std::move(*lanes), title, name);
  else
    view.set_message(title, QString::fromStdString(why_not));
}

}  // namespace

StepPanel::StepPanel(QWidget* parent) : QWidget(parent), job_(this) {
  auto* both = new QWidget(this);
  measured_ = new LaneView(both);
  simulated_ = new LaneView(both);
  measured_->setAccessibleName(tr("Measured step"));
  simulated_->setAccessibleName(tr("Simulated step"));
  auto* column = new QVBoxLayout(both);
  column->setContentsMargins(4, 4, 4, 4);
  column->addWidget(measured_);
  column->addWidget(simulated_);
  column->addStretch(1);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(both);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll);
  connect(measured_, &LaneView::window_changed, simulated_, &LaneView::set_window);
  connect(simulated_, &LaneView::window_changed, measured_, &LaneView::set_window);
  connect(measured_, &LaneView::status_message, this, &StepPanel::status_message);
  connect(simulated_, &LaneView::status_message, this, &StepPanel::status_message);
  set_file(nullptr);
}

void StepPanel::set_file(std::shared_ptr<const OpenedFile> file) {
  job_.cancel();
  file_ = std::move(file);
  measured_->set_message(tr("Measured"), tr("No step is selected. Select one above, or focus one of its events."));
  simulated_->set_message(tr("Simulated"), tr("No step is selected."));
}

void StepPanel::show_step(std::int64_t measurement, std::int64_t rank, std::optional<std::int64_t> step) {
  if (!file_) return;
  job_.start(
      [file = file_, measurement, rank, step](const Cancelled&) { return read_step(*file, measurement, rank, step); },
      [this](Answer answer) {
        double longest_s = 0.0;
        for (const auto* lanes : {&answer.measured, &answer.simulated})
          if (*lanes) longest_s = std::max(longest_s, (*lanes)->step_s);
        const QString measured =
            answer.measured ? tr("Measured: rank %1, step %2").arg(answer.measured->rank).arg(answer.measured->step)
                            : tr("Measured");
        fill(*measured_, std::move(answer.measured), measured, "measured-step", answer.why_not_measured);
        fill(*simulated_, std::move(answer.simulated), tr("Simulated, as in the prediction"), "simulated-step",
             answer.why_not_simulated);
        const std::size_t names = std::max(measured_->longest_name(), simulated_->longest_name());
        for (LaneView* view : {measured_, simulated_}) {
          view->set_label_characters(names);
          if (longest_s > 0.0) {
            view->set_whole({0.0, longest_s});
            view->set_window({0.0, longest_s});
          }
        }
        emit shown();
      },
      [this](const std::string& why) { emit status_message(QString::fromStdString(why)); });
}

}  // namespace ddpprof::gui
