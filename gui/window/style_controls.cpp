// Controls with parts: boxes to choose from, boxes of numbers, sliders and scroll bars.
#include <QAbstractSpinBox>
#include <QPainter>
#include <QSlider>
#include <QStyleOption>
#include <algorithm>

#include "gui/plots/colours.hpp"
#include "gui/plots/design.hpp"
#include "gui/window/flat.hpp"
#include "gui/window/style.hpp"

namespace ddpprof::gui {
namespace {

constexpr int groove_px = 4, handle_px = 14;

QColor line_of_field(const QStyleOption& option) {
  const bool focused = option.state.testFlag(QStyle::State_HasFocus) && option.state.testFlag(QStyle::State_Enabled);
  return focused ? pressed_colour(option.palette) : border_colour(option.palette);
}

QColor text_of(const QStyleOption& option, bool enabled) {
  return option.palette.color(enabled ? QPalette::Active : QPalette::Disabled, QPalette::ButtonText);
}

}  // namespace

void Style::draw_combo(const QStyleOptionComboBox& box, QPainter& painter, const QWidget* widget) const {
  const bool enabled = box.state.testFlag(State_Enabled);
  const bool below_mouse = enabled && !box.editable && box.state.testFlag(State_MouseOver);
  const QColor fill = box.editable  ? box.palette.color(QPalette::Base)
                      : below_mouse ? hover_colour(box.palette)
                                    : box.palette.color(QPalette::Button);
  flat::panel(painter, box.rect, fill, line_of_field(box));
  flat::arrow(painter, proxy()->subControlRect(CC_ComboBox, &box, SC_ComboBoxArrow, widget), true,
              text_of(box, enabled));
}

void Style::draw_spin(const QStyleOptionSpinBox& box, QPainter& painter, const QWidget* widget) const {
  const bool enabled = box.state.testFlag(State_Enabled);
  if (box.frame) flat::panel(painter, box.rect, box.palette.color(QPalette::Base), line_of_field(box));
  if (box.buttonSymbols == QAbstractSpinBox::NoButtons) return;
  for (const auto& [part, step] : {std::pair(SC_SpinBoxUp, QAbstractSpinBox::StepUpEnabled),
                                   std::pair(SC_SpinBoxDown, QAbstractSpinBox::StepDownEnabled)}) {
    const QRect button = proxy()->subControlRect(CC_SpinBox, &box, part, widget);
    if (box.activeSubControls == part && (box.state & (State_Sunken | State_MouseOver)))
      painter.fillRect(button.adjusted(0, 1, -1, -1), hover_colour(box.palette));
    painter.save();
    painter.translate(QRectF(button).center());
    painter.scale(0.7, 0.7);
    flat::arrow(painter, QRect(-5, -5, 10, 10), part == SC_SpinBoxDown,
                text_of(box, enabled && box.stepEnabled.testFlag(step)));
    painter.restore();
  }
}

void Style::draw_slider(const QStyleOptionSlider& slider, QPainter& painter, const QWidget* widget) const {
  const bool enabled = slider.state.testFlag(State_Enabled);
  const QPalette& palette = slider.palette;
  const QRect handle = proxy()->subControlRect(CC_Slider, &slider, SC_SliderHandle, widget);
  const QRect all = slider.rect;
  const double middle = QRectF(all).center().y();
  const QRectF groove(all.left() + 1, middle - groove_px / 2.0, all.width() - 2, groove_px);
  const QPointF at = QRectF(handle).center();
  QRectF before = groove;
  before.setRight(at.x());
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(border_colour(palette));
  painter.drawRoundedRect(groove, groove_px / 2.0, groove_px / 2.0);
  const QColor accent = enabled ? pressed_colour(palette) : border_colour(palette);
  painter.setBrush(accent);
  painter.drawRoundedRect(before, groove_px / 2.0, groove_px / 2.0);
  const bool focused = enabled && slider.state.testFlag(State_HasFocus);
  painter.setPen(QPen(accent, focused ? 3.0 : 1.5));
  painter.setBrush(palette.color(QPalette::Base));
  const double radius = std::min<double>(handle_px, all.height() - 2) / 2.0 - 1.0;
  painter.drawEllipse(QPointF(at.x(), middle), radius, radius);
  painter.restore();
}

void Style::draw_scroll_bar(const QStyleOptionSlider& bar, QPainter& painter) const {
  const QPalette& palette = bar.palette;
  painter.fillRect(bar.rect, palette.color(QPalette::Window));
  if (!bar.state.testFlag(State_Enabled) || bar.maximum <= bar.minimum) return;
  const QRect handle = subControlRect(CC_ScrollBar, &bar, SC_ScrollBarSlider, nullptr).adjusted(3, 3, -3, -3);
  const bool held = bar.state & (State_Sunken | State_MouseOver);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(held ? pressed_colour(palette) : edge_colour(palette));
  painter.drawRoundedRect(handle, 3.0, 3.0);
  painter.restore();
}

void Style::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                               const QWidget* widget) const {
  if (control == CC_ComboBox) {
    if (const auto* box = qstyleoption_cast<const QStyleOptionComboBox*>(option))
      return draw_combo(*box, *painter, widget);
  } else if (control == CC_SpinBox) {
    if (const auto* box = qstyleoption_cast<const QStyleOptionSpinBox*>(option))
      return draw_spin(*box, *painter, widget);
  } else if (const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option)) {
    if (control == CC_ScrollBar) return draw_scroll_bar(*slider, *painter);
    if (control == CC_Slider && slider->orientation == Qt::Horizontal && slider->tickPosition == QSlider::NoTicks)
      return draw_slider(*slider, *painter, widget);
  }
  QProxyStyle::drawComplexControl(control, option, painter, widget);
}

// Scroll bars without arrow buttons.
QRect Style::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                            const QWidget* widget) const {
  const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
  if (control != CC_ScrollBar || bar == nullptr) return QProxyStyle::subControlRect(control, option, part, widget);
  const bool wide = bar->orientation == Qt::Horizontal;
  const int length = wide ? bar->rect.width() : bar->rect.height();
  const int range = bar->maximum - bar->minimum;
  const int least = std::min(length, 4 * grid_px);
  const int handle =
      range <= 0 ? length
                 : std::clamp(static_cast<int>(qint64{length} * bar->pageStep / std::max(1, range + bar->pageStep)),
                              least, length);
  const int start =
      sliderPositionFromValue(bar->minimum, bar->maximum, bar->sliderPosition, length - handle, bar->upsideDown);
  const auto along = [&](int from, int size) {
    const QRect box = wide ? QRect(from, 0, size, bar->rect.height()) : QRect(0, from, bar->rect.width(), size);
    return visualRect(bar->direction, bar->rect, box.translated(bar->rect.topLeft()));
  };
  switch (part) {
    case SC_ScrollBarSlider:
      return along(start, handle);
    case SC_ScrollBarSubPage:
      return along(0, start);
    case SC_ScrollBarAddPage:
      return along(start + handle, length - start - handle);
    case SC_ScrollBarGroove:
      return bar->rect;
    default:
      return {};
  }
}

}  // namespace ddpprof::gui
