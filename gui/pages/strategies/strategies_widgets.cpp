// The controls, lanes and detail tabs of the page, and their connections.
#include <QBoxLayout>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QRadioButton>
#include <QScrollArea>
#include <QSpinBox>
#include <QTabWidget>

#include "gui/pages/strategies/comparison_view.hpp"
#include "gui/pages/strategies/side_bars.hpp"
#include "gui/pages/strategies/strategies_page.hpp"
#include "gui/plots/design.hpp"
#include "gui/widgets/lane_view.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {
namespace {

QLabel* label_for(QWidget* buddy, const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setBuddy(buddy);
  return label;
}

}  // namespace

QWidget* StrategiesPage::make_controls() {
  auto* row = new QWidget(this);
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  workers_ = new QSpinBox(row);
  workers_->setRange(1, static_cast<int>(most_workers));
  workers_->setKeyboardTracking(false);
  workers_->setAccessibleName(tr("Number of workers N"));
  workers_->setToolTip(tr("Ranks of DDP or replicas of DataParallel, from 1 to %1").arg(most_workers));
  measured_workers_ = new QComboBox(row);
  measured_workers_->setAccessibleName(tr("N that were measured"));
  measured_workers_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  measured_ = new QRadioButton(tr("&Measured"), row);
  simulated_ = new QRadioButton(tr("Simulat&ed"), row);
  simulated_->setToolTip(tr("Draw the simulated step that predictions use, even at a measured N"));
  measured_->setChecked(true);
  rank_ = new QSpinBox(row);
  rank_->setAccessibleName(tr("Rank of DDP"));
  rank_->setToolTip(tr("The rank whose measured step is drawn"));
  beside_ = new QCheckBox(tr("Side &by side"), row);
  beside_->setChecked(true);
  beside_->setToolTip(tr("Off: one above the other. Both have the same time axis"));
  layout->addWidget(label_for(measured_workers_, tr("Measured &N"), row));
  layout->addWidget(measured_workers_);
  layout->addWidget(label_for(workers_, tr("an&y N"), row));
  layout->addWidget(workers_);
  layout->addSpacing(12);
  layout->addWidget(measured_);
  layout->addWidget(simulated_);
  layout->addSpacing(12);
  layout->addWidget(label_for(rank_, tr("Ran&k"), row));
  layout->addWidget(rank_);
  layout->addStretch(1);
  layout->addWidget(beside_);

  connect(workers_, &QSpinBox::valueChanged, this, &StrategiesPage::compare);
  connect(measured_workers_, &QComboBox::currentIndexChanged, this, [this](int index) {
    if (preparing_ || index < 0) return;
    const int n = measured_workers_->itemData(index).toInt();
    if (n > 0) workers_->setValue(n);
  });
  connect(measured_, &QRadioButton::toggled, this, [this](bool on) {
    if (preparing_) return;
    wants_measured_ = on;
    compare();
  });
  connect(rank_, &QSpinBox::valueChanged, this, &StrategiesPage::compare);
  connect(beside_, &QCheckBox::toggled, this, &StrategiesPage::place_lanes);
  return row;
}

QWidget* StrategiesPage::make_lanes() {
  auto* both = new QWidget(this);
  both->setObjectName(QStringLiteral("lanes"));
  lanes_layout_ = new QBoxLayout(QBoxLayout::LeftToRight, both);
  lanes_layout_->setContentsMargins(0, 0, 0, 0);
  dp_ = new LaneView(both);
  ddp_ = new LaneView(both);
  dp_->setObjectName(QStringLiteral("dp_lanes"));
  ddp_->setObjectName(QStringLiteral("ddp_lanes"));
  for (LaneView* view : {dp_, ddp_}) {
    lanes_layout_->addWidget(view, 1);
    LaneView* other = view == dp_ ? ddp_ : dp_;
    connect(view, &LaneView::window_changed, other, &LaneView::set_window);
    connect(view, &LaneView::status_message, this, &Page::status_message);
    connect(view, &LaneView::segment_focused, this, [this](const QString& text) { described_->setText(text); });
  }
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(both);
  scroll->setWidgetResizable(true);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  described_ = new QLabel(this);
  described_->setAccessibleName(tr("Segment with the keyboard focus"));
  described_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* box = new QWidget(this);
  auto* layout = new QVBoxLayout(box);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll, 1);
  layout->addWidget(described_);
  return box;
}

QWidget* StrategiesPage::make_details() {
  auto* tabs = new QTabWidget(this);
  tabs->setDocumentMode(true);
  comparison_ = new ComparisonView(tabs);
  tabs->addTab(comparison_, tr("&Comparison"));

  const auto short_table = [&](QWidget* parent) {
    auto* view = new TableView(parent);
    view->setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    view->setMaximumHeight(6 * view->fontMetrics().height());
    return view;
  };
  auto* time = new QWidget(tabs);
  auto* time_layout = new QVBoxLayout(time);
  time_layout->setContentsMargins(0, 0, 0, 0);
  time_bars_ = new SideBars(time);
  time_bars_->set_name(QStringLiteral("where-the-time-goes"));
  time_bars_->setAccessibleName(tr("Parts of the step time, as bars"));
  times_ = short_table(time);
  time_layout->addWidget(time_bars_, 1);
  time_layout->addWidget(times_);
  tabs->addTab(time, tr("&Where the time goes"));

  auto* device = new QWidget(tabs);
  auto* device_layout = new QVBoxLayout(device);
  device_layout->setContentsMargins(0, 0, 0, 0);
  auto* plots = new QHBoxLayout;
  memory_bars_ = new SideBars(device);
  memory_bars_->set_name(QStringLiteral("memory-of-device-0"));
  memory_bars_->setAccessibleName(tr("Memory of device 0 and of the other devices, as bars"));
  traffic_bars_ = new SideBars(device);
  traffic_bars_->set_name(QStringLiteral("traffic-of-the-busiest-device"));
  traffic_bars_->setAccessibleName(tr("Bytes that the busiest device sends and receives in a step, as bars"));
  plots->addWidget(memory_bars_, 1);
  plots->addWidget(traffic_bars_, 1);
  devices_ = short_table(device);
  device_layout->addLayout(plots, 1);
  device_layout->addWidget(devices_);
  tabs->addTab(device, tr("Device &0"));
  for (SideBars* plot : {time_bars_, memory_bars_, traffic_bars_}) {
    plot->setMinimumSize(20 * grid_px, 10 * grid_px);  // leaves room for the lanes
    connect(plot, &Plot::status_message, this, &Page::status_message);
  }
  return tabs;
}

}  // namespace ddpprof::gui
