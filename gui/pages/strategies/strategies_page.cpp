#include "gui/pages/strategies/strategies_page.hpp"

#include <QBoxLayout>
#include <QComboBox>
#include <QLabel>
#include <QRadioButton>
#include <QSpinBox>
#include <QSplitter>
#include <algorithm>

#include "gui/models/strategies/strategy_tables.hpp"
#include "gui/pages/strategies/side_bars.hpp"
#include "gui/widgets/lane_view.hpp"
#include "gui/widgets/message_stack.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

QString name_of(const Side& side) {
  return side.strategy == "dp" ? QStringLiteral("DataParallel") : QStringLiteral("DDP");
}

QString title_of(const Side& side, std::int64_t workers) {
  QString text = QStringLiteral("%1, N = %2").arg(name_of(side)).arg(workers);
  if (!side.lanes) return text;
  const QString took = QString::fromStdString(units::format_quantity(side.lanes->step_s, "s"));
  if (side.lanes->simulated) return text + QObject::tr(" – simulated: step of %1").arg(took);
  if (side.strategy == "dp") return text + QObject::tr(" – measured: step %1, %2").arg(side.lanes->step).arg(took);
  return text + QObject::tr(" – measured: rank %1, step %2, %3").arg(side.lanes->rank).arg(side.lanes->step).arg(took);
}

}  // namespace

StrategiesPage::StrategiesPage(Selection& selection, QWidget* parent)
    : Page(selection, parent), loading_(this), comparing_(this) {
  auto* content = new QWidget(this);
  auto* layout = new QVBoxLayout(content);
  layout->addWidget(make_controls());
  recommendation_ = new QLabel(content);
  recommendation_->setWordWrap(true);
  recommendation_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  recommendation_->setAccessibleName(tr("Recommendation"));
  QFont bold = recommendation_->font();
  bold.setBold(true);
  recommendation_->setFont(bold);
  layout->addWidget(recommendation_);
  auto* splitter = new QSplitter(Qt::Vertical, content);
  splitter->setObjectName("strategies");
  splitter->addWidget(make_lanes());
  splitter->addWidget(make_details());
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 1);
  splitter->setChildrenCollapsible(false);
  splitter->setSizes({430, 330});
  layout->addWidget(splitter, 1);
  stack_ = new MessageStack(content, this);
  auto* whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->addWidget(stack_);
  set_first_control(workers_);
  show_file(nullptr);
}

std::vector<std::pair<QString, QString>> StrategiesPage::keys() const {
  return {{tr("Left, Right, Home, End"),
           tr("in the lanes: previous, next, first, last segment; its values are shown below")},
          {tr("Up, Down"), tr("in the lanes: lane above, below")},
          {tr("+, -, 0"), tr("in the lanes: zoom in, out, whole step; also Ctrl and the wheel")},
          {tr("Shift+Left, Shift+Right"), tr("in the lanes: move along the time axis")}};
}

void StrategiesPage::show_file(std::shared_ptr<const OpenedFile> file) {
  loading_.cancel();
  comparing_.cancel();
  strategies_.reset();
  shown_.reset();
  file_ = std::move(file);
  if (!file_)
    return stack_->show_message(
        tr("No file is open. Open a trace database (Ctrl+O) to compare DataParallel with DDP."));
  if (!file_->has("dp") && !file_->has("ddp")) {
    const bool job = !file_->measurements.empty();
    const QString why = job ? tr("This file has no step of DataParallel or DDP: its job is %1.")
                                  .arg(QString::fromStdString(file_->measurements.front().title()))
                            : tr("This file has no training.");
    return stack_->show_message(
        job && !file_->scenario
            ? why
            : why + tr(" To compare the two, measure them with ddpprof run SCENARIO.yaml; set strategies: [ddp, dp]."));
  }
  stack_->show_message(tr("Preparing…"));
  loading_.start([file = file_](const Cancelled&) { return std::make_shared<const Strategies>(file); },
                 [this](const std::shared_ptr<const Strategies>& strategies) {
                   strategies_ = strategies;
                   prepare();
                 },
                 [this](const std::string& why) { stack_->show_message(QString::fromStdString(why)); });
}

void StrategiesPage::prepare() {
  preparing_ = true;
  measured_workers_->clear();
  for (const std::int64_t n : strategies_->measured_workers()) {
    QString text = QString::number(n);
    if (!strategies_->is_measured("dp", n)) text += tr(" (only DDP)");
    if (!strategies_->is_measured("ddp", n)) text += tr(" (only DataParallel)");
    measured_workers_->addItem(text, static_cast<int>(n));
  }
  measured_workers_->addItem(tr("another N"), 0);
  wants_measured_ = true;
  rank_->setValue(0);
  // Starts with the largest N at which both strategies were measured, or else with the largest measured N.
  const std::vector<std::int64_t>& all = strategies_->measured_workers();
  std::int64_t first = all.back();
  for (const std::int64_t n : all)
    if (strategies_->is_measured("dp", n) && strategies_->is_measured("ddp", n)) first = n;
  workers_->setValue(static_cast<int>(first));
  preparing_ = false;
  compare();
}

