#include "gui/pages/overview/start_panel.hpp"

#include <QDateTime>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QLocale>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/recent_files.hpp"
#include "gui/plots/design.hpp"

namespace ddpprof::gui {

StartPanel::StartPanel(QWidget* parent) : QWidget(parent), recent_(new QListWidget(this)) {
  auto* drop = new QFrame(this);
  drop->setObjectName("drop");
  drop->setStyleSheet(QStringLiteral("#drop { border: 2px dashed palette(mid); border-radius: 4px; }"));
  auto* title = new QLabel(tr("Drop a trace database, traces, a table of step times or a log here"), drop);
  title->setWordWrap(true);
  title->setAlignment(Qt::AlignCenter);
  const QFont large = sized(title->font(), title_px);
  title->setFont(large);
  auto* formats = new QLabel(tr("PyTorch profiler (JSON, also gzip and zstd), Nsight Systems (SQLite), recordings of "
                                "ddpprof, CSV, output of nccl-tests; also folders of them"),
                             drop);
  formats->setWordWrap(true);
  formats->setAlignment(Qt::AlignCenter);
  auto* open = new QPushButton(tr("Open or import a trace…"), drop);
  open->setDefault(true);
  auto* measure = new QPushButton(tr("Measure a job"), drop);
  measure->setToolTip(tr("Write a scenario and run it (page Runs)"));
  auto* sample = new QPushButton(tr("Try a sample"), drop);
  sample->setToolTip(tr("Start with an example scenario (page Runs)"));
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  for (QPushButton* button : {open, measure, sample}) buttons->addWidget(button);
  buttons->addStretch(1);
  auto* inside = new QVBoxLayout(drop);
  inside->setContentsMargins(3 * grid_px, 4 * grid_px, 3 * grid_px, 4 * grid_px);
  inside->setSpacing(2 * grid_px);
  inside->addWidget(title);
  inside->addWidget(formats);
  inside->addLayout(buttons);
  auto* heading = new QLabel(tr("Recent files"), this);
  heading->setFont(large);
  recent_->setAccessibleName(tr("Recent files"));
  recent_->setSpacing(grid_px / 2);
  recent_->setTextElideMode(Qt::ElideMiddle);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(3 * grid_px, 3 * grid_px, 3 * grid_px, 3 * grid_px);
  layout->setSpacing(2 * grid_px);
  layout->addWidget(drop);
  layout->addWidget(heading);
  layout->addWidget(recent_, 1);
  connect(open, &QPushButton::clicked, this, &StartPanel::choose_requested);
  connect(measure, &QPushButton::clicked, this, [this] { emit measure_requested(false); });
  connect(sample, &QPushButton::clicked, this, [this] { emit measure_requested(true); });
  connect(recent_, &QListWidget::itemActivated, this, &StartPanel::open_current);
  refresh();
}

void StartPanel::refresh() {
  recent_->clear();
  for (const QString& path : recent_files()) {
    const QFileInfo file(path);
    QStringList second;
    if (const QString about = recent_summary(path); !about.isEmpty()) second << about;
    second << (file.exists() ? QLocale().toString(file.lastModified(), QLocale::ShortFormat) : tr("missing"))
           << file.absolutePath();
    auto* item = new QListWidgetItem(file.fileName() + "\n" + second.join(QStringLiteral("  ·  ")), recent_);
    item->setData(Qt::UserRole, path);
    item->setToolTip(path);
  }
  if (recent_->count() > 0) return;
  auto* none = new QListWidgetItem(tr("No recent file"), recent_);
  none->setFlags(Qt::NoItemFlags);
}

void StartPanel::open_current() {
  if (recent_->currentItem() == nullptr) return;
  const QString path = recent_->currentItem()->data(Qt::UserRole).toString();
  if (!path.isEmpty()) emit open_requested(path);
}

void StartPanel::showEvent(QShowEvent* event) {
  refresh();
  QWidget::showEvent(event);
}

}  // namespace ddpprof::gui
