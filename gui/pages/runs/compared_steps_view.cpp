#include "gui/pages/runs/compared_steps_view.hpp"

#include <QVBoxLayout>
#include <algorithm>

#include "gui/widgets/lane_view.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

void show_step(LaneView& view, const QString& file, ComparedStep step) {
  if (!step.lanes)
    return view.set_message(ComparedStepsView::tr("Typical step of %1").arg(file),
                            QString::fromStdString(step.why_not));
  const QString title = ComparedStepsView::tr("Typical step of %1: rank %2, step %3, %4")
                            .arg(file)
                            .arg(step.lanes->rank)
                            .arg(step.lanes->step)
                            .arg(QString::fromStdString(units::format_quantity(step.lanes->step_s, "s")));
  view.set_lanes(std::move(*step.lanes), title, "step-of-" + file.toLower());
}

}  // namespace

ComparedStepsView::ComparedStepsView(std::filesystem::path a, std::filesystem::path b, QWidget* parent)
    : QWidget(parent),
      job_(this),
      path_a_(std::move(a)),
      path_b_(std::move(b)),
      a_(new LaneView(this)),
      b_(new LaneView(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  for (LaneView* view : {a_, b_}) {
    column->addWidget(view);
    view->hide();  // until its step is read
    connect(view, &LaneView::status_message, this, &ComparedStepsView::status_message);
    connect(view, &LaneView::segment_focused, this, &ComparedStepsView::status_message);
  }
  connect(a_, &LaneView::window_changed, b_, &LaneView::set_window);
  connect(b_, &LaneView::window_changed, a_, &LaneView::set_window);
}

void ComparedStepsView::show_configuration(std::size_t index) {
  job_.start([a = path_a_, b = path_b_, index](const Cancelled&) { return read_compared_steps(a, b, index); },
             [this](ComparedSteps steps) { show_steps(std::move(steps)); },
             [this](const std::string& why) {
               show_steps({{{}, why}, {{}, why}});
             });
}

void ComparedStepsView::show_steps(ComparedSteps steps) {
  double longest_s = 0.0;
  for (const ComparedStep* one : {&steps.a, &steps.b})
    if (one->lanes) longest_s = std::max(longest_s, one->lanes->step_s);
  show_step(*a_, QStringLiteral("A"), std::move(steps.a));
  show_step(*b_, QStringLiteral("B"), std::move(steps.b));
  const std::size_t names = std::max(a_->longest_name(), b_->longest_name());
  for (LaneView* view : {a_, b_}) {
    view->set_label_characters(names);
    if (longest_s > 0.0) view->set_whole({0.0, longest_s});
    view->show();
  }
  keep_lanes_whole();
  emit shown();
}

void ComparedStepsView::keep_lanes_whole() {
  for (LaneView* view : {a_, b_}) view->setMinimumHeight(view->heightForWidth(width()));
}

void ComparedStepsView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  keep_lanes_whole();
}

}  // namespace ddpprof::gui
