#include "gui/pages/ranks/ranks_page.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <set>

#include "analysis/report/tables/ranks/rank_tables.hpp"
#include "gui/pages/ranks/bars_plot.hpp"
#include "gui/pages/ranks/histogram_plot.hpp"
#include "gui/pages/ranks/strip_plot.hpp"
#include "gui/plots/design.hpp"
#include "gui/widgets/message_stack.hpp"
#include "simulator/units/units.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

constexpr std::size_t most_rows = 2000;  // the largest table of steps; a larger one shows only one rank

}  // namespace

RanksPage::RanksPage(Selection& selection, QWidget* parent)
    : Page(selection, parent), reading_(this), colouring_(this) {
  stack_ = new MessageStack(make_content(), this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  connect(&selection, &Selection::measurement_changed, this, &RanksPage::pick_measurement);
  connect(&selection, &Selection::range_changed, this, [this] {
    stale_ = true;
    read_if_visible();
  });
  show_file(nullptr);
}

QWidget* RanksPage::make_content() {
  auto* content = new QWidget(this);
  measurements_ = new QComboBox(content);
  measurements_->setAccessibleName(tr("Measurement"));
  measurements_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  auto* measurement_label = new QLabel(tr("&Measurement"), content);
  measurement_label->setBuddy(measurements_);
  range_text_ = new QLabel(content);
  range_text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  whole_ = new QPushButton(tr("&Whole measurement"), content);
  auto* first = new QHBoxLayout;
  first->addWidget(measurement_label);
  first->addWidget(measurements_);
  first->addSpacing(12);
  first->addWidget(range_text_, 1);
  first->addWidget(whole_);

  summary_ = new QLabel(content);
  summary_->setObjectName("summary");
  summary_->setWordWrap(true);
  summary_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  summary_->setAccessibleName(tr("Stragglers"));

  bars_ = new BarsPlot(content);
  strip_ = new StripPlot(content);
  quantity_ = new QComboBox(content);
  for (const StripQuantity quantity : strip_quantities) quantity_->addItem(tr(to_string(quantity)));
  quantity_->setAccessibleName(tr("Colour shows"));
  auto* quantity_label = new QLabel(tr("C&olour"), content);
  quantity_label->setBuddy(quantity_);
  unmeasured_ = new QCheckBox(tr("Include warm-u&p and unwrapped steps"), content);
  cell_ = new QLabel(content);
  cell_->setObjectName("cell");
  auto* above_strip = new QHBoxLayout;
  above_strip->addWidget(quantity_label);
  above_strip->addWidget(quantity_);
  above_strip->addWidget(unmeasured_);
  above_strip->addStretch(1);
  auto* strip_side = new QWidget(content);
  auto* strip_layout = new QVBoxLayout(strip_side);
  strip_layout->setContentsMargins(0, 0, 0, 0);
  strip_layout->addLayout(above_strip);
  strip_layout->addWidget(strip_, 1);
  strip_layout->addWidget(cell_);

  auto* plots = new QSplitter(Qt::Horizontal, content);
  plots->setObjectName("ranks plots");
  plots->addWidget(bars_);
  plots->addWidget(strip_side);
  plots->setStretchFactor(0, 1);
  plots->setStretchFactor(1, 1);
  plots->setSizes({630, 630});  // without this the plots get no width: their size hint is empty

  tables_ = new TableTabs(content);
  ranks_table_ = tables_->add(tr("By rank"));
  stragglers_table_ = tables_->add(tr("Stragglers"));
  slow_table_ = tables_->add(tr("Slow steps"));
  steps_table_ = tables_->add(tr("Steps"));
  auto* distribution = new QSplitter(Qt::Horizontal, content);
  distribution->setObjectName("ranks distribution");
  histogram_ = new HistogramPlot(distribution);
  histogram_->setMinimumSize(20 * grid_px, 10 * grid_px);  // as low as the tables of the other tabs
  percentiles_table_ = new TableOrMessage(distribution);
  distribution->addWidget(histogram_);
  distribution->addWidget(percentiles_table_);
  distribution->setSizes({500, 760});
  tables_->addTab(distribution, tr("Distribution"));

  auto* halves = over_tables(plots, tables_, content);
  halves->setObjectName("ranks tables");
  auto* layout = new QVBoxLayout(content);
  layout->addLayout(first);
  layout->addWidget(summary_);
  layout->addWidget(halves, 1);

  connect(measurements_, &QComboBox::activated, this,
          [this](int index) { selection().set_measurement(measurements_->itemData(index).toLongLong()); });
  connect(whole_, &QPushButton::clicked, this, [this] { selection().set_range(std::nullopt); });
  connect(quantity_, &QComboBox::currentIndexChanged, this, &RanksPage::colour_strip);
  connect(unmeasured_, &QCheckBox::toggled, this, &RanksPage::colour_strip);
  connect(strip_, &StripPlot::cursor_moved, this, &RanksPage::describe_cursor);
  connect(strip_, &StripPlot::step_chosen, this, &RanksPage::select_cursors_step);
  connect(strip_, &StripPlot::choice_cleared, this, [this] { selection().set_range(std::nullopt); });
  connect(tables_, &QTabWidget::currentChanged, this, &RanksPage::show_steps_table);
  for (Plot* plot : std::initializer_list<Plot*>{bars_, strip_, histogram_})
    connect(plot, &Plot::status_message, this, &Page::status_message);
  return content;
}

std::vector<std::pair<QString, QString>> RanksPage::keys() const {
  return {{tr("Arrows, Home, End"), tr("in the strip: move to another step or rank")},
          {tr("Enter"), tr("in the strip: select this step's time on every page")},
          {tr("Escape"), tr("in the strip: select the whole measurement again")}};
}

void RanksPage::show_file(std::shared_ptr<const OpenedFile> file) {
  file_ = std::move(file);
  reading_.cancel();
  colouring_.cancel();
  shown_.reset();
  measurement_.reset();
  const QSignalBlocker quiet(measurements_);
  measurements_->clear();
  if (!file_) {
    stack_->show_message(
        tr("No file is open. Open a trace database (Ctrl+O), or measure one with: ddpprof run SCENARIO.yaml"));
    return;
  }
  if (file_->measurements.empty()) {
    stack_->show_message(
        tr("This file has no training measurement, so there are no ranks to compare. (A sweep of all-reduces has no "
           "steps.) Measure a training with: ddpprof run SCENARIO.yaml"));
    return;
  }
  for (const MeasurementInfo& info : file_->measurements)
    measurements_->addItem(QString::fromStdString(info.title()), QVariant::fromValue<qlonglong>(info.id));
  pick_measurement();
}

void RanksPage::pick_measurement() {
  if (!file_ || file_->measurements.empty()) return;
  std::int64_t wanted = first_choice(file_->measurements)->id;
  for (const MeasurementInfo& info : file_->measurements)
    if (selection().measurement() == info.id) wanted = info.id;
  if (wanted == measurement_) return;
  measurement_ = wanted;
  measurements_->setCurrentIndex(measurements_->findData(QVariant::fromValue<qlonglong>(wanted)));
  shown_.reset();
  colouring_.cancel();
  stale_ = true;
  read_if_visible();
}

void RanksPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  read_if_visible();
}

