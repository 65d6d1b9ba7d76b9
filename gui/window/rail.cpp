#include "gui/window/rail.hpp"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>

#include "gui/plots/colours.hpp"
#include "gui/plots/design.hpp"
#include "gui/window/icons.hpp"

namespace ddpprof::gui {
namespace {

constexpr int icon_px = 3 * grid_px, compact_px = 6 * grid_px, tab_px = 7 * grid_px;
constexpr int least_title_px = 11 * grid_px;     // so that short titles do not make a narrow rail
constexpr int narrow_window_px = 140 * grid_px;  // below it, the pages need the width of the titles

QString plain_title(QString title) { return title.remove('&'); }

}  // namespace

Rail::Rail(QWidget* parent) : QTabBar(parent) {
  setMouseTracking(true);
  setDrawBase(false);
  setExpanding(false);
  setUsesScrollButtons(true);
  setAccessibleName(tr("Pages"));
}

void Rail::set_compact(bool compact) {
  if (compact_ == compact) return;
  compact_ = compact;
  show_titles();
  setIconSize(iconSize());  // lays the tabs out again
}

void Rail::show_titles() {
  for (int i = 0; i < count(); ++i) setTabToolTip(i, compact_ ? plain_title(tabText(i)) : QString());
}

void Rail::tabInserted(int index) {
  QTabBar::tabInserted(index);
  show_titles();
}

QSize Rail::tabSizeHint(int) const {
  if (compact_) return {compact_px, compact_px};
  int widest = least_title_px;
  for (int i = 0; i < count(); ++i)
    widest = std::max(widest, fontMetrics().horizontalAdvance(plain_title(tabText(i))) + 2 * grid_px);
  return {widest, std::max(tab_px, icon_px + fontMetrics().height() + grid_px + grid_px / 2)};
}

QSize Rail::minimumSizeHint() const { return {compact_px, 4 * compact_px}; }

void Rail::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  for (int i = 0; i < count(); ++i) {
    if (!isTabVisible(i)) continue;
    const bool chosen = i == currentIndex();
    const QRect box = tabRect(i).adjusted(grid_px / 2, 2, -grid_px / 2, -2);
    painter.setPen(Qt::NoPen);
    if (chosen || i == below_mouse_) {
      painter.setBrush(chosen ? selected_colour(palette()) : hover_colour(palette()));
      painter.drawRoundedRect(box, corner_px, corner_px);
    }
    const QColor line = !isTabEnabled(i) ? palette().color(QPalette::Disabled, QPalette::WindowText)
                        : chosen         ? selected_text(palette())
                                         : palette().color(QPalette::WindowText);
    const QString title = plain_title(tabText(i));
    const int text_height = compact_ ? 0 : fontMetrics().height();
    const int top = box.top() + (box.height() - icon_px - text_height) / 2;
    painter.drawPixmap(box.center().x() - icon_px / 2 + 1, top, page_icon(title, line, icon_px, devicePixelRatioF()));
    if (compact_) continue;
    painter.setPen(line);
    painter.drawText(QRect(box.left(), top + icon_px, box.width() + 1, text_height),
                     int(Qt::AlignHCenter) | int(Qt::AlignTop) | int(Qt::TextShowMnemonic), tabText(i));
  }
  painter.setPen(border_colour(palette()));
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.drawLine(width() - 1, 0, width() - 1, height());
  if (hasFocus() && currentIndex() >= 0) {
    painter.setPen(QPen(pressed_colour(palette()), 2.0));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(tabRect(currentIndex()).adjusted(2, 2, -3, -3));
  }
}

void Rail::keyPressEvent(QKeyEvent* event) {
  const bool up = event->key() == Qt::Key_Up;
  if (!up && event->key() != Qt::Key_Down) return QTabBar::keyPressEvent(event);
  QKeyEvent along(event->type(), up ? Qt::Key_Left : Qt::Key_Right, event->modifiers());
  QTabBar::keyPressEvent(&along);
}

void Rail::mouseMoveEvent(QMouseEvent* event) {
  const int below = tabAt(event->pos());
  if (below != below_mouse_) {
    below_mouse_ = below;
    update();
  }
  QTabBar::mouseMoveEvent(event);
}

void Rail::leaveEvent(QEvent* event) {
  below_mouse_ = -1;
  update();
  QTabBar::leaveEvent(event);
}

PageTabs::PageTabs(QWidget* parent) : QTabWidget(parent), rail_(new Rail(this)) {
  setTabBar(rail_);
  setTabPosition(QTabWidget::West);
  setDocumentMode(true);
}

QSize PageTabs::minimumSizeHint() const {
  QSize least = QTabWidget::minimumSizeHint();
  int page_width = 0;
  for (int i = 0; i < count(); ++i) page_width = std::max(page_width, widget(i)->minimumSizeHint().width());
  return {page_width + rail_->minimumSizeHint().width(), least.height()};
}

void PageTabs::resizeEvent(QResizeEvent* event) {
  rail_->set_compact(width() < narrow_window_px);
  QTabWidget::resizeEvent(event);
}

}  // namespace ddpprof::gui
