// The scaling page: knobs, curves over N, and sentences that explain them, for one file.
#pragma once

#include "gui/models/scaling/scaling_model.hpp"
#include "gui/pages/page.hpp"

class QButtonGroup;
class QCheckBox;
class QComboBox;
class QLabel;
class QModelIndex;
class QScrollArea;
class QTabWidget;

namespace ddpprof::gui {
class MessageStack;
class ShellLine;
class TableView;
}  // namespace ddpprof::gui

namespace ddpprof::gui::whatif {

class KnobPanel;
class ScalingPlot;
class ShardedPanel;

class ScalingPage : public Page {
  Q_OBJECT

 public:
  explicit ScalingPage(Selection& selection, QWidget* parent = nullptr);

  QString title() const override { return tr("&Scaling"); }
  std::vector<std::pair<QString, QString>> keys() const override;
  void show_file(std::shared_ptr<const OpenedFile> file) override;
  bool applies_to(const OpenedFile&) const override;

  ScalingModel& model() { return model_; }
  ScalingPlot& plot() { return *plot_; }
  KnobPanel& knobs() { return *knobs_; }
  ShardedPanel& sharded() { return *sharded_; }   // shown for a training with FSDP
  QString message() const;                        // shown instead of data; empty if data is shown
  std::vector<TableView*> stored_tables() const;  // below the message
  QString summary() const;                        // as plain text
  TableView& levers() { return *levers_; }
  TableView& predictions() { return *predictions_; }

 protected:
  void showEvent(QShowEvent*) override;
  bool eventFilter(QObject*, QEvent*) override;

 private:
  QWidget* make_middle();
  QWidget* make_right();
  QWidget* make_bar();
  void share_choice();  // with the other pages
  void offer_throughput(bool known);  // false if samples were not recorded: the plot then starts with the step time
  void show_snapshot();
  void show_sentences();
  void show_levers();
  void turn(int row_of_levers);
  void tighten_tables();
  void choose_log();
  void show_tables();
  void show_busy();
  void fill_limits();

  ScalingModel model_;
  std::vector<Sentence> sentences_;  // of the last complete answer
  MessageStack* stack_;
  KnobPanel* knobs_;
  ShardedPanel* sharded_;
  ScalingPlot* plot_;
  QButtonGroup* views_;
  QCheckBox* logarithmic_;
  QComboBox* limit_;
  ShellLine* command_;
  QLabel *heading_, *summary_, *levers_title_, *busy_;
  QScrollArea* words_ = nullptr;  // around summary_
  QTabWidget* tables_;
  TableView *levers_, *predictions_, *what_if_, *why_, *knee_, *notes_;
};

}  // namespace ddpprof::gui::whatif