std::optional<TimeRange> RanksPage::range_here() {
  const auto& range = selection().range();
  return range && range->measurement == measurement_ ? range : std::nullopt;
}

void RanksPage::read_if_visible() {
  if (!stale_ || !isVisible() || !file_ || !measurement_) return;
  stale_ = false;
  const std::int64_t id = *measurement_;
  const std::optional<TimeRange> range = range_here();
  const std::shared_ptr<const Shown> before = shown_;
  if (!before) stack_->show_message(tr("Reading the ranks…"));
  colouring_.cancel();  // its result would belong to the previous data
  reading_.start(
      [file = file_, id, range, before, colours = colours_wanted()](const Cancelled&) {
        if (before && before->all->measurement == id) return look_at(before->all, range, colours);
        file->check_unchanged();
        store::Database database = store::Database::open_read(file->path);
        return look_at(std::make_shared<const metrics::RankTimes>(metrics::read_ranks(database, id)), range, colours);
      },
      [this](const std::shared_ptr<const Shown>& shown) { show_read(shown); },
      [this](const std::string& why) { stack_->show_message(QString::fromStdString(why)); });
}

std::shared_ptr<const RanksPage::Shown> RanksPage::look_at(std::shared_ptr<const metrics::RankTimes> all,
                                                           const std::optional<TimeRange>& range,
                                                           const Colours& colours) {
  auto shown = std::make_shared<Shown>();
  shown->all = std::move(all);
  shown->some = shown->all;
  if (range)
    shown->some =
        std::make_shared<const metrics::RankTimes>(metrics::within(*shown->all, range->begin_ns, range->end_ns));
  const metrics::RankTimes& some = *shown->some;
  shown->findings = metrics::find_stragglers(some);
  shown->bars = rank_bars(some);
  shown->ranks = report::ranks_table(some);
  shown->stragglers = report::stragglers_table(some, shown->findings);
  shown->slow_steps = report::slow_steps_table(shown->findings);
  shown->histogram = step_histogram(some);
  shown->percentiles = report::step_percentiles_table(some);
  shown->colours = colours;
  shown->strip = rank_strip(some, colours.quantity, colours.unmeasured_too);
  std::set<std::int64_t> steps;
  for (const metrics::RankStep& step : some.steps)
    if (step.kind == "measured") steps.insert(steps.end(), step.step);
  shown->measured_steps = static_cast<int>(steps.size());
  return shown;
}

