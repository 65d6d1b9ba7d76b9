#include "gui/window/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenuBar>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QScreen>
#include <QSettings>
#include <QShortcut>
#include <QSplitter>
#include <QStatusBar>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/recent_files.hpp"
#include "gui/pages/page.hpp"
#include "gui/widgets/diagnostics_bar.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/window/appearance.hpp"
#include "gui/window/command_palette.hpp"
#include "gui/window/help.hpp"
#include "gui/window/pages.hpp"
#include "gui/window/rail.hpp"

namespace ddpprof::gui {
namespace {

QString plain(QString title) { return title.remove('&'); }

std::vector<std::filesystem::path> paths_of(const QStringList& texts) {
  std::vector<std::filesystem::path> paths;
  for (const QString& text : texts) paths.emplace_back(text.toStdString());
  return paths;
}

// "run.db", or "rank0.json and 3 more"
QString name_of(const OpenRequest& request) {
  if (request.paths.empty()) return {};
  const QString first = QFileInfo(QDir::cleanPath(QString::fromStdString(request.paths.front().string()))).fileName();
  return request.paths.size() == 1 ? first : MainWindow::tr("%1 and %2 more").arg(first).arg(request.paths.size() - 1);
}

constexpr QSize frame_room{8, 36};  // for the desktop's frame around the window

}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent), opening_(this), diagnostics_(new DiagnosticsBar(this)), tabs_(new PageTabs(this)) {
  setAcceptDrops(true);
  auto* middle = new QWidget(this);
  auto* layout = new QVBoxLayout(middle);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  make_import_bar();
  layout->addWidget(import_bar_);
  layout->addWidget(diagnostics_);
  layout->addWidget(tabs_, 1);
  setCentralWidget(middle);
  pages_ = make_pages(selection_, this);
  for (Page* page : pages_) {
    tabs_->addTab(page, page->title());
    connect(page, &Page::status_message, this, &MainWindow::show_status);
    connect(page, &Page::open_requested, this, [this](const QString& path) { open(path); });
    connect(page, &Page::page_requested, this, &MainWindow::show_page);
    connect(page, &Page::choose_requested, this, &MainWindow::choose_file);
    connect(page, &Page::example_requested, this, [this] {
      for (Page* one : pages_)
        if (one->show_example()) tabs_->setCurrentWidget(one);
    });
    connect(page, &Page::notices_changed, diagnostics_, &DiagnosticsBar::update_notices);
    connect(page, &Page::log_requested, this, [this](const QString& log) {
      if (file_) open(OpenRequest{{file_->path}, {log.toStdString()}});
    });
    page->show_file(nullptr);
  }
  make_docks();
  make_menus();
  // Connects all tables at once. A table that is created later must be connected where it is created.
  for (const TableView* table : findChildren<TableView*>())
    connect(table, &TableView::status_message, this, &MainWindow::show_status);
  make_cancel();
  setWindowTitle(tr("ddpprof"));
  restore_layout();
}

void MainWindow::show_status(const QString& message) { statusBar()->showMessage(message, 8000); }

void MainWindow::make_cancel() {
  cancel_ = new QPushButton(tr("Cancel"), this);
  cancel_->setToolTip(tr("Cancel reading the file (Escape)"));
  progress_bar_ = new QProgressBar(this);
  progress_bar_->setAccessibleName(tr("Progress of the import"));
  progress_bar_->setMaximumWidth(200);
  progress_timer_ = new QTimer(this);
  progress_timer_->setInterval(100);
  connect(progress_timer_, &QTimer::timeout, this, &MainWindow::show_progress);
  statusBar()->addPermanentWidget(progress_bar_);
  statusBar()->addPermanentWidget(cancel_);
  escape_ = new QShortcut(Qt::Key_Escape, this);
  connect(cancel_, &QPushButton::clicked, this, &MainWindow::cancel_opening);
  connect(escape_, &QShortcut::activated, this, &MainWindow::cancel_opening);
  // A page can also use Escape. Then each press ends one of the two.
  connect(escape_, &QShortcut::activatedAmbiguously, this, &MainWindow::cancel_opening);
  connect(&opening_, &Job::running_changed, this, &MainWindow::show_reading);
  show_reading(false);
}

