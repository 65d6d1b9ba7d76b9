// The page Scaling for a sharded training (FSDP): knobs, sentences, and the tables of `ddpprof predict`.
#pragma once

#include <QTimer>
#include <QWidget>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gui/models/jobs.hpp"
#include "gui/models/scaling/sharded_question.hpp"

class QLabel;
class QPushButton;
class QTabWidget;
class QVBoxLayout;

namespace ddpprof::gui {
class Choice;
class Knob;
class KnobBase;
class ShellLine;
class TableOrMessage;
class TableTabs;
class TableView;
}  // namespace ddpprof::gui

namespace ddpprof::gui::whatif {

class ShardedPanel : public QWidget {
  Q_OBJECT

 public:
  explicit ShardedPanel(QWidget* parent);

  void show_file(std::shared_ptr<const OpenedFile>);  // null: nothing is predicted any more
  bool busy() const { return rests_.isActive() || answering_.running(); }
  const std::optional<PredictionChoice>& choice() const { return choice_; }  // of the last answer
  // Knobs by name: a key of --what-if, "workers", "gpus_per_node" or "links".
  Knob* number(const std::string& name) const { return numbers_.at(name); }
  Choice* list(const std::string& name) const { return lists_.at(name); }
  QPushButton* reset_all() const { return reset_all_; }
  // Uses logs of all_gather_perf and reduce_scatter_perf of nccl-tests. Returns why one cannot be used; "" if all can.
  QString set_logs(const QStringList& paths);
  QString summary() const;  // as plain text
  QString command() const;
  TableView& levers() { return *levers_; }
  TableView& predictions();
  void set_alone(const std::string& change);  // KEY=VALUE; the other changes are reset

 signals:
  void choice_changed();
  void status_message(const QString& message);

 protected:
  void showEvent(QShowEvent*) override;

 private:
  using Logs = std::pair<std::vector<std::filesystem::path>, std::vector<std::filesystem::path>>;

  QWidget* make_knobs();
  QWidget* make_answer();
  void add(const std::string& name, Knob*);
  void add(const std::string& name, Choice*);
  void choose_logs(const QString& key);
  void reset_changes();
  void reset();
  void read();  // reads the knobs, and asks for their answer if they differ from those of the question
  void ask();
  void predict();
  void show_answer(const ShardedAnswer&);
  void turn(int row_of_levers);

  std::shared_ptr<const OpenedFile> file_;
  ShardedQuestion question_;
  std::optional<PredictionChoice> choice_;
  std::map<QString, Logs> known_logs_;  // by their entry in the list of links
  std::map<std::string, Knob*> numbers_;
  std::map<std::string, Choice*> lists_;
  QTimer rests_;
  Job answering_;
  QVBoxLayout* column_ = nullptr;
  QPushButton* reset_all_;
  QLabel *heading_, *busy_, *summary_, *levers_title_;
  TableView* levers_;
  ShellLine* command_;
  TableTabs* tabs_;
  TableOrMessage *predictions_, *what_if_, *memory_, *notes_;
};

}  // namespace ddpprof::gui::whatif
