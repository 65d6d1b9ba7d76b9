// The main window: one opened file, a rail of pages, the diagnostics bar above them, menus and keys.
#pragma once

#include <QMainWindow>
#include <memory>
#include <vector>

#include "gui/models/importing.hpp"
#include "gui/models/jobs.hpp"
#include "gui/models/opened_file.hpp"
#include "gui/models/selection.hpp"

class QAction;
class QDockWidget;
class QFrame;
class QLabel;
class QMenu;
class QProgressBar;
class QPushButton;
class QShortcut;
class QTabWidget;
class QTimer;

namespace ddpprof::gui {

class DiagnosticsBar;
class HelpDialog;
class Page;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);

  // Reads the files off the interface thread; then every page shows them. A database is opened, all other files are
  // imported into a temporary one. If they cannot be read, the diagnostics bar shows the reason and the present file
  // stays.
  void open(const OpenRequest&);
  void open(const QString& path) { open(OpenRequest{{path.toStdString()}, {}}); }
  void cancel_opening();  // the present file stays
  void close_file();
  void save_imported_as(const QString& path);  // then the saved database is open
  bool opening() const { return opening_.running(); }
  std::shared_ptr<const OpenedFile> file() const { return file_; }

  Selection& selection() { return selection_; }
  DiagnosticsBar& diagnostics() { return *diagnostics_; }
  const std::vector<Page*>& pages() const { return pages_; }
  bool show_page(const QString& title);  // without the &; returns false for an unknown title
  QStringList page_titles() const;
  void forget_layout() { keeps_layout_ = false; }  // do not store this window's size for the next start

 signals:
  void opened();  // the file is shown
  void not_opened(const QString& why);

 public slots:
  void show_keys();
  void show_glossary();
  void find_command();  // opens the palette of Ctrl+K

 protected:
  void dragEnterEvent(QDragEnterEvent*) override;
  void dropEvent(QDropEvent*) override;
  void closeEvent(QCloseEvent*) override;

 private:
  void show_status(const QString& message);  // in the status bar, for 8 s
  void make_docks();
  void show_tabs();   // hides the pages that do not apply to the file
  void show_docks();  // if a range is selected: beside every page that does not show the range itself
  void make_menus();
  void make_cancel();
  void show_reading(bool reading);
  HelpDialog& help();
  void fill_recent();
  void choose_file();
  void choose_folder();
  void choose_comparison();
  void choose_target();  // to save the imported database
  void show_progress();
  void show_opened(const OpenRequest&, const std::shared_ptr<const OpenedFile>&);
  void make_import_bar();
  void show_import_bar();
  void restore_layout();

  Selection selection_;
  Job opening_;
  std::shared_ptr<const OpenedFile> file_;
  DiagnosticsBar* diagnostics_;
  QTabWidget* tabs_;
  OpenRequest reading_;            // the files being opened
  QPushButton* cancel_ = nullptr;  // in the status bar while a file is read
  QProgressBar* progress_bar_ = nullptr;
  QTimer* progress_timer_ = nullptr;
  std::shared_ptr<import::ImportProgress> progress_;  // of the import that runs; null without one
  std::uint64_t import_bytes_ = 0;                    // to read; 0: not known
  QFrame* import_bar_ = nullptr;                      // shown while an imported database is not saved
  QLabel* import_text_ = nullptr;
  QAction* save_ = nullptr;
  QAction* compare_ = nullptr;
  QShortcut* escape_ = nullptr;
  QMenu* recent_ = nullptr;
  HelpDialog* help_ = nullptr;  // null until it is first shown
  bool keeps_layout_ = true;
  std::vector<Page*> pages_;
  std::vector<QAction*> page_actions_;  // in the menu View, as pages_
  bool page_asked_ = false;             // by the user, before a file was opened
  struct Dock {
    QDockWidget* dock;
    int page;         // index of the page that shows the range itself
    QAction* wanted;  // action in the menu View
  };
  std::vector<Dock> docks_;
};

}  // namespace ddpprof::gui
