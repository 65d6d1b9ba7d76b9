#include "gui/models/recent_files.hpp"

#include <QFileInfo>
#include <QSettings>

namespace ddpprof::gui {
namespace {

constexpr int most_recent = 10;
constexpr const char* key = "recent_files";

}  // namespace

QStringList recent_files() { return QSettings().value(key).toStringList(); }

void remember_file(const QString& path) {
  QStringList paths = recent_files();
  const QString whole = QFileInfo(path).absoluteFilePath();
  paths.removeAll(whole);
  paths.prepend(whole);
  QSettings().setValue(key, QStringList(paths.mid(0, most_recent)));
}

}  // namespace ddpprof::gui
