// The controls, panels and keys of the page.
#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QShortcut>
#include <QSpinBox>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/pages/timeline/finder.hpp"
#include "gui/pages/timeline/step_panel.hpp"
#include "gui/pages/timeline/timeline_page.hpp"
#include "gui/plots/design.hpp"
#include "gui/timeline/overview_strip.hpp"
#include "gui/timeline/range_statistics.hpp"
#include "gui/timeline/timeline_legend.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {

QWidget* TimelinePage::make_controls() {
  auto* row = new QWidget(this);
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  const auto labelled = [&](const QString& text, QWidget* field) {
    auto* label = new QLabel(text, row);
    label->setBuddy(field);
    layout->addWidget(label);
    layout->addWidget(field);
  };
  measurement_ = new QComboBox(row);
  measurement_->setAccessibleName(tr("Measurement"));
  measurement_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  labelled(tr("&Measurement:"), measurement_);
  connect(measurement_, &QComboBox::activated, this, &TimelinePage::choose_measurement);

  finder_ = new Finder(*view_, row);
  layout->addWidget(finder_, 1);

  step_ = new QSpinBox(row);
  step_->setAccessibleName(tr("Step"));
  step_->setKeyboardTracking(false);
  labelled(tr("St&ep:"), step_);
  go_ = new QPushButton(tr("&Zoom to it"), row);
  layout->addWidget(go_);
  connect(step_, &QSpinBox::valueChanged, this, [this] { step_chosen_ = true; });
  connect(go_, &QPushButton::clicked, this, &TimelinePage::go_to_step);
  connect(step_->findChild<QLineEdit*>(), &QLineEdit::returnPressed, this, &TimelinePage::go_to_step);

  select_ = new QToolButton(row);
  select_->setText(tr("Select a ran&ge"));
  select_->setCheckable(true);
  select_->setFocusPolicy(Qt::StrongFocus);
  select_->setToolTip(
      tr("Dragging selects a range of time instead of moving (M). Other ways: drag with Shift, drag in the ruler, or "
         "press Shift with the arrow keys"));
  layout->addWidget(select_);
  connect(select_, &QToolButton::toggled, view_, &TimelineView::set_select_mode);
  connect(view_, &TimelineView::select_mode_changed, select_, &QToolButton::setChecked);

  return row;
}

QWidget* TimelinePage::make_progress() {
  progress_row_ = new QWidget(this);
  auto* layout = new QHBoxLayout(progress_row_);
  layout->setContentsMargins(0, 0, 0, 0);
  progress_text_ = new QLabel(progress_row_);
  progress_ = new QProgressBar(progress_row_);
  progress_->setRange(0, 1000);
  progress_->setAccessibleName(tr("Progress of reading raw events"));
  stop_ = new QPushButton(progress_row_);
  layout->addWidget(progress_text_);
  layout->addWidget(progress_, 1);
  layout->addWidget(stop_);
  connect(stop_, &QPushButton::clicked, this, [this] { source_->loading() ? source_->cancel() : source_->retry(); });
  return progress_row_;
}

QWidget* TimelinePage::make_panels() {
  panels_ = new QTabWidget(this);
  panels_->setDocumentMode(true);
  details_ = new TableView(panels_);
  details_->setAccessibleName(tr("Details of the focused event"));
  range_ = new RangeStatistics(selection(), *source_, panels_);
  step_panel_ = new StepPanel(panels_);
  panels_->addTab(details_, tr("Eve&nt"));
  panels_->addTab(range_, tr("Sele&cted range"));
  panels_->addTab(step_panel_, tr("Ste&p and its simulation"));
  connect(panels_, &QTabWidget::currentChanged, this, &TimelinePage::show_step_panel);
  return panels_;
}

