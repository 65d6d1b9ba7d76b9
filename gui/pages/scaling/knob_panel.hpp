// All knobs of the scaling page in groups, each with a reset button, and one button to reset all.
#pragma once

#include <QScrollArea>
#include <map>

#include "gui/models/scaling/knobs.hpp"

class QPushButton;
class QVBoxLayout;

namespace ddpprof::gui {
class Choice;
class Knob;
class KnobBase;
}  // namespace ddpprof::gui

namespace ddpprof::gui::whatif {

class KnobPanel : public QScrollArea {
  Q_OBJECT

 public:
  explicit KnobPanel(QWidget* parent = nullptr);

  // Enables the knobs for the file: by the measured strategies and the recorded values.
  void set_file(const OpenedFile*);
  // The two functions below do not emit `changed`.
  void show_knobs(const Knobs&, const Knobs& measured);

  Knob* number(KnobId) const;    // null if the knob is a choice
  Choice* choice(KnobId) const;  // null if the knob is a number
  QPushButton* reset_all() const { return reset_all_; }

 signals:
  void changed(const Knobs& knobs);

 private:
  KnobBase* add(KnobId id, KnobBase* knob);
  void heading(const QString& text);
  void read_knobs();  // reads all knobs and emits `changed`
  void enable();

  QVBoxLayout* column_;
  std::map<KnobId, Knob*> numbers_;
  std::map<KnobId, Choice*> choices_;
  QPushButton* reset_all_;
  Knobs knobs_, measured_;
};

}  // namespace ddpprof::gui::whatif
