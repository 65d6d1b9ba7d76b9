#include "gui/pages/runs/open_panel.hpp"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QVBoxLayout>

#include "gui/models/recent_files.hpp"

namespace ddpprof::gui {
namespace {

constexpr int path_role = Qt::UserRole;

}  // namespace

OpenPanel::OpenPanel(QWidget* parent)
    : QWidget(parent),
      recent_(new QListWidget(this)),
      open_(new QPushButton(tr("O&pen"), this)),
      as_a_(new QPushButton(tr("Compare: A"), this)),
      as_b_(new QPushButton(tr("B"), this)) {
  auto* choose_file = new QPushButton(tr("Open a database…"), this);
  auto* hint =
      new QLabel(tr("or drop a file on this page: a trace database (.db) is opened, a scenario (.yaml) is shown in the "
                    "editor."),
                 this);
  hint->setWordWrap(true);
  auto* heading = new QLabel(tr("Recent data&bases"), this);
  heading->setBuddy(recent_);
  recent_->setAccessibleName(tr("Recent databases"));
  recent_->setTextElideMode(Qt::ElideMiddle);
  recent_->setAlternatingRowColors(true);
  recent_->setSpacing(2);
  as_a_->setToolTip(tr("Use this database as A, the baseline of a comparison"));
  as_b_->setToolTip(tr("Use this database as B of a comparison; ratios are B / A"));
  auto* buttons = new QHBoxLayout;
  buttons->addWidget(open_);
  buttons->addWidget(as_a_);
  buttons->addWidget(as_b_);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(choose_file);
  layout->addWidget(hint);
  layout->addSpacing(8);
  layout->addWidget(heading);
  layout->addWidget(recent_, 1);
  layout->addLayout(buttons);
  connect(choose_file, &QPushButton::clicked, this, &OpenPanel::choose);
  const auto open = [this] {
    if (!selected().isEmpty()) emit open_requested(selected());
  };
  connect(recent_, &QListWidget::itemActivated, this, open);
  connect(open_, &QPushButton::clicked, this, open);
  connect(as_a_, &QPushButton::clicked, this, [this] { emit compare_requested(selected(), true); });
  connect(as_b_, &QPushButton::clicked, this, [this] { emit compare_requested(selected(), false); });
  connect(recent_, &QListWidget::currentItemChanged, this, &OpenPanel::update_buttons);
  refresh();
}

void OpenPanel::refresh() {
  const QString before = selected();
  recent_->clear();
  for (const QString& path : recent_files()) {
    const QFileInfo file(path);
    QString shown = file.fileName();
    if (path == opened_) shown += tr("  (open)");
    if (!file.exists()) shown += tr("  (missing)");
    auto* item = new QListWidgetItem(shown + "\n" + file.absolutePath(), recent_);
    item->setData(path_role, path);
    item->setToolTip(path);
    if (path == before) recent_->setCurrentItem(item);
  }
  if (recent_->count() == 0) {
    auto* none = new QListWidgetItem(tr("No recent database"), recent_);
    none->setFlags(Qt::NoItemFlags);
  }
  update_buttons();
}

void OpenPanel::set_opened(const QString& path) {
  opened_ = path;
  refresh();
}

QString OpenPanel::selected() const {
  return recent_->currentItem() == nullptr ? QString() : recent_->currentItem()->data(path_role).toString();
}

void OpenPanel::update_buttons() {
  for (QPushButton* button : {open_, as_a_, as_b_}) button->setEnabled(!selected().isEmpty());
}

void OpenPanel::showEvent(QShowEvent* event) {
  refresh();
  QWidget::showEvent(event);
}

void OpenPanel::choose() {
  const QString path =
      QFileDialog::getOpenFileName(this, tr("Open a trace database"), QFileInfo(opened_).absolutePath(),
                                   tr("Trace databases (*.db);;All files (*)"));
  if (!path.isEmpty()) emit open_requested(path);
}

}  // namespace ddpprof::gui