void MainWindow::show_reading(bool reading) {
  if (reading) statusBar()->showMessage(tr("Reading %1… Escape cancels.").arg(name_of(reading_)));
  if (!reading) progress_timer_->stop();
  progress_bar_->setVisible(reading && progress_);
  escape_->setEnabled(reading);
  cancel_->setVisible(reading);
}

void MainWindow::cancel_opening() {
  if (!opening_.running()) return;
  if (progress_) progress_->stop = true;
  opening_.cancel();
  const QString name = name_of(reading_);
  const bool again = file_ && reading_.paths.size() == 1 && reading_.paths.front() == file_->path;
  show_status(again ? tr("Cancelled: %1 was not read again. The present data stays.").arg(name)
                    : tr("Cancelled: %1 was not opened.").arg(name));
}

void MainWindow::make_docks() {
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    auto* dock = new QDockWidget(tr("Selected range"), this);
    QWidget* companion = pages_[i]->make_companion(dock);
    if (!companion) {
      delete dock;
      continue;
    }
    dock->setObjectName(QStringLiteral("companion %1").arg(i));
    dock->setFeatures(QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetFloatable);
    dock->setWidget(companion);
    addDockWidget(Qt::BottomDockWidgetArea, dock);
    auto* wanted = new QAction(tr("Selected &range beside every page"), this);
    wanted->setCheckable(true);
    wanted->setChecked(QSettings().value("window/companions", true).toBool());
    connect(wanted, &QAction::toggled, this, [this](bool on) {
      if (keeps_layout_) QSettings().setValue("window/companions", on);
      show_docks();
    });
    docks_.push_back({dock, static_cast<int>(i), wanted});
  }
  connect(&selection_, &Selection::range_changed, this, &MainWindow::show_docks);
  connect(tabs_, &QTabWidget::currentChanged, this, &MainWindow::show_docks);
  show_docks();
}

void MainWindow::show_tabs() {
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const bool applies = !file_ || pages_[i]->applies_to(*file_);
    tabs_->setTabVisible(static_cast<int>(i), applies);
    page_actions_[i]->setEnabled(applies);
  }
}

void MainWindow::show_docks() {
  for (const Dock& dock : docks_)
    dock.dock->setVisible(dock.wanted->isChecked() && selection_.range() && tabs_->currentIndex() != dock.page);
}

void MainWindow::make_menus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::choose_file);
  file->addAction(tr("Open a &folder of traces…"), this, &MainWindow::choose_folder);
  recent_ = file->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::fill_recent);
  file->addAction(tr("&Reload"), QKeySequence::Refresh, this, [this] {
    if (file_)
      open(OpenRequest{file_->imported_from.empty() ? std::vector{file_->path} : file_->imported_from, file_->logs});
  });
  compare_ = file->addAction(tr("Compare &with…"), this, &MainWindow::choose_comparison);
  compare_->setEnabled(false);
  save_ = file->addAction(tr("&Save the imported database…"), this, &MainWindow::choose_target);
  save_->setEnabled(false);
  file->addAction(tr("&Close file"), QKeySequence::Close, this, &MainWindow::close_file);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);

  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const int index = static_cast<int>(i);
    page_actions_.push_back(view->addAction(plain(pages_[i]->title()),
                                            QKeySequence(QStringLiteral("Alt+%1").arg(i + 1)), this, [this, index] {
                                              tabs_->setCurrentIndex(index);
                                              pages_[static_cast<std::size_t>(index)]->focus_first_control();
                                            }));
  }
  view->addSeparator();
  for (const Dock& dock : docks_) view->addAction(dock.wanted);
  add_appearance_menu(*view);
  view->addAction(tr("Find a &command…"), QKeySequence(tr("Ctrl+K")), this, &MainWindow::find_command);

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keys"), QKeySequence::HelpContents, this, &MainWindow::show_keys);
  help->addAction(tr("&Glossary"), this, &MainWindow::show_glossary);
  help->addAction(tr("&About"), this, [this] { show_about(this); });
}

