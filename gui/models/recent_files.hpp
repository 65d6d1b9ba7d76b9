// The trace databases that were opened last, newest first. Stored between starts of the program.
#pragma once

#include <QStringList>

namespace ddpprof::gui {

QStringList recent_files();
void remember_file(const QString& path);  // keeps the last ten absolute paths, without duplicates

}  // namespace ddpprof::gui