void RanksPage::show_read(const std::shared_ptr<const Shown>& shown) {
  shown_ = shown;
  if (shown->all->steps.empty()) {
    const auto info = std::ranges::find(file_->measurements, *measurement_, &MeasurementInfo::id);
    stack_->show_message(
        (info->kind == "import"
             ? tr("%1 has no step: the trace marks none. Call prof.step() of PyTorch's profiler after each step, or "
                  "add "
                  "an NVTX range for Nsight Systems, and record again. The page Timeline shows the events.")
             : tr("%1 has no step: every rank ended before its first step did, or nothing was traced. See Diagnostics, "
                  "then measure again."))
            .arg(measurements_->currentText()));
    return;
  }
  const QString steps =
      shown->measured_steps == 1 ? tr("1 measured step") : tr("%1 measured steps").arg(shown->measured_steps);
  if (const auto range = range_here()) {
    range_text_->setText(tr("%1 whose middle is in the selected %2")
                             .arg(steps, QString::fromStdString(units::format_quantity(
                                             static_cast<double>(range->end_ns - range->begin_ns) / 1e9, "s"))));
    whole_->show();
  } else {
    range_text_->setText((shown->all->repeats > 1 ? tr("Whole repeat: %1") : tr("Whole measurement: %1")).arg(steps));
    whole_->hide();
  }
  summary_->setText(QString::fromStdString(shown->findings.summary));
  bars_->show_bars(shown->bars);
  ranks_table_->set_table(shown->ranks);
  stragglers_table_->set_table(shown->stragglers);
  slow_table_->set_table(shown->slow_steps);
  histogram_->show_histogram(shown->histogram);
  percentiles_table_->set_table(shown->percentiles);
  tables_->setTabText(1, tr("Stragglers (%1)").arg(stragglers_table_->view().model_of_table().rowCount()));
  tables_->setTabText(2, tr("Slow steps (%1)").arg(shown->findings.slow_steps.size()));
  steps_of_rank_ = -2;
  show_strip(shown->strip);
  if (!(shown->colours == colours_wanted())) colour_strip();  // the choice changed during reading
  stack_->show_content();
}

RanksPage::Colours RanksPage::colours_wanted() const {
  return {strip_quantities[static_cast<std::size_t>(quantity_->currentIndex())], unmeasured_->isChecked()};
}

void RanksPage::colour_strip() {
  if (!shown_ || reading_.running()) return;
  colouring_.start([some = shown_->some, colours = colours_wanted()](
                       const Cancelled&) { return rank_strip(*some, colours.quantity, colours.unmeasured_too); },
                   [this](RankStrip strip) { show_strip(std::move(strip)); },
                   [this](const std::string& why) { emit status_message(QString::fromStdString(why)); });
}

void RanksPage::show_strip(RankStrip strip) {
  strip_->show_strip(std::move(strip));
  describe_cursor();
}

void RanksPage::show_steps_table() {
  if (!shown_ || tables_->currentWidget() != steps_table_) return;
  const bool all = shown_->some->steps.size() <= most_rows;
  const std::int64_t rank =
      all || strip_->cursor_rank() < 0 ? -1 : strip_->strip().ranks[static_cast<std::size_t>(strip_->cursor_rank())];
  if (rank == steps_of_rank_) return;
  steps_of_rank_ = rank;
  tables_->setTabText(3, rank >= 0 ? tr("Steps of rank %1").arg(rank) : tr("Steps"));
  steps_table_->set_table(report::rank_steps_table(rank >= 0 ? steps_of(*shown_->some, rank) : *shown_->some));
}

void RanksPage::describe_cursor() {
  const QString text = strip_->cursor_text();
  cell_->setText(
      text.isEmpty() ? tr("No step to show. Tick “Include warm-up and unwrapped steps”, or select more time.") : text);
  strip_->setAccessibleDescription(text);
  show_steps_table();
}

void RanksPage::select_cursors_step() {
  const auto step = static_cast<std::size_t>(strip_->cursor_step());
  const TimeRange range{*measurement_, strip_->strip().begin_ns[step], strip_->strip().end_ns[step]};
  if (range.begin_ns > range.end_ns)
    emit status_message(tr("Cannot select this step: no rank's clock is aligned with rank 0's clock"));
  else
    selection().set_range(range);
}

}  // namespace ddpprof::gui
