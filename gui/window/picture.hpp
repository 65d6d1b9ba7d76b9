// A page as a picture, without anybody at the screen: `ddpprof-gui FILE.db --page NAME --save PICTURE.png`.
#pragma once

#include <QObject>
#include <QString>
#include <functional>

namespace ddpprof::gui {

class MainWindow;

// Saves the window once its file is shown and no Job has run for `quiet_ms`, then calls done("") or done(why not): when
// the file cannot be opened, the picture not written, or `timeout_ms` is over.
void save_when_quiet(MainWindow&, const QString& path, std::function<void(const QString&)> done, int quiet_ms = 400,
                     int timeout_ms = 120'000);

}  // namespace ddpprof::gui