void MainWindow::open(const OpenRequest& request) {
  if (request.paths.empty()) return;
  if (progress_) progress_->stop = true;  // of an earlier import
  reading_ = request;
  progress_ = needs_import(request) ? std::make_shared<import::ImportProgress>() : nullptr;
  import_bytes_ = progress_ ? bytes_to_read(request) : 0;
  opening_.start(
      [request, progress = progress_](const Cancelled& cancelled) { return open_files(request, cancelled, progress); },
      [this, request](const std::shared_ptr<const OpenedFile>& opened_file) { show_opened(request, opened_file); },
      [this](const std::string& why) {
        const QString text = QString::fromStdString(why);
        diagnostics_->show_error(text);
        statusBar()->clearMessage();
        emit not_opened(text);
      });
  if (progress_) {
    show_progress();
    progress_timer_->start();
  }
}

void MainWindow::show_opened(const OpenRequest& request, const std::shared_ptr<const OpenedFile>& opened_file) {
  const bool again = file_ && (file_->path == opened_file->path ||
                               (!file_->imported_from.empty() && file_->imported_from == opened_file->imported_from));
  file_ = opened_file;
  selection_.set_range(std::nullopt);
  selection_.set_measurement(std::nullopt);
  const bool predicted = file_->models || file_->sharded || !file_->stored_predictions.rows.empty();
  diagnostics_->show_notices(file_->notices, predicted ? QString() : QString::fromStdString(file_->why_no_models));
  if (keeps_layout_ && request.paths.size() == 1) remember_file(QString::fromStdString(request.paths.front().string()));
  for (Page* page : pages_) page->show_file(file_);
  show_tabs();
  // The same file again, or a page that the user asked for, stays.
  if (!page_asked_ && !again) tabs_->setCurrentIndex(0);
  page_asked_ = false;
  setWindowTitle(tr("%1 – ddpprof").arg(name_of(request)));
  show_import_bar();
  show_status(QString::fromStdString(request.paths.front().string()));
  emit opened();
}

void MainWindow::show_progress() {
  if (!progress_) return;
  const bool reading = import_bytes_ == 0 || progress_->read_bytes < import_bytes_;
  progress_bar_->setRange(0, import_bytes_ > 0 && reading ? 100 : 0);
  if (import_bytes_ > 0) progress_bar_->setValue(static_cast<int>(100 * progress_->read_bytes / import_bytes_));
  statusBar()->showMessage(reading ? tr("Importing %1… Escape cancels.").arg(name_of(reading_))
                                   : tr("Imported %1; fitting… Escape cancels.").arg(name_of(reading_)));
}

void MainWindow::make_import_bar() {
  import_bar_ = new QFrame(this);
  import_bar_->setFrameShape(QFrame::StyledPanel);
  import_text_ = new QLabel(import_bar_);
  auto* save = new QPushButton(tr("Save…"), import_bar_);
  save->setToolTip(tr("Save the imported database as a file"));
  connect(save, &QPushButton::clicked, this, &MainWindow::choose_target);
  auto* row = new QHBoxLayout(import_bar_);
  row->setContentsMargins(8, 2, 8, 2);
  row->addWidget(import_text_, 1);
  row->addWidget(save);
  import_bar_->hide();
}

void MainWindow::show_import_bar() {
  const bool unsaved = file_ && !file_->imported_from.empty();
  if (unsaved)
    import_text_->setText(tr("Imported from %1. The database is temporary until it is saved.")
                              .arg(name_of(OpenRequest{file_->imported_from, {}})));
  import_bar_->setVisible(unsaved);
  save_->setEnabled(unsaved);
  compare_->setEnabled(file_ != nullptr);
}

void MainWindow::choose_target() {
  if (!file_ || file_->imported_from.empty()) return;
  const QFileInfo first(QString::fromStdString(file_->imported_from.front().string()));
  const QString name = QString::fromStdString(file_->path.filename().string());
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save the imported database"), first.absoluteDir().filePath(name),
                                   tr("Trace databases (*.db);;All files (*)"));
  if (!path.isEmpty()) save_imported_as(path);
}

void MainWindow::save_imported_as(const QString& path) {
  try {
    save_imported(*file_, path.toStdString());
  } catch (const std::exception& error) {
    return diagnostics_->show_error(QString::fromUtf8(error.what()));
  }
  open(OpenRequest{{path.toStdString()}, file_->logs});
}

void MainWindow::close_file() {
  opening_.cancel();
  file_.reset();
  selection_.set_range(std::nullopt);
  selection_.set_measurement(std::nullopt);
  diagnostics_->clear();
  for (Page* page : pages_) page->show_file(nullptr);
  show_tabs();
  tabs_->setCurrentIndex(0);
  setWindowTitle(tr("ddpprof"));
  show_import_bar();
  statusBar()->clearMessage();
}

