#include "gui/timeline/range_statistics.hpp"

#include <QLabel>
#include <QTabWidget>
#include <QVBoxLayout>

#include "analysis/report/units.hpp"
#include "analysis/timeline/statistics.hpp"
#include "gui/timeline/geometry.hpp"
#include "gui/timeline/range_tables.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {

RangeStatistics::RangeStatistics(Selection& selection, TimelineSource& source, QWidget* parent)
    : QWidget(parent),
      selection_(selection),
      source_(source),
      job_(this),
      heading_(new QLabel(this)),
      tabs_(new QTabWidget(this)),
      names_(new TableView(this)),
      ranks_(new TableView(this)) {
  heading_->setWordWrap(true);
  heading_->setAccessibleName(tr("Selected range"));
  heading_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  tabs_->addTab(ranks_, tr("By rank"));
  tabs_->addTab(names_, tr("By name"));
  tabs_->setDocumentMode(true);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(4, 4, 4, 4);
  layout->addWidget(heading_);
  layout->addWidget(tabs_, 1);
  connect(&selection_, &Selection::range_changed, this, &RangeStatistics::update_tables);
  connect(&source_, &TimelineSource::changed, this, &RangeStatistics::update_tables);
  update_tables();
}

QString RangeStatistics::heading() const { return heading_->text(); }

void RangeStatistics::show_message(const QString& text) {
  job_.cancel();
  heading_->setText(text);
  tabs_->hide();
}

void RangeStatistics::update_tables() {
  const std::optional<TimeRange>& range = selection_.range();
  if (!range) {
    show_message(tr(
        "No range of time is selected. To select one, drag with Shift in the timeline or press R there. Its statistics "
        "are shown here."));
    return;
  }
  if (source_.measurement() != range->measurement) {
    if (source_.path().empty()) {
      show_message(tr("No file is open."));
      return;
    }
    source_.request(range->measurement);  // calls this function again when it has read
    return;
  }
  if (!source_.error().isEmpty()) {
    show_message(source_.error());
    return;
  }
  const std::shared_ptr<const timeline::Timeline> all = source_.timeline();
  if (!all) {
    show_message(source_.was_cancelled() ? tr("Reading the timeline was stopped. Continue it on the page Timeline.")
                                         : tr("Reading the timeline…"));
    return;
  }
  job_.start(
      [all, range = *range](const Cancelled& cancelled) {
        auto statistics = timeline::range_statistics(*all, range.begin_ns, range.end_ns, cancelled);
        std::pair<report::Table, report::Table> tables;
        if (statistics) tables = {names_table(*all, *statistics), ranks_table(*all, *statistics)};
        return tables;
      },
      [this, all, range = *range](std::pair<report::Table, report::Table> tables) {
        const double from = static_cast<double>(range.begin_ns - all->begin_ns);
        const double to = static_cast<double>(range.end_ns - all->begin_ns);
        const double step = std::max(1.0, (to - from) / 100.0);
        QString text = tr("%1: %2 to %3, length %4")
                           .arg(QString::fromStdString(all->title), QString::fromStdString(time_label(from, step)),
                                QString::fromStdString(time_label(to, step)),
                                QString::fromStdString(report::format_quantity((to - from) * 1e-9, "s", 4)));
        if (!all->complete)
          text += source_.loading() ? tr(" (raw events are still being read)") : tr(" (without raw events)");
        heading_->setText(text);
        names_->set_table(std::move(tables.first));
        ranks_->set_table(std::move(tables.second));
        tabs_->show();
        emit shown();
      },
      [this](const std::string& why) { show_message(QString::fromStdString(why)); });
}

}  // namespace ddpprof::gui
