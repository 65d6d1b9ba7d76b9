// Asks where a picture is to be saved; the name gets the ending of the kind that was chosen before it is confirmed.
#pragma once

#include <QFileDialog>
#include <QString>

namespace ddpprof::gui {

// `name` without an ending is proposed. Empty when the user thought better of it.
inline QString ask_picture_path(QWidget* parent, const QString& name) {
  QFileDialog dialog(parent, QObject::tr("Save picture"), QString(), QObject::tr("PNG (*.png);;SVG (*.svg)"));
  dialog.setAcceptMode(QFileDialog::AcceptSave);
  dialog.selectFile(name);
  dialog.setDefaultSuffix("png");
  QObject::connect(&dialog, &QFileDialog::filterSelected,
                   [&dialog](const QString& filter) { dialog.setDefaultSuffix(filter.left(3).toLower()); });
  if (dialog.exec() != QDialog::Accepted || dialog.selectedFiles().isEmpty()) return {};
  const QString path = dialog.selectedFiles().front();
  if (path.endsWith(".png", Qt::CaseInsensitive) || path.endsWith(".svg", Qt::CaseInsensitive)) return path;
  return path + "." + dialog.defaultSuffix();  // another ending of the user's own
}

inline bool is_svg(const QString& path) { return path.endsWith(".svg", Qt::CaseInsensitive); }

}  // namespace ddpprof::gui
