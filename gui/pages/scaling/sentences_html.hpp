// Sentences with their headings as rich text.
#pragma once

#include <QString>
#include <vector>

#include "gui/models/scaling/snapshot.hpp"

namespace ddpprof::gui::whatif {

// `narrow`: each sentence below its title instead of beside it.
inline QString sentences_html(const std::vector<Sentence>& all, bool narrow) {
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

}  // namespace ddpprof::gui::whatif
