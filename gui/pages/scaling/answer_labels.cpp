#include "gui/pages/scaling/answer_labels.hpp"

#include <QCoreApplication>
#include <QHBoxLayout>

#include "gui/plots/design.hpp"

namespace ddpprof::gui::whatif {

void make_bold(QLabel* label, int pixels) {
  QFont font = sized(label->font(), pixels);
  font.setBold(true);
  label->setFont(font);
}

QHBoxLayout* answer_head(QLabel* heading, QLabel* busy) {
  make_bold(heading, title_px);
  const QString what = QCoreApplication::translate("ScalingPage", "Simulating");
  busy->setAccessibleName(what);
  busy->setToolTip(what);
  auto* row = new QHBoxLayout;
  row->addWidget(heading, 1);
  row->addWidget(busy);
  return row;
}

void prepare_sentences(QLabel* label) {
  label->setWordWrap(true);
  label->setTextFormat(Qt::RichText);
  label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  label->setAccessibleName(QCoreApplication::translate("ScalingPage", "Interpretation"));
}

QString sentences_html(const std::vector<Sentence>& all, bool narrow) {
  const QString row = narrow ? QStringLiteral("<tr><td><b>%1</b><br>%2</td></tr>")
                             : QStringLiteral(
                                   "<tr><td valign='top' style='padding-right:6px'><b>%1</b></td>"
                                   "<td>%2</td></tr>");
  QString text = QStringLiteral("<table cellspacing='0' cellpadding='2'>");
  for (const Sentence& one : all) {
    const QString mark = one.warning ? QStringLiteral("⚠ ") : QString();
    text += row.arg((mark + QString::fromStdString(one.about)).toHtmlEscaped(),
                    QString::fromStdString(one.text).toHtmlEscaped());
  }
  return text + QStringLiteral("</table>");
}

QLabel* knob_heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  QFont font = label->font();
  font.setBold(true);
  label->setFont(font);
  label->setContentsMargins(0, grid_px, 0, 0);
  label->setForegroundRole(QPalette::PlaceholderText);
  return label;
}

}  // namespace ddpprof::gui::whatif
