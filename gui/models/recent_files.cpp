#include "gui/models/recent_files.hpp"

#include <QFileInfo>
#include <QSettings>

namespace ddpprof::gui {
namespace {

constexpr int most_recent = 10;
constexpr const char* key = "recent_files";
constexpr const char* summaries_key = "recent_summaries";

}  // namespace

QStringList recent_files() { return QSettings().value(key).toStringList(); }

void remember_file(const QString& path) {
  QStringList paths = recent_files();
  const QString whole = QFileInfo(path).absoluteFilePath();
  paths.removeAll(whole);
  paths.prepend(whole);
  QSettings().setValue(key, QStringList(paths.mid(0, most_recent)));
}

QString recent_summary(const QString& path) {
  return QSettings().value(summaries_key).toMap().value(QFileInfo(path).absoluteFilePath()).toString();
}

void remember_summary(const QString& path, const QString& text) {
  const QStringList recent = recent_files();
  const QString whole = QFileInfo(path).absoluteFilePath();
  if (!recent.contains(whole)) return;
  QVariantMap all = QSettings().value(summaries_key).toMap();
  all.removeIf([&](const auto& one) { return !recent.contains(one.key()); });
  all[whole] = text;
  QSettings().setValue(summaries_key, all);
}

}  // namespace ddpprof::gui
