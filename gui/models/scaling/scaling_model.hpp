// The scaling page's state: the knobs as they stand and the newest answer to them, simulated off the interface thread.
//
// A move of a knob gives a first snapshot within a few milliseconds (fewer N where the simulation is slow), then finer
// ones until it is complete. Moves that come while one is simulated are taken together: the newest is next. When the
// knobs rest, the slower answers follow: which knob helps most, and the tables of `ddpprof predict`.
#pragma once

#include <QObject>
#include <QThreadPool>
#include <QTimer>
#include <memory>
#include <vector>

#include "gui/models/jobs.hpp"
#include "gui/models/scaling/levers.hpp"
#include "gui/models/scaling/snapshot.hpp"

namespace ddpprof::gui::whatif {

// What `ddpprof predict` prints for the same question.
struct PredictTables {
  report::Table predictions, what_if, why, knee, notes;
  bool has_what_if = false;
};
PredictTables predict_tables(const OpenedFile&, const fit::PredictOptions&);
// The question that a snapshot answers, for its tables: machine, change and N are all of one state of the knobs.
fit::PredictOptions tables_question(const OpenedFile&, const Snapshot&);

class ScalingModel : public QObject {
  Q_OBJECT

 public:
  explicit ScalingModel(QObject* parent = nullptr);
  ~ScalingModel() override;

  void set_file(std::shared_ptr<const OpenedFile>);  // null, or one without models: nothing is simulated
  const std::shared_ptr<const OpenedFile>& file() const { return file_; }

  const Knobs& knobs() const { return knobs_; }
  Knobs measured() const;  // of the strategy that is chosen
  void set_knobs(const Knobs&);
  std::int64_t limit() const { return limit_; }
  void set_limit(std::int64_t);  // the largest N drawn: a power of two, not below the chosen N

  const Snapshot& snapshot() const { return snapshot_; }
  const std::vector<Lever>& levers() const { return levers_; }
  // Of levers(): still an answer for the knobs as they are. After another N, strategy or machine new ones follow later.
  bool stands(const Lever&) const;
  std::int64_t levers_workers() const { return levers_workers_; }  // the N they were weighed at
  const PredictTables& tables() const { return tables_; }
  std::vector<std::int64_t> tables_workers() const;
  std::string command() const;
  bool busy() const;  // something of the newest question is still simulated

 signals:
  void snapshot_changed();
  void levers_changed();
  void tables_changed();
  void failed(const QString& why);
  void busy_changed(bool busy);

 private:
  void move();
  void refine();
  void rest();
  void weigh_levers();
  void fill_tables();
  void take(Snapshot snapshot);

  std::shared_ptr<const OpenedFile> file_;
  std::shared_ptr<Simulations> simulations_;
  Knobs knobs_;
  std::int64_t limit_ = 64;
  Snapshot snapshot_;
  std::vector<Lever> levers_;
  std::int64_t levers_workers_ = 0;
  PredictTables tables_;
  bool moved_again_ = false;   // while a first snapshot is simulated
  bool tables_stale_ = false;  // … the tables
  QTimer resting_;
  // Moves never wait for what is slow.
  QThreadPool quick_, slow_;
  Job moving_, refining_, weighing_, filling_;
};

}  // namespace ddpprof::gui::whatif
