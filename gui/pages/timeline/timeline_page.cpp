#include "gui/pages/timeline/timeline_page.hpp"

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSpinBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabWidget>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "analysis/timeline/details.hpp"
#include "gui/pages/timeline/finder.hpp"
#include "gui/pages/timeline/step_panel.hpp"
#include "gui/plots/design.hpp"
#include "gui/timeline/overview_strip.hpp"
#include "gui/timeline/range_statistics.hpp"
#include "gui/timeline/range_tables.hpp"
#include "gui/timeline/timeline_legend.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {
namespace {

// Adds the batch if another measurement has the same title.
QString title_of(const MeasurementInfo& info, const std::vector<MeasurementInfo>& all) {
  const QString title = QString::fromStdString(info.title());
  const auto same = std::count_if(all.begin(), all.end(),
                                  [&](const MeasurementInfo& other) { return other.title() == info.title(); });
  return same > 1 ? TimelinePage::tr("%1, batch %2").arg(title).arg(info.batch_per_worker) : title;
}

}  // namespace

TimelinePage::TimelinePage(Selection& selection, QWidget* parent)
    : Page(selection, parent),
      source_(new TimelineSource(this)),
      view_(new TimelineView(this)),
      strip_(new OverviewStrip(this)),
      legend_(new TimelineLegend(this)),
      detail_job_(this) {
  stack_ = new QStackedWidget(this);
  message_ = new QLabel(this);
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->setObjectName("timeline");
  splitter->addWidget(make_overview());
  splitter->addWidget(make_panels());
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({500, 250});
  splitter->setChildrenCollapsible(true);
  stack_->addWidget(message_);
  stack_->addWidget(splitter);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(grid_px, grid_px, grid_px, grid_px);
  layout->addWidget(make_controls());
  layout->addWidget(make_progress());
  layout->addWidget(stack_, 1);
  make_shortcuts();

  connect(source_, &TimelineSource::changed, this, &TimelinePage::show_timeline);
  connect(source_, &TimelineSource::loading_changed, this, &TimelinePage::show_state);
  connect(source_, &TimelineSource::progressed, this,
          [this](double share) { progress_->setValue(static_cast<int>(share * 1000.0)); });
  connect(view_, &TimelineView::status_message, this, &Page::status_message);
  connect(view_, &TimelineView::focus_changed, this, [this] {
    if (view_->focus()) step_chosen_ = false;  // the last choice counts: the focused event or the step box
    show_details();
  });
  connect(view_, &TimelineView::range_chosen, this, [this](qint64 begin_ns, qint64 end_ns) {
    if (!source_->measurement()) return;
    panels_->setCurrentWidget(range_);
    this->selection().set_range(TimeRange{*source_->measurement(), begin_ns, end_ns});
  });
  connect(view_, &TimelineView::range_cleared, this, [this] { this->selection().set_range(std::nullopt); });
  connect(&selection, &Selection::measurement_changed, this, &TimelinePage::show_measurement);
  connect(&selection, &Selection::range_changed, this, &TimelinePage::show_range);
  connect(step_panel_, &StepPanel::status_message, this, &Page::status_message);
  set_first_control(view_);
  show_details();
  show_file(nullptr);
}

QWidget* TimelinePage::make_companion(QWidget* parent) { return new RangeStatistics(selection(), *source_, parent); }

void TimelinePage::show_file(std::shared_ptr<const OpenedFile> file) {
  file_ = std::move(file);
  measurement_->clear();
  if (file_)
    for (const MeasurementInfo& info : file_->measurements)
      measurement_->addItem(title_of(info, file_->measurements), QVariant::fromValue<qlonglong>(info.id));
  step_panel_->set_file(file_);
  select_->setChecked(false);
  source_->set_file(file_ ? file_->path : std::filesystem::path());
  if (isVisible()) show_measurement();
  show_state();
}

void TimelinePage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  show_measurement();  // the timeline is read when the page is first shown
}

void TimelinePage::choose_measurement() {
  selection().set_measurement(measurement_->currentData().toLongLong());
  show_measurement();
}

void TimelinePage::show_measurement() {
  if (!file_ || file_->measurements.empty()) return;
  std::int64_t wanted = first_choice(file_->measurements)->id;
  if (const auto chosen = selection().measurement(); chosen && measurement_->findData(qlonglong{*chosen}) >= 0)
    wanted = *chosen;
  measurement_->setCurrentIndex(measurement_->findData(qlonglong{wanted}));
  if (isVisible() || source_->measurement()) source_->request(wanted);
}

void TimelinePage::show_timeline() {
  const std::shared_ptr<const timeline::Timeline>& all = source_->timeline();
  const QSignalBlocker quiet(step_);  // the range changes the value here, not the user
  if (view_->timeline() != all) {
    const bool same = all && view_->timeline() && view_->timeline()->measurement == all->measurement;
    const bool chosen = same && step_chosen_;
    view_->set_timeline(all);
    strip_->set_timeline(all);
    strip_->set_gutter(view_->area_origin().x());
    legend_->show_timeline(all.get());
    show_view();
    step_chosen_ = chosen;
    finder_->find_again();
    show_range();
  }
  std::int64_t low = 0, high = 0;
  if (all && !all->steps.empty()) {
    const auto [first, last] =
        std::minmax_element(all->steps.begin(), all->steps.end(),
                            [](const timeline::Step& a, const timeline::Step& b) { return a.step < b.step; });
    low = first->step;
    high = last->step;
  }
  step_->setRange(static_cast<int>(low), static_cast<int>(high));
  const bool steps = all && !all->steps.empty();
  step_->setEnabled(steps);
  go_->setEnabled(steps);
  raw_->setEnabled(all && all->raw_kept);
  show_state();
  show_step_panel();
}

