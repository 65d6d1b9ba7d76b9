#include "gui/window/picture.hpp"

#include <QElapsedTimer>
#include <QPixmap>
#include <QTimer>

#include "gui/models/jobs.hpp"
#include "gui/window/main_window.hpp"

namespace ddpprof::gui {
namespace {

class Watcher : public QObject {
 public:
  Watcher(MainWindow& window, QString path, std::function<void(const QString&)> done, int quiet_ms, int timeout_ms)
      : QObject(&window),
        window_(window),
        path_(std::move(path)),
        done_(std::move(done)),
        quiet_ms_(quiet_ms),
        timeout_ms_(timeout_ms) {
    connect(&window, &MainWindow::not_opened, this, [this](const QString& why) { finish(why); });
    connect(&timer_, &QTimer::timeout, this, [this] { look(); });
    since_start_.start();
    since_work_.start();
    timer_.start(20);
  }

 private:
  void look() {
    if (Job::running_now() > 0) since_work_.restart();
    if (since_start_.elapsed() > timeout_ms_) {
      finish(QObject::tr("the window was not ready after %1 s").arg(timeout_ms_ / 1000));
    } else if (since_work_.elapsed() >= quiet_ms_) {
      finish(window_.grab().save(path_) ? QString() : QObject::tr("%1: cannot be written").arg(path_));
    }
  }

  void finish(const QString& why) {
    timer_.stop();
    deleteLater();
    if (done_) std::exchange(done_, nullptr)(why);
  }

  MainWindow& window_;
  QString path_;
  std::function<void(const QString&)> done_;
  int quiet_ms_, timeout_ms_;
  QTimer timer_;
  QElapsedTimer since_start_, since_work_;
};

}  // namespace

void save_when_quiet(MainWindow& window, const QString& path, std::function<void(const QString&)> done, int quiet_ms,
                     int timeout_ms) {
  new Watcher(window, path, std::move(done), quiet_ms, timeout_ms);  // owned by the window; deletes itself when done
}

}  // namespace ddpprof::gui
