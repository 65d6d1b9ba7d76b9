// The trace databases opened last, newest first; kept between starts.
#pragma once

#include <QStringList>

namespace ddpprof::gui {

QStringList recent_files();
void remember_file(const QString& path);  // whole paths, each once, the last ten

}  // namespace ddpprof::gui
