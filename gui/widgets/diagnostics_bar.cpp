#include "gui/widgets/diagnostics_bar.hpp"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/plots/colours.hpp"
#include "gui/widgets/table_view.hpp"

namespace ddpprof::gui {
namespace {

std::string cell_text(const report::Table& table, const report::Row& row, const std::string& name) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].name == name)
      if (const auto* text = std::get_if<std::string>(&row[i])) return *text;
  return "";
}

}  // namespace

DiagnosticsBar::DiagnosticsBar(QWidget* parent)
    : QFrame(parent), line_(new QLabel(this)), toggle_(new QToolButton(this)), details_(new TableView(this)) {
  setFrameShape(QFrame::StyledPanel);
  setAutoFillBackground(true);
  line_->setWordWrap(true);
  line_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  line_->setAccessibleName(tr("Diagnostics"));
  toggle_->setText(tr("Details"));
  toggle_->setShortcut(QKeySequence(tr("F4")));
  toggle_->setToolTip(tr("All diagnostics, with what to do (F4)"));
  toggle_->setCheckable(true);
  toggle_->setFocusPolicy(Qt::StrongFocus);
  details_->share_width();
  details_->hide();
  connect(toggle_, &QToolButton::toggled, this, [this](bool on) {
    // On a low window the page keeps most of the height.
    details_->setMaximumHeight(std::clamp(window()->height() / 5, 100, 200));
    details_->setVisible(on);
  });
  auto* first = new QHBoxLayout;
  first->addWidget(line_, 1);
  first->addWidget(toggle_, 0, Qt::AlignTop);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(8, 4, 8, 4);
  layout->addLayout(first);
  layout->addWidget(details_);
  hide();
}

void DiagnosticsBar::show_error(const QString& message) {
  error_ = tr("✖ %1").arg(message);
  show_lines();
}

void DiagnosticsBar::take(const report::Table& notices, const QString& no_models) {
  Severity severity = Severity::none;
  QStringList lines;
  if (!no_models.isEmpty()) {
    severity = Severity::error;
    lines << tr("✖ No prediction: %1").arg(no_models);
  }
  const auto count = notices.rows.size();
  if (count > 0) {
    const bool error = cell_text(notices, notices.rows.front(), "severity") == "error";
    severity = std::max(severity, error ? Severity::error : Severity::warning);
    const QString first = QString::fromStdString(cell_text(notices, notices.rows.front(), "about") + ": " +
                                                 cell_text(notices, notices.rows.front(), "message"));
    lines << (error ? QStringLiteral("✖ ") : QStringLiteral("⚠ ")) + first +
                 (count > 1 ? tr("  (and %n more)", nullptr, static_cast<int>(count - 1)) : QString());
  }
  no_models_ = no_models;
  notices_ = lines.join('\n');
  notices_severity_ = severity;
  has_details_ = count > 0;
  details_->set_table(notices);
}

void DiagnosticsBar::show_notices(const report::Table& notices, const QString& no_models) {
  take(notices, no_models);
  error_.clear();
  toggle_->setChecked(false);
  show_lines();
}

void DiagnosticsBar::update_notices(const report::Table& notices) {
  take(notices, no_models_);
  if (!has_details_) toggle_->setChecked(false);
  show_lines();
}

void DiagnosticsBar::clear() {
  error_.clear();
  notices_.clear();
  no_models_.clear();
  notices_severity_ = Severity::none;
  has_details_ = false;
  toggle_->setChecked(false);
  show_lines();
}

QString DiagnosticsBar::text() const { return line_->text(); }

void DiagnosticsBar::show_lines() {
  QStringList lines;
  for (const QString& line : {error_, notices_})
    if (!line.isEmpty()) lines << line;
  severity_ = error_.isEmpty() ? notices_severity_ : Severity::error;
  line_->setText(lines.join('\n'));
  toggle_->setVisible(has_details_);
  colour_in();
  setVisible(!lines.isEmpty());
}

void DiagnosticsBar::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) colour_in();
  QFrame::changeEvent(event);
}

void DiagnosticsBar::colour_in() {
  if (severity_ == Severity::none) return;
  QPalette own = line_->palette();
  const QColor wanted = colour(severity_ == Severity::error ? Colour::error : Colour::warning, palette());
  if (own.color(QPalette::WindowText) == wanted) return;
  own.setColor(QPalette::WindowText, wanted);
  line_->setPalette(own);
}

}  // namespace ddpprof::gui