void TimelinePage::show_state() {
  const std::shared_ptr<const timeline::Timeline>& all = source_->timeline();
  QString words;
  if (!file_)
    words =
        tr("No file is open. Open a trace database with Ctrl+O, or drop one on the window. ddpprof run writes trace "
           "databases.");
  else if (file_->measurements.empty())
    words = tr("This file has no training measurement, so there is no timeline. Measure a training with ddpprof run.");
  else if (!source_->error().isEmpty())
    words = source_->error();
  else if (!all && source_->was_cancelled())
    words = tr("Reading was stopped. Press Read again to go on.");
  else if (!all)
    words = tr("Reading the timeline…");
  else if (all->empty())
    words = tr("%1 has no steps, collectives or raw events. See Details above for the reason.")
                .arg(QString::fromStdString(all->title));
  message_->setText(words);
  stack_->setCurrentIndex(words.isEmpty() ? 1 : 0);

  QString line;
  const bool loading = source_->loading();
  if (loading)
    line = all ? tr("Steps and collectives are shown; reading raw events…") : tr("Reading…");
  else if (source_->was_cancelled() || !source_->error().isEmpty())
    line = all ? tr("Raw events were not read.") : QString();
  else if (words.isEmpty() && !all->raw_kept)
    line =
        tr("Steps, phases and collectives only: this file has no raw events. To record them, measure with --set "
           "output.raw=all.");
  progress_text_->setText(line);
  progress_->setVisible(loading);
  const bool again = !loading && (source_->was_cancelled() || !source_->error().isEmpty());
  stop_->setVisible(loading || again);
  stop_->setText(loading ? tr("Stop &reading") : tr("&Read again"));
  progress_row_->setVisible(loading || again || !line.isEmpty());
}

QString TimelinePage::message() const { return stack_->currentIndex() == 0 ? message_->text() : QString(); }

void TimelinePage::show_details() {
  detail_job_.cancel();
  if (!view_->focus() || !view_->timeline()) {
    details_->set_table(details_table(
        {{"no focused event", tr("click an event in the timeline, or press → there").toStdString(), ""}}));
    return;
  }
  const std::shared_ptr<const timeline::Timeline> all = view_->timeline();
  const timeline::EventRef event = *view_->focus();
  const std::vector<timeline::Detail> known = timeline::details(*all, event);
  details_->set_table(details_table(known));
  const timeline::Track& track = all->tracks[all->rows[event.row].track];
  if (timeline::is_raw(track.kind))
    detail_job_.start(
        [path = source_->path(), all, event](const Cancelled&) { return timeline::raw_details(path, *all, event); },
        [this, known](const std::vector<timeline::Detail>& more) {
          std::vector<timeline::Detail> both = known;
          both.insert(both.end(), more.begin(), more.end());
          details_->set_table(details_table(both));
        },
        [this](const std::string& why) { emit status_message(QString::fromStdString(why)); });
  show_step_panel();
}

void TimelinePage::show_range() {
  const std::optional<TimeRange>& range = selection().range();
  if (range && source_->measurement() == range->measurement && view_->timeline())
    view_->set_range(std::pair(range->begin_ns, range->end_ns));
  else
    view_->set_range(std::nullopt);
}

void TimelinePage::go_to_step() {
  const std::shared_ptr<const timeline::Timeline> all = view_->timeline();
  if (!all) return;
  step_chosen_ = true;
  std::int64_t begin_ns = 0, end_ns = 0;
  bool any = false;
  for (const timeline::Step& step : all->steps) {
    if (step.step != step_->value()) continue;
    begin_ns = any ? std::min(begin_ns, step.start_ns) : step.start_ns;
    end_ns = any ? std::max(end_ns, step.start_ns + step.duration_ns) : step.start_ns + step.duration_ns;
    any = true;
  }
  if (!any) {
    emit status_message(tr("No rank recorded step %1.").arg(step_->value()));
    return;
  }
  view_->show_range(begin_ns, end_ns);
  show_step_panel();
}

// Shows a step of the focused event's rank: the step in the box if it was chosen last, otherwise the event's step,
// otherwise a typical one.
void TimelinePage::show_step_panel() {
  const std::shared_ptr<const timeline::Timeline>& all = source_->timeline();
  if (panels_->currentWidget() != step_panel_ || !all || all->steps.empty()) return;
  std::int64_t rank = all->ranks.front().rank;
  std::optional<std::int64_t> step;
  if (view_->focus() && view_->timeline() == all) {
    const timeline::Row& row = all->rows[view_->focus()->row];
    const std::uint32_t index = all->tracks[row.track].rank;
    const std::int64_t at_ns = row.start_ns[view_->focus()->event];
    rank = all->ranks[index].rank;
    for (const timeline::Step& candidate : all->steps)
      if (candidate.rank == index && candidate.start_ns <= at_ns && at_ns < candidate.start_ns + candidate.duration_ns)
        step = candidate.step;
  }
  if (step_chosen_) step = step_->value();
  step_panel_->show_step(all->measurement, rank, step);
}

}  // namespace ddpprof::gui
