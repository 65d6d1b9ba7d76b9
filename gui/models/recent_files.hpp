// The trace databases that were opened last, newest first. Stored between starts of the program.
#pragma once

#include <QStringList>

namespace ddpprof::gui {

QStringList recent_files();
void remember_file(const QString& path);  // keeps the last ten absolute paths, without duplicates

// A line about a recent file: its job and step time. Empty if nothing is stored.
QString recent_summary(const QString& path);
void remember_summary(const QString& path, const QString& text);  // does nothing unless the file is a recent one

}  // namespace ddpprof::gui