void StrategiesPage::compare() {
  if (preparing_ || !strategies_) return;
  const std::int64_t n = workers_->value();
  preparing_ = true;
  const int index = measured_workers_->findData(static_cast<int>(n));
  measured_workers_->setCurrentIndex(index >= 0 ? index : measured_workers_->count() - 1);
  const bool any = index >= 0, ddp = strategies_->is_measured("ddp", n);
  // The buttons show what is drawn. The user's choice is restored at the next N that was measured.
  const bool measured = any && wants_measured_;
  (measured ? measured_ : simulated_)->setChecked(true);
  measured_->setEnabled(any);
  measured_->setToolTip(any ? tr("Draw a measured step; a strategy that was not measured at this N is simulated")
                            : tr("Nothing was measured at N = %1. Choose one of \"Measured N\"").arg(n));
  rank_->setRange(0, ddp ? static_cast<int>(n) - 1 : 0);
  rank_->setEnabled(ddp && n > 1 && measured);
  preparing_ = false;
  const Source source = measured ? Source::measured : Source::simulated;
  const std::int64_t rank = rank_->value();
  comparing_.start(
      [strategies = strategies_, n, source, rank](const Cancelled&) { return strategies->compare(n, source, rank); },
      [this](Comparison comparison) { show_comparison(std::move(comparison)); },
      [this](const std::string& why) { stack_->show_message(QString::fromStdString(why)); });
}

void StrategiesPage::show_comparison(Comparison comparison) {
  shown_ = std::move(comparison);
  stack_->show_content();
  recommendation_->setText(QString::fromStdString(recommendation(*shown_)));
  described_->setText(tr("Click a segment, or use the arrow keys, to see its values."));
  show_lanes();
  show_bars();
  comparison_->set_table(comparison_table(*shown_));
  times_->set_table(time_table(*shown_));
  devices_->set_table(device_table(*shown_));
  emit shown_changed();
}

void StrategiesPage::show_lanes() {
  double longest_s = 0.0;
  for (const Side* side : {&shown_->dp, &shown_->ddp})
    if (side->lanes) longest_s = std::max(longest_s, side->lanes->step_s);
  for (const Side* side : {&shown_->dp, &shown_->ddp}) {
    LaneView* view = side == &shown_->dp ? dp_ : ddp_;
    const QString text = title_of(*side, shown_->workers);
    if (!side->lanes) {
      view->set_message(text, QString::fromStdString(side->why_no_lanes));
      continue;
    }
    view->set_lanes(*side->lanes, text,
                    QStringLiteral("%1-%2-lanes").arg(QString::fromStdString(side->strategy)).arg(shown_->workers));
    view->set_whole({0.0, longest_s});
  }
  const std::size_t longest = std::max(dp_->longest_name(), ddp_->longest_name());
  for (LaneView* view : {dp_, ddp_}) view->set_label_characters(longest);
}

void StrategiesPage::show_bars() {
  std::vector<QString> categories;
  BarSeries compute{tr("compute"), Colour::compute, {}}, exposed{tr("exposed communication"), Colour::exposed, {}},
      copies{tr("copies between devices"), Colour::copies, {}}, skew{tr("slower ranks"), Colour::skew, {}},
      host{tr("waiting for launches"), Colour::host, {}}, other{tr("input and other"), Colour::other, {}},
      not_modelled{tr("not modelled"), Colour::other, {}, Qt::BDiagPattern};
  bool any_host = false, any_not_modelled = false;
  for (const Side* side : {&shown_->dp, &shown_->ddp}) {
    if (!side->row) continue;
    categories.push_back(
        QStringLiteral("%1\n%2").arg(name_of(*side), side->parts_simulated ? tr("simulated") : tr("measured")));
    const bool dp = side->strategy == "dp";
    const TimeParts& parts = side->parts;
    compute.values.push_back(parts.compute_s);
    exposed.values.push_back(dp ? 0.0 : parts.exposed_s);
    copies.values.push_back(dp ? parts.exposed_s : 0.0);
    skew.values.push_back(parts.skew_s);
    host.values.push_back(parts.host_s);
    any_host = any_host || parts.host_s > 0.0;
    other.values.push_back(parts.other_s);
    not_modelled.values.push_back(parts.not_modelled_s);
    any_not_modelled = any_not_modelled || parts.not_modelled_s > 0.0;
  }
  std::vector<BarSeries> time = {compute, copies, exposed, skew};
  if (any_host) time.push_back(host);
  time.push_back(other);
  if (any_not_modelled) time.push_back(not_modelled);
  time_bars_->set_bars(tr("time of a step"), "s", categories, time, true);

  std::vector<QString> with_memory, with_traffic;
  BarSeries device_0{tr("device 0"), Colour::compute, {}}, others{tr("another device"), Colour::overlapped, {}},
      sent{tr("sent"), Colour::exposed, {}}, received{tr("received"), Colour::copies, {}};
  for (const Side* side : {&shown_->dp, &shown_->ddp}) {
    if (side->memory.device_0_bytes) {
      with_memory.push_back(
          QStringLiteral("%1\n%2").arg(name_of(*side), side->memory.measured ? tr("measured") : tr("simulated")));
      device_0.values.push_back(*side->memory.device_0_bytes);
      // Every DDP rank has a device 0.
      const bool alike = side->strategy == "ddp" && shown_->workers > 1;
      others.values.push_back(side->memory.others_bytes.value_or(alike ? *side->memory.device_0_bytes : 0.0));
    }
    if (side->traffic.sent_bytes) {
      with_traffic.push_back(name_of(*side));
      sent.values.push_back(*side->traffic.sent_bytes);
      received.values.push_back(side->traffic.received_bytes.value_or(0.0));
    }
  }
  memory_bars_->set_bars(tr("peak memory of tensors"), "B", with_memory, {device_0, others}, false);
  traffic_bars_->set_bars(tr("busiest device, per step"), "B", with_traffic, {sent, received}, false);
}

void StrategiesPage::place_lanes(bool beside) {
  lanes_layout_->setDirection(beside ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

}  // namespace ddpprof::gui
