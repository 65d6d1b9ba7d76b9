#include "gui/pages/runs/runs_page.hpp"

#include <QDragEnterEvent>
#include <QHBoxLayout>
#include <QMimeData>
#include <QSplitter>
#include <QTabWidget>
#include <algorithm>

#include "gui/models/runs/scenario_text.hpp"
#include "gui/pages/runs/compare_panel.hpp"
#include "gui/pages/runs/open_panel.hpp"
#include "gui/pages/runs/run_panel.hpp"
#include "gui/pages/runs/scenario_panel.hpp"

namespace ddpprof::gui {
namespace {

QString dropped_file(const QDropEvent& event) {
  const QList<QUrl> urls = event.mimeData()->urls();
  return urls.size() == 1 && urls.front().isLocalFile() ? urls.front().toLocalFile() : QString();
}

bool is_scenario(const QString& path) {
  return path.endsWith(".yaml", Qt::CaseInsensitive) || path.endsWith(".yml", Qt::CaseInsensitive);
}

}  // namespace

RunsPage::RunsPage(Selection& selection, QWidget* parent)
    : Page(selection, parent),
      open_(new OpenPanel(this)),
      tabs_(new QTabWidget(this)),
      compare_(new ComparePanel(this)),
      scenario_(new ScenarioPanel(this)),
      run_(new RunPanel(*scenario_, this)) {
  setAcceptDrops(true);
  auto* both = new QSplitter(Qt::Vertical, this);
  both->setObjectName("runs");
  both->addWidget(scenario_);
  both->addWidget(run_);
  both->setStretchFactor(0, 3);
  both->setStretchFactor(1, 2);
  both->setChildrenCollapsible(false);
  auto* padded = new QWidget(this);
  auto* padding = new QHBoxLayout(padded);
  padding->setContentsMargins(8, 8, 8, 8);
  padding->addWidget(both);
  tabs_->addTab(padded, tr("S&cenario and run"));
  tabs_->addTab(compare_, tr("Co&mpare two databases"));
  tabs_->setDocumentMode(true);
  auto* splitter = new QSplitter(Qt::Horizontal, this);
  splitter->setObjectName("runs across");
  splitter->addWidget(open_);
  splitter->addWidget(tabs_);
  splitter->setStretchFactor(0, 1);
  splitter->setStretchFactor(1, 4);
  splitter->setSizes({260, 1020});
  splitter->setChildrenCollapsible(false);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(splitter);
  connect(open_, &OpenPanel::open_requested, this, &Page::open_requested);
  connect(open_, &OpenPanel::compare_requested, this, &RunsPage::compare_with);
  connect(run_, &RunPanel::open_requested, this, &Page::open_requested);
  connect(run_, &RunPanel::status_message, this, &Page::status_message);
  connect(compare_, &ComparePanel::status_message, this, &Page::status_message);
  set_first_control(open_->findChild<QWidget*>());
}

std::vector<std::pair<QString, QString>> RunsPage::keys() const {
  return {{"Ctrl+Space", tr("in the scenario: list the keys or values allowed at the cursor")},
          {"Ctrl+S", tr("save the scenario")},
          {"Tab", tr("in the scenario: go to the next control (indent with spaces)")},
          {"Enter", tr("on a problem: go to its line; on a recent database: open it")}};
}

void RunsPage::show_file(std::shared_ptr<const OpenedFile> file) {
  const QString path = file ? QString::fromStdString(std::filesystem::absolute(file->path).string()) : QString();
  open_->set_opened(path);
  if (!path.isEmpty() && compare_->a().isEmpty() && compare_->b() != path) compare_->set_a(path);
  scenario_->set_file(std::move(file));
}

// The example that trains on any machine in less than a minute.
bool RunsPage::show_example() {
  const QStringList all = example_scenarios();
  const auto found = std::ranges::find_if(all, [](const QString& path) { return path.endsWith("/mlp-wide.yaml"); });
  if (all.isEmpty()) return false;
  tabs_->setCurrentIndex(0);
  return scenario_->start_from_example(found == all.end() ? all.front() : *found);
}

bool RunsPage::compare_databases(const QString& a, const QString& b) {
  compare_->set_a(a);
  compare_with(b, false);
  return true;
}

void RunsPage::compare_with(const QString& path, bool as_a) {
  (as_a ? compare_->set_a(path) : compare_->set_b(path));
  tabs_->setCurrentWidget(compare_);
  if (!compare_->a().isEmpty() && !compare_->b().isEmpty()) compare_->compare();
}

void RunsPage::set_ask(const Ask& ask) {
  scenario_->set_ask(ask);
  run_->set_ask(ask);
}

bool RunsPage::may_close() { return scenario_->may_discard() && run_->may_close(); }

void RunsPage::dragEnterEvent(QDragEnterEvent* event) {
  if (!dropped_file(*event).isEmpty()) event->acceptProposedAction();
}

void RunsPage::dropEvent(QDropEvent* event) {
  const QString path = dropped_file(*event);
  if (path.isEmpty()) return;
  event->acceptProposedAction();
  if (!is_scenario(path)) {
    emit open_requested(path);
    return;
  }
  if (scenario_->open(path)) tabs_->setCurrentIndex(0);
}

}  // namespace ddpprof::gui
