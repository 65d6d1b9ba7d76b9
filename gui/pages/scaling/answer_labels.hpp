// The labels that the page Scaling has for every kind of job: bold titles, the answer's sentences, and the headings of
// knobs.
#pragma once

#include <QLabel>
#include <QString>
#include <vector>

#include "gui/models/scaling/snapshot.hpp"

class QHBoxLayout;

namespace ddpprof::gui::whatif {

void make_bold(QLabel*, int pixels);

// Returns the row of the answer's heading, with `busy` at its end, which is shown while an answer is computed.
QHBoxLayout* answer_head(QLabel* heading, QLabel* busy);

// Prepares a label for sentences_html(), whose text can be selected.
void prepare_sentences(QLabel*);

// Sentences with their headings as rich text. `narrow`: each sentence below its title instead of beside it.
QString sentences_html(const std::vector<Sentence>&, bool narrow);

QLabel* knob_heading(const QString& text, QWidget* parent);

}  // namespace ddpprof::gui::whatif