bool MainWindow::show_page(const QString& title) {
  const QStringList titles = page_titles();
  for (int i = 0; i < titles.size(); ++i) {
    if (titles[i].compare(title, Qt::CaseInsensitive) != 0) continue;
    tabs_->setCurrentIndex(i);
    page_asked_ = !file_;
    return true;
  }
  return false;
}

QStringList MainWindow::page_titles() const {
  QStringList titles;
  for (const Page* page : pages_) titles << plain(page->title());
  return titles;
}

void MainWindow::choose_file() {
  const QString folder = file_ ? QString::fromStdString(file_->path.parent_path().string()) : QString();
  const QStringList paths = QFileDialog::getOpenFileNames(
      this, tr("Open a trace database, or import traces, tables or logs"), folder,
      tr("Databases, traces, tables, logs (*.db *.json *.json.gz *.json.zst *.sqlite *.ddps *.csv *.log *.txt);;"
         "All files (*)"));
  open(OpenRequest{paths_of(paths), {}});
}

void MainWindow::choose_comparison() {
  if (!file_) return;
  const QString opened = QString::fromStdString(std::filesystem::absolute(file_->path).string());
  const QString other =
      QFileDialog::getOpenFileName(this, tr("The database to compare with the opened one (B; A is the opened one)"),
                                   QFileInfo(opened).absolutePath(), tr("Trace databases (*.db);;All files (*)"));
  if (other.isEmpty()) return;
  for (Page* page : pages_)
    if (page->compare_databases(opened, other)) tabs_->setCurrentWidget(page);
}

void MainWindow::choose_folder() {
  const QString folder = QFileDialog::getExistingDirectory(this, tr("Import all traces of a folder"));
  if (!folder.isEmpty()) open(folder);
}

void MainWindow::fill_recent() {
  recent_->clear();
  const QStringList paths = recent_files();
  for (const QString& path : paths) {
    QString shown = path;
    recent_->addAction(shown.replace('&', "&&"), this, [this, path] { open(path); });
  }
  if (paths.isEmpty()) recent_->addAction(tr("No recent file"))->setEnabled(false);
}

HelpDialog& MainWindow::help() {
  if (!help_) help_ = new HelpDialog(keys_table(pages_), this);
  return *help_;
}

void MainWindow::find_command() { (new CommandPalette(commands_of(*this), this))->open(); }

void MainWindow::show_keys() { help().show_keys(); }
void MainWindow::show_glossary() { help().show_glossary(); }

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (!urls.isEmpty() && std::ranges::all_of(urls, &QUrl::isLocalFile)) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) paths << url.toLocalFile();
  open(OpenRequest{paths_of(paths), {}});
}

void MainWindow::closeEvent(QCloseEvent* event) {
  for (Page* page : pages_) {
    if (!page->may_close()) return event->ignore();
  }
  if (keeps_layout_) {
    QSettings settings;
    settings.setValue("window/geometry", saveGeometry());
    settings.setValue("window/state", saveState());
    // A page that was not shown has no sizes yet: its splitters keep what is stored.
    QVariantMap splits = settings.value("window/splitters").toMap();
    for (const QSplitter* splitter : tabs_->findChildren<QSplitter*>())
      if (splitter->testAttribute(Qt::WA_WState_Polished)) splits[splitter->objectName()] = splitter->saveState();
    settings.setValue("window/splitters", splits);
  }
  if (progress_) progress_->stop = true;
  opening_.cancel();
  QMainWindow::closeEvent(event);
}

void MainWindow::restore_layout() {
  const QSettings settings;
  if (!restoreGeometry(settings.value("window/geometry").toByteArray()))
    resize(QSize(1280, 820).boundedTo(screen()->availableSize() - frame_room));
  restoreState(settings.value("window/state").toByteArray());
  const QVariantMap splits = settings.value("window/splitters").toMap();
  for (QSplitter* splitter : tabs_->findChildren<QSplitter*>())
    if (const auto found = splits.find(splitter->objectName()); found != splits.end())
      splitter->restoreState(found->toByteArray());
  show_docks();
}

}  // namespace ddpprof::gui
