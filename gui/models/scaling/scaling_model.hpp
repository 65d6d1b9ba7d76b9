// The state of the scaling page: the knobs and the newest answer to them, simulated off the interface thread.
//
// A change of a knob gives a first snapshot within a few milliseconds (with fewer N if the simulation is slow), then
// finer ones until it is complete. Changes during a simulation are combined: only the newest is simulated next. When
// the knobs rest, the slower answers follow: which knob helps most, and the tables of `ddpprof predict`.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <QTimer>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/jobs.hpp"
#include "gui/models/scaling/knob_history.hpp"
#include "gui/models/scaling/levers.hpp"
#include "gui/models/scaling/snapshot.hpp"

namespace ddpprof::gui::whatif {

// The tables that `ddpprof predict` prints for the same question.
struct PredictTables {
  report::Table predictions, what_if, why, knee, notes;
  bool has_what_if = false;
};
PredictTables predict_tables(const OpenedFile&, const fit::PredictOptions&);
// Returns the options for the tables of a snapshot; machine, change and N all come from the snapshot's knobs.
fit::PredictOptions tables_question(const OpenedFile&, const Snapshot&);

class ScalingModel : public QObject {
  Q_OBJECT

 public:
  explicit ScalingModel(QObject* parent = nullptr);
  ~ScalingModel() override;

  void set_file(std::shared_ptr<const OpenedFile>);  // without a file, or without models in it, nothing is simulated
  const std::shared_ptr<const OpenedFile>& file() const { return file_; }

  const Knobs& knobs() const { return knobs_; }
  Knobs measured() const;  // the state as measured, for the chosen strategy
  void set_knobs(const Knobs&);
  // Go back to the knobs before the last change, and forward again. Return false if there is no such state.
  bool undo();
  bool redo();
  std::int64_t limit() const { return limit_; }
  void set_limit(std::int64_t);  // the largest N drawn: rounded up to a power of two, never below the chosen N

  const Snapshot& snapshot() const { return snapshot_; }
  const std::vector<Lever>& levers() const { return levers_; }
  // Returns true if levers() are those of the present knobs. After a change of N, strategy or machine, new
  // levers follow later.
  bool are_levers_current() const;
  std::int64_t levers_workers() const { return levers_of_ ? levers_of_->workers : 0; }  // their N
  const PredictTables& tables() const { return tables_; }
  std::vector<std::int64_t> tables_workers() const;
  std::string command() const;
  bool busy() const;  // true while part of the newest question is still being simulated

 signals:
  void snapshot_changed();
  void levers_changed();
  void tables_changed();
  void failed(const QString& why);
  void busy_changed(bool busy);

 private:
  void restore(const Knobs&);
  void move();
  void refine();
  void rest();
  void evaluate_levers();
  void fill_tables();
  void take(Snapshot snapshot);

  std::shared_ptr<const OpenedFile> file_;
  std::shared_ptr<Simulations> simulations_;
  Knobs knobs_;
  KnobHistory history_;
  std::int64_t limit_ = 64;
  Snapshot snapshot_;
  std::vector<Lever> levers_;
  std::optional<Knobs> levers_of_;  // the unchanged knobs for which levers_ were computed
  PredictTables tables_;
  bool moved_again_ = false;   // a knob changed while a first snapshot was being simulated
  bool tables_stale_ = false;  // a new question came while the tables were being computed
  QTimer resting_;
  // Two pools, so that changes of knobs never wait for slow work.
  QThreadPool quick_, slow_;
  Job moving_, refining_, evaluating_, filling_;
};

}  // namespace ddpprof::gui::whatif
