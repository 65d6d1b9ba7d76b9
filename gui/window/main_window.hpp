// The main window: one opened file, a tab for each page, the diagnostics bar above them, menus and keys.
#pragma once

#include <QMainWindow>
#include <memory>
#include <vector>

#include "gui/models/jobs.hpp"
#include "gui/models/opened_file.hpp"
#include "gui/models/selection.hpp"

class QDockWidget;
class QMenu;
class QPushButton;
class QShortcut;
class QTabWidget;

namespace ddpprof::gui {

class DiagnosticsBar;
class HelpDialog;
class Page;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);

  // Reads the file off the interface thread; then every page shows it. If it cannot be read, the diagnostics bar shows
  // the reason and the present file stays.
  void open(const QString& path);
  void cancel_opening();  // the present file stays
  void close_file();
  bool opening() const { return opening_.running(); }
  std::shared_ptr<const OpenedFile> file() const { return file_; }

  Selection& selection() { return selection_; }
  DiagnosticsBar& diagnostics() { return *diagnostics_; }
  const std::vector<Page*>& pages() const { return pages_; }
  bool show_page(const QString& title);  // without the &; returns false for an unknown title
  QStringList page_titles() const;
  void forget_layout() { keeps_layout_ = false; }  // do not store this window's size and page for the next start

 signals:
  void opened();  // the file is shown
  void not_opened(const QString& why);

 public slots:
  void show_keys();
  void show_glossary();

 protected:
  void dragEnterEvent(QDragEnterEvent*) override;
  void dropEvent(QDropEvent*) override;
  void closeEvent(QCloseEvent*) override;

 private:
  void show_status(const QString& message);  // in the status bar, for 8 s
  void make_docks();
  void show_docks();  // if a range is selected: beside every page that does not show the range itself
  void make_menus();
  void make_cancel();
  void show_reading(bool reading);
  HelpDialog& help();
  void fill_recent();
  void choose_file();
  void restore_layout();

  Selection selection_;
  Job opening_;
  std::shared_ptr<const OpenedFile> file_;
  DiagnosticsBar* diagnostics_;
  QTabWidget* tabs_;
  QString reading_;                // path of the file being opened
  QPushButton* cancel_ = nullptr;  // in the status bar while a file is read
  QShortcut* escape_ = nullptr;
  QMenu* recent_ = nullptr;
  HelpDialog* help_ = nullptr;  // null until it is first shown
  bool keeps_layout_ = true;
  std::vector<Page*> pages_;
  struct Dock {
    QDockWidget* dock;
    int page;         // index of the page that shows the range itself
    QAction* wanted;  // action in the menu View
  };
  std::vector<Dock> docks_;
};

}  // namespace ddpprof::gui
