// Saves a page as a picture without user interaction: `ddpprof-gui FILE.db --page NAME --save PICTURE.png`.
#pragma once

#include <QObject>
#include <QString>
#include <functional>

namespace ddpprof::gui {

class MainWindow;

// Saves a picture of the window after its file is shown and no Job has run for `quiet_ms`. Then calls done(""). Calls
// done(reason) if the file cannot be opened, the picture cannot be written, or `timeout_ms` has passed.
void save_when_quiet(MainWindow&, const QString& path, std::function<void(const QString&)> done, int quiet_ms = 400,
                     int timeout_ms = 120'000);

}  // namespace ddpprof::gui
