// All knobs of the scaling page in groups, each with a reset button, and one button to reset all.
#pragma once

#include <QScrollArea>
#include <map>

#include "gui/models/scaling/knobs.hpp"

class QLabel;
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
  // Shows below the link between nodes that predictions span all usual links until one is chosen.
  void ask_for_link(bool asks);
  bool asks_for_link() const;
  // Sets the link between nodes to a text such as "2x50Gbit/s". Returns why it cannot be used; "" if it is set.
  QString set_link(const QString& text);

 signals:
  void changed(const Knobs& knobs);
  void log_wanted();  // the user wants to name a log of nccl-tests for the links
  void status_message(const QString& message);

 private:
  KnobBase* add(KnobId id, KnobBase* knob);
  void heading(const QString& text);
  void read_knobs();  // reads all knobs and emits `changed`
  void enable();
  void ask_link_text();

  QVBoxLayout* column_;
  std::map<KnobId, Knob*> numbers_;
  std::map<KnobId, Choice*> choices_;
  QPushButton* reset_all_;
  QLabel* link_note_ = nullptr;
  Knobs knobs_, measured_;
};

}  // namespace ddpprof::gui::whatif
