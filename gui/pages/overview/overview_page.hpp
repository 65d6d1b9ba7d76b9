// The first page: the answer about a file in one look, with links to the evidence. Without a file, the first steps.
#pragma once

#include <QTimer>
#include <memory>
#include <optional>

#include "gui/models/jobs.hpp"
#include "gui/models/overview/overview.hpp"
#include "gui/pages/page.hpp"

class QComboBox;
class QHBoxLayout;
class QLabel;
class QStackedWidget;
class QVBoxLayout;

namespace ddpprof::gui {

class StartPanel;
class StepBar;

class OverviewPage : public Page {
  Q_OBJECT

 public:
  explicit OverviewPage(Selection&, QWidget* parent = nullptr);

  QString title() const override { return tr("Overview"); }
  void show_file(std::shared_ptr<const OpenedFile> file) override;

  bool reading() const { return reading_.running() || choosing_.running() || choice_rests_.isActive(); }
  const std::optional<Overview>& overview() const { return shown_; }  // as it is shown
  QString text() const;  // of all labels that are shown, as plain text
  StartPanel& start() { return *start_; }
  StepBar& step_bar() { return *step_; }
  QComboBox& rate_workers() { return *rate_workers_; }

 protected:
  void changeEvent(QEvent*) override;

 private:
  struct Tile {
    QWidget* frame;
    QLabel *title, *figure, *detail;
  };

  QWidget* make_content();
  Tile make_tile(QWidget* parent);
  QLabel* make_text(QWidget* parent);                                       // wrapped, with links to pages
  QString figure_link(const QString& page, const std::string& text) const;  // in the colour of the text
  QLabel* make_heading(const QString& text, QWidget* parent);
  QVBoxLayout* make_card(QWidget* parent);  // the layout inside of a framed panel
  void show_message(const QString& text);
  void show_overview();
  void show_rate();
  void follow_choice();  // of the page Scaling; without one the predictions are those of the file
  void predict_choice();
  void show_choice();
  void show_changes();
  void follow(const QString& link);

  Job reading_, choosing_;
  QTimer choice_rests_;        // a dragged slider is computed once
  std::string why_no_choice_;  // why the choice cannot be predicted
  std::shared_ptr<const OpenedFile> file_;
  std::optional<Overview> of_file_, shown_;  // for the file's own predictions; for the choice, if there is one
  QStackedWidget* stack_;
  StartPanel* start_;
  QLabel* message_;
  QWidget* content_;
  QLabel *job_, *choice_, *profiler_note_, *changes_heading_, *changes_, *warnings_heading_, *warnings_, *rate_,
      *sentences_, *sentences_heading_;
  QWidget *tiles_row_, *step_card_, *changes_card_, *sentences_card_;
  QHBoxLayout* halves_;
  std::vector<Tile> tiles_;
  StepBar* step_;
  QComboBox* rate_workers_;
};

}  // namespace ddpprof::gui
