#include "gui/window/main_window.hpp"

#include <QApplication>
#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenuBar>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QShortcut>
#include <QSplitter>
#include <QStatusBar>
#include <QTabWidget>
#include <QVBoxLayout>

#include "gui/models/recent_files.hpp"
#include "gui/pages/page.hpp"
#include "gui/widgets/diagnostics_bar.hpp"
#include "gui/widgets/table_view.hpp"
#include "gui/window/appearance.hpp"
#include "gui/window/help.hpp"
#include "gui/window/pages.hpp"

namespace ddpprof::gui {
namespace {

QString plain(QString title) { return title.remove('&'); }

}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent), opening_(this), diagnostics_(new DiagnosticsBar(this)), tabs_(new QTabWidget(this)) {
  setAcceptDrops(true);
  tabs_->setDocumentMode(true);
  auto* middle = new QWidget(this);
  auto* layout = new QVBoxLayout(middle);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(diagnostics_);
  layout->addWidget(tabs_, 1);
  setCentralWidget(middle);
  pages_ = make_pages(selection_, this);
  for (Page* page : pages_) {
    tabs_->addTab(page, page->title());
    connect(page, &Page::status_message, this, &MainWindow::show_status);
    connect(page, &Page::open_requested, this, &MainWindow::open);
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
  if (reading) statusBar()->showMessage(tr("Reading %1… Escape cancels.").arg(QFileInfo(reading_).fileName()));
  escape_->setEnabled(reading);
  cancel_->setVisible(reading);
}

void MainWindow::cancel_opening() {
  if (!opening_.running()) return;
  opening_.cancel();
  const QString name = QFileInfo(reading_).fileName();
  const bool again = file_ && QFileInfo(reading_) == QFileInfo(QString::fromStdString(file_->path.string()));
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

void MainWindow::show_docks() {
  for (const Dock& dock : docks_)
    dock.dock->setVisible(dock.wanted->isChecked() && selection_.range() && tabs_->currentIndex() != dock.page);
}

void MainWindow::make_menus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::choose_file);
  recent_ = file->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::fill_recent);
  file->addAction(tr("&Reload"), QKeySequence::Refresh, this, [this] {
    if (file_) open(QString::fromStdString(file_->path.string()));
  });
  file->addAction(tr("&Close file"), QKeySequence::Close, this, &MainWindow::close_file);
  file->addSeparator();
  file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);

  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    const int index = static_cast<int>(i);
    view->addAction(plain(pages_[i]->title()), QKeySequence(QStringLiteral("Alt+%1").arg(i + 1)), this, [this, index] {
      tabs_->setCurrentIndex(index);
      pages_[static_cast<std::size_t>(index)]->focus_first_control();
    });
  }
  view->addSeparator();
  for (const Dock& dock : docks_) view->addAction(dock.wanted);
  add_appearance_menu(*view);

  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keys"), QKeySequence::HelpContents, this, &MainWindow::show_keys);
  help->addAction(tr("&Glossary"), this, &MainWindow::show_glossary);
  help->addAction(tr("&About"), this, [this] { show_about(this); });
}

void MainWindow::open(const QString& path) {
  const std::filesystem::path file = path.toStdString();
  reading_ = path;
  opening_.start([file](const Cancelled& cancelled) { return open_file(file, cancelled); },
                 [this, path](const std::shared_ptr<const OpenedFile>& opened_file) {
                   file_ = opened_file;
                   selection_.set_range(std::nullopt);
                   selection_.set_measurement(std::nullopt);
                   const bool predicted = file_->models || !file_->stored_predictions.rows.empty();
                   diagnostics_->show_notices(file_->notices,
                                              predicted ? QString() : QString::fromStdString(file_->why_no_models));
                   if (keeps_layout_) remember_file(path);
                   for (Page* page : pages_) page->show_file(file_);
                   setWindowTitle(tr("%1 – ddpprof").arg(QFileInfo(path).fileName()));
                   show_status(path);
                   emit opened();
                 },
                 [this](const std::string& why) {
                   const QString text = QString::fromStdString(why);
                   diagnostics_->show_error(text);
                   statusBar()->clearMessage();
                   emit not_opened(text);
                 });
}

void MainWindow::close_file() {
  opening_.cancel();
  file_.reset();
  selection_.set_range(std::nullopt);
  selection_.set_measurement(std::nullopt);
  diagnostics_->clear();
  for (Page* page : pages_) page->show_file(nullptr);
  setWindowTitle(tr("ddpprof"));
  statusBar()->clearMessage();
}

bool MainWindow::show_page(const QString& title) {
  const QStringList titles = page_titles();
  for (int i = 0; i < titles.size(); ++i) {
    if (titles[i].compare(title, Qt::CaseInsensitive) != 0) continue;
    tabs_->setCurrentIndex(i);
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
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a trace database"), folder,
                                                    tr("Trace databases (*.db);;All files (*)"));
  if (!path.isEmpty()) open(path);
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

void MainWindow::show_keys() { help().show_keys(); }
void MainWindow::show_glossary() { help().show_glossary(); }

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls() && event->mimeData()->urls().size() == 1 &&
      event->mimeData()->urls().front().isLocalFile())
    event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  open(event->mimeData()->urls().front().toLocalFile());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  for (Page* page : pages_) {
    if (!page->may_close()) return event->ignore();
  }
  if (keeps_layout_) {
    QSettings settings;
    settings.setValue("window/geometry", saveGeometry());
    settings.setValue("window/state", saveState());
    settings.setValue("window/page", tabs_->currentIndex());
    QVariantList splits;
    for (const QSplitter* splitter : tabs_->findChildren<QSplitter*>()) splits << splitter->saveState();
    settings.setValue("window/splits", splits);
  }
  opening_.cancel();
  QMainWindow::closeEvent(event);
}

void MainWindow::restore_layout() {
  const QSettings settings;
  if (!restoreGeometry(settings.value("window/geometry").toByteArray())) resize(1280, 820);
  restoreState(settings.value("window/state").toByteArray());
  tabs_->setCurrentIndex(settings.value("window/page", 0).toInt());
  // Another version may have another number of splitters. Then keep the default proportions.
  const QVariantList splits = settings.value("window/splits").toList();
  const auto splitters = tabs_->findChildren<QSplitter*>();
  if (splits.size() == splitters.size())
    for (qsizetype i = 0; i < splits.size(); ++i) splitters[i]->restoreState(splits[i].toByteArray());
  show_docks();
}

}  // namespace ddpprof::gui
