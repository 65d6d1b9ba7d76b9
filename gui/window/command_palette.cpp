#include "gui/window/command_palette.hpp"

#include <QAbstractButton>
#include <QAction>
#include <QApplication>
#include <QComboBox>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QScrollArea>
#include <QSlider>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/recent_files.hpp"
#include "gui/pages/page.hpp"
#include "gui/plots/design.hpp"
#include "gui/widgets/knob.hpp"
#include "gui/window/main_window.hpp"

namespace ddpprof::gui {
namespace {

QString without_mnemonic(QString text) { return text.remove('&'); }

void add_menu(const QMenu& menu, std::vector<Command>& into) {
  for (QAction* action : menu.actions()) {
    if (action->menu() != nullptr)
      add_menu(*action->menu(), into);
    else if (!action->isSeparator() && action->isEnabled() && !action->text().isEmpty())
      into.push_back({without_mnemonic(menu.title()) + ": " + without_mnemonic(action->text()),
                      action->shortcut().toString(QKeySequence::NativeText), [action] { action->trigger(); }});
  }
}

// Shows the page, scrolls to the knob and gives it the focus.
void go_to_knob(MainWindow& window, const QString& page, KnobBase& knob) {
  window.show_page(page);
  for (QWidget* up = knob.parentWidget(); up != nullptr; up = up->parentWidget())
    if (auto* area = qobject_cast<QScrollArea*>(up)) area->ensureWidgetVisible(&knob);
  if (auto* slider = knob.findChild<QSlider*>())
    slider->setFocus(Qt::ShortcutFocusReason);
  else if (auto* choice = knob.findChild<QComboBox*>())
    choice->setFocus(Qt::ShortcutFocusReason);
}

void add_page(MainWindow& window, Page& page, std::vector<Command>& into) {
  const QString title = without_mnemonic(page.title());
  for (QAction* action : page.actions())
    if (action->isEnabled())
      into.push_back({title + ": " + without_mnemonic(action->text()),
                      action->shortcut().toString(QKeySequence::NativeText), [&window, title, action] {
                        window.show_page(title);
                        action->trigger();
                      }});
  for (KnobBase* knob : page.findChildren<KnobBase*>())
    if (knob->isVisibleTo(knob->parentWidget()) && knob->isEnabled())
      into.push_back({CommandPalette::tr("Knob: %1").arg(knob->label()), {}, [&window, title, knob] {
                        go_to_knob(window, title, *knob);
                      }});
  if (!page.isVisible()) return;
  for (QAbstractButton* button : page.findChildren<QAbstractButton*>()) {
    const QString text = without_mnemonic(button->text());
    if (text.size() > 1 && button->isVisible() && button->isEnabled())
      into.push_back(
          {title + ": " + text, button->shortcut().toString(QKeySequence::NativeText), [button] { button->click(); }});
  }
}

}  // namespace

std::vector<Command> commands_of(MainWindow& window) {
  std::vector<Command> all;
  for (Page* page : window.pages()) {
    const QString title = without_mnemonic(page->title());
    if (!window.file() || page->applies_to(*window.file()))
      all.push_back({CommandPalette::tr("Page: %1").arg(title), {}, [&window, title] { window.show_page(title); }});
  }
  for (const QAction* action : window.menuBar()->actions())
    if (action->menu() != nullptr) add_menu(*action->menu(), all);
  for (Page* page : window.pages())
    if (!window.file() || page->applies_to(*window.file())) add_page(window, *page, all);
  for (const QString& path : recent_files())
    all.push_back({CommandPalette::tr("Open: %1").arg(path), {}, [&window, path] { window.open(path); }});
  return all;
}

std::vector<std::size_t> matching(const std::vector<Command>& commands, const QString& text) {
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  std::vector<std::size_t> begin, inside;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const QString title = ' ' + commands[i].title;
    const auto has = [&](const QString& word) { return title.contains(word, Qt::CaseInsensitive); };
    if (!std::ranges::all_of(words, has)) continue;
    const auto begins = [&](const QString& word) { return has(' ' + word); };
    (std::ranges::all_of(words, begins) ? begin : inside).push_back(i);
  }
  begin.insert(begin.end(), inside.begin(), inside.end());
  return begin;
}

CommandPalette::CommandPalette(std::vector<Command> commands, QWidget* parent)
    : QDialog(parent), commands_(std::move(commands)), box_(new QLineEdit(this)), list_(new QListWidget(this)) {
  setWindowTitle(tr("Find a command"));
  setAttribute(Qt::WA_DeleteOnClose);
  setModal(true);
  box_->setPlaceholderText(tr("Page, action or knob, for example “timeline” or “bandwidth”"));
  box_->setAccessibleName(tr("Part of a command's name"));
  box_->installEventFilter(this);
  list_->setAccessibleName(tr("Commands"));
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setTextElideMode(Qt::ElideMiddle);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(box_);
  layout->addWidget(list_, 1);
  resize(70 * grid_px, 50 * grid_px);
  connect(box_, &QLineEdit::textChanged, this, &CommandPalette::fill);
  connect(box_, &QLineEdit::returnPressed, this, &CommandPalette::run_current);
  connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run_current);
  fill();
}

void CommandPalette::fill() {
  list_->clear();
  for (const std::size_t i : matching(commands_, box_->text())) {
    const Command& command = commands_[i];
    auto* item = new QListWidgetItem(
        command.keys.isEmpty() ? command.title : command.title + QStringLiteral("   ") + command.keys, list_);
    item->setData(Qt::UserRole, QVariant::fromValue<qulonglong>(i));
    item->setToolTip(command.title);
  }
  list_->setCurrentRow(0);
}

void CommandPalette::run_current() {
  const QListWidgetItem* item = list_->currentItem();
  if (item == nullptr) return;
  const std::function<void()> run = commands_[static_cast<std::size_t>(item->data(Qt::UserRole).toULongLong())].run;
  accept();
  // After the dialog has given the focus back.
  QTimer::singleShot(0, parent(), run);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == box_ && event->type() == QEvent::KeyPress) {
    const int key = static_cast<QKeyEvent*>(event)->key();
    if (key == Qt::Key_Up || key == Qt::Key_Down || key == Qt::Key_PageUp || key == Qt::Key_PageDown) {
      QApplication::sendEvent(list_, event);
      return true;
    }
  }
  return QDialog::eventFilter(watched, event);
}

}  // namespace ddpprof::gui
