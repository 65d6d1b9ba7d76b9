// The window: one opened file, a tab a page, the diagnostics bar above them, menus and the keys.
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

  // Reads the file off this thread; every page shows it once it is read. A file that cannot be read is said in the
  // diagnostics bar and what was shown stays.
  void open(const QString& path);
  void cancel_opening();  // what is shown stays
  void close_file();
  bool opening() const { return opening_.running(); }
  std::shared_ptr<const OpenedFile> file() const { return file_; }

  Selection& selection() { return selection_; }
  DiagnosticsBar& diagnostics() { return *diagnostics_; }
  const std::vector<Page*>& pages() const { return pages_; }
  bool show_page(const QString& title);  // without its accelerator's &; false when there is none
  QStringList page_titles() const;
  void forget_layout() { keeps_layout_ = false; }  // this window's size and page are not for the next start

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
  void say(const QString& message);  // in the status bar, for a while
  void make_docks();
  void show_docks();  // where there is a selected range, beside every page but their own
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
  QString reading_;                // the path that is being opened
  QPushButton* cancel_ = nullptr;  // in the status bar while a file is read
  QShortcut* escape_ = nullptr;
  QMenu* recent_ = nullptr;
  HelpDialog* help_ = nullptr;  // once it was asked for
  bool keeps_layout_ = true;
  std::vector<Page*> pages_;
  struct Dock {
    QDockWidget* dock;
    int page;         // whose companion it holds: it has its own
    QAction* wanted;  // in the menu View
  };
  std::vector<Dock> docks_;
};

}  // namespace ddpprof::gui