QWidget* TimelinePage::make_overview() {
  auto* upper = new QWidget(this);
  auto* layout = new QVBoxLayout(upper);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(grid_px / 2);
  auto* row = new QHBoxLayout;
  row->addWidget(legend_, 1);
  flows_ = new QCheckBox(tr("Fl&ow lines"), this);
  flows_->setChecked(true);
  flows_->setToolTip(tr("Lines connect one collective over all ranks; the triangle marks the rank that starts last"));
  row->addWidget(flows_);
  connect(flows_, &QCheckBox::toggled, view_, &TimelineView::set_flows);
  raw_ = new QCheckBox(tr("Ra&w events"), this);
  raw_->setChecked(true);
  raw_->setToolTip(tr("NVTX ranges, kernels and CUDA calls as recorded"));
  row->addWidget(raw_);
  connect(raw_, &QCheckBox::toggled, view_, &TimelineView::set_raw);
  connect(view_, &TimelineView::raw_changed, raw_, &QCheckBox::setChecked);
  layout->addLayout(row);
  layout->addWidget(strip_);
  layout->addWidget(view_, 1);
  connect(view_, &TimelineView::view_changed, this, &TimelinePage::show_view);
  connect(strip_, &OverviewStrip::view_requested, view_, &TimelineView::show_exactly);
  return upper;
}

void TimelinePage::show_view() {
  const Axis& axis = view_->axis();
  strip_->set_view(axis.left_ns, axis.ns_of(view_->area_width()));
}

void TimelinePage::make_shortcuts() {
  const auto add = [this](QWidget* where, const QKeySequence& keys, auto call) {
    auto* shortcut = new QShortcut(keys, where);
    shortcut->setContext(Qt::WidgetWithChildrenShortcut);
    connect(shortcut, &QShortcut::activated, this, call);
  };
  add(view_, Qt::Key_N, [this] { finder_->next(); });
  add(view_, Qt::SHIFT | Qt::Key_N, [this] { finder_->previous(); });
  add(this, Qt::Key_F3, [this] { finder_->next(); });
  add(this, Qt::SHIFT | Qt::Key_F3, [this] { finder_->previous(); });
  add(this, QKeySequence::Find, [this] {
    finder_->box().setFocus(Qt::ShortcutFocusReason);
    finder_->box().selectAll();
  });
}

std::vector<std::pair<QString, QString>> TimelinePage::keys() const {
  return {{tr("W, S, +, −, wheel"), tr("zoom in and out")},
          {tr("A, D, drag, Shift+wheel, Ctrl+←, Ctrl+→"), tr("move along time")},
          {tr("wheel over the labels, Page Up, Page Down"), tr("scroll through the ranks")},
          {tr("0"), tr("show all")},
          {tr("Home, End"), tr("go to the first and the last event")},
          {tr("←, →"), tr("focus the previous or next event of the row")},
          {tr("↑, ↓"), tr("focus the event at the same time in the row above or below")},
          {tr("F, double click"), tr("zoom to the focused event, or to the selected range")},
          {tr("Shift+drag, M and drag, drag in the ruler"), tr("select a range of time")},
          {tr("Shift+←, Shift+→"), tr("select a range of time by moving its end by 2 % of the view; it begins at the "
                                      "focused event, otherwise in the middle")},
          {tr("Ctrl+Shift+←, Ctrl+Shift+→"),
           tr("move the range's end to the next begin or end of an event of the focused row")},
          {tr("Shift+Home, Shift+End"), tr("move the range's end to the first and the last event")},
          {tr("R"), tr("select the focused event's time; if it is an instant, or without focus, all time in view")},
          {tr("C, click on a rank"), tr("collapse or expand a rank")},
          {tr("Ctrl+F"), tr("find events by name")},
          {tr("N, Shift+N; F3, Shift+F3"), tr("go to the next and previous hit; zooms until it is readable")},
          {tr("Ctrl+C, Ctrl+Shift+S"), tr("copy the picture, save it as PNG or SVG")},
          {tr("Esc"), tr("end selecting, clear the range, clear the focus")}};
}

}  // namespace ddpprof::gui
