#include "gui/window/style.hpp"

#include <QApplication>
#include <QPainter>
#include <QStyleOption>
#include <algorithm>

#include "gui/plots/colours.hpp"
#include "gui/plots/design.hpp"
#include "gui/window/flat.hpp"

namespace ddpprof::gui {
namespace {

bool pressed(const QStyleOption& option) { return option.state & (QStyle::State_On | QStyle::State_Sunken); }

bool primary(const QStyleOption& option) {
  const auto* button = qstyleoption_cast<const QStyleOptionButton*>(&option);
  return button != nullptr && button->features.testFlag(QStyleOptionButton::DefaultButton) &&
         option.state.testFlag(QStyle::State_Enabled) && !pressed(option);
}

void draw_button(const QStyleOption& option, QPainter& painter) {
  const QPalette& palette = option.palette;
  const bool enabled = option.state.testFlag(QStyle::State_Enabled);
  const bool below_mouse = enabled && option.state.testFlag(QStyle::State_MouseOver);
  if (pressed(option) && enabled) {
    flat::panel(painter, option.rect, selected_colour(palette), pressed_colour(palette), 2.0);
  } else if (primary(option)) {
    const QColor accent = palette.color(QPalette::Highlight);
    flat::panel(painter, option.rect, below_mouse ? blended(accent, Qt::black, 0.15) : accent, accent);
  } else {
    flat::panel(painter, option.rect, below_mouse ? hover_colour(palette) : palette.color(QPalette::Button),
                border_colour(palette));
  }
}

// A segment of a segmented control; the chosen one is filled.
void draw_segment(const QStyleOptionTab& tab, QPainter& painter) {
  const QPalette& palette = tab.palette;
  const bool chosen = tab.state.testFlag(QStyle::State_Selected);
  const bool below_mouse = !chosen && tab.state.testFlag(QStyle::State_MouseOver);
  const QRect box = tab.rect.adjusted(0, 2, tab.position == QStyleOptionTab::End ? 0 : 1, -2);
  painter.save();
  painter.fillRect(box, chosen        ? selected_colour(palette)
                        : below_mouse ? hover_colour(palette)
                                      : palette.color(QPalette::Button));
  painter.setPen(border_colour(palette));
  painter.drawRect(box.adjusted(0, 0, -1, -1));
  if (chosen) painter.fillRect(QRect(box.left(), box.bottom() - 1, box.width(), 2), pressed_colour(palette));
  painter.restore();
}

}  // namespace

void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const {
  const QPalette& palette = option->palette;
  const bool enabled = option->state.testFlag(State_Enabled);
  switch (element) {
    case PE_PanelButtonCommand:
    case PE_PanelButtonTool:
      return draw_button(*option, *painter);
    case PE_FrameLineEdit: {
      const bool focused = enabled && option->state.testFlag(State_HasFocus);
      return flat::panel(*painter, option->rect, Qt::transparent,
                         focused ? pressed_colour(palette) : border_colour(palette));
    }
    case PE_Frame:
      if (const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option); frame && frame->lineWidth > 0)
        flat::panel(*painter, option->rect, Qt::transparent, border_colour(palette));
      return;
    case PE_FrameTabWidget:
    case PE_FrameTabBarBase:
      return;
    default:
      break;
  }
  QProxyStyle::drawPrimitive(element, option, painter, widget);
  if (!enabled) return;
  const QRectF inside = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
  painter->save();
  painter->setBrush(Qt::NoBrush);
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(edge_colour(palette));
  if (element == PE_IndicatorCheckBox) painter->drawRect(inside);
  if (element == PE_IndicatorRadioButton) painter->drawEllipse(inside);
  painter->restore();
}

void Style::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                        const QWidget* widget) const {
  const QPalette& palette = option->palette;
  switch (element) {
    case CE_TabBarTabShape:
      if (const auto* tab = qstyleoption_cast<const QStyleOptionTab*>(option)) draw_segment(*tab, *painter);
      return;
    case CE_HeaderSection:
    case CE_HeaderEmptyArea:
      painter->fillRect(option->rect, palette.color(QPalette::Window));
      painter->fillRect(QRect(option->rect.left(), option->rect.bottom(), option->rect.width(), 1),
                        border_colour(palette));
      return;
    case CE_Splitter: {
      const QRect& all = option->rect;
      const bool wide = option->state.testFlag(State_Horizontal);
      QRect grip = wide ? QRect(0, 0, 2, 4 * grid_px) : QRect(0, 0, 4 * grid_px, 2);
      grip.moveCenter(all.center());
      painter->fillRect(grip, option->state.testFlag(State_MouseOver) ? pressed_colour(palette) : edge_colour(palette));
      return;
    }
    case CE_PushButtonLabel:
      if (primary(*option)) {
        QStyleOptionButton button = *qstyleoption_cast<const QStyleOptionButton*>(option);
        button.palette.setColor(QPalette::ButtonText, palette.color(QPalette::HighlightedText));
        return QProxyStyle::drawControl(element, &button, painter, widget);
      }
      break;
    case CE_ComboBoxLabel:
      if (const auto* box = qstyleoption_cast<const QStyleOptionComboBox*>(option); box && !box->editable) {
        QStyleOptionComboBox still = *box;
        still.state &= ~QStyle::State_Sunken;  // Fusion would move the text
        return QProxyStyle::drawControl(element, &still, painter, widget);
      }
      break;
    default:
      break;
  }
  QProxyStyle::drawControl(element, option, painter, widget);
}

QSize Style::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents,
                              const QWidget* widget) const {
  QSize size = QProxyStyle::sizeFromContents(type, option, contents, widget);
  if (type == CT_PushButton || type == CT_ComboBox || type == CT_LineEdit || type == CT_SpinBox)
    size.setHeight(std::max(size.height(), 3 * grid_px));
  return size;
}

int Style::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
  switch (metric) {
    case PM_ScrollBarExtent:
      return grid_px + grid_px / 2;
    case PM_LayoutHorizontalSpacing:
    case PM_LayoutVerticalSpacing:
    case PM_LayoutLeftMargin:
    case PM_LayoutTopMargin:
    case PM_LayoutRightMargin:
    case PM_LayoutBottomMargin:
    case PM_SplitterWidth:
      return grid_px;
    case PM_HeaderMargin:
    case PM_FocusFrameHMargin:  // of the cells of tables and lists
      return grid_px / 2;
    case PM_TabBarTabHSpace:
      return 3 * grid_px;
    case PM_TabBarTabOverlap:
    case PM_TabBarTabShiftVertical:
    case PM_TabBarTabShiftHorizontal:
    case PM_ButtonShiftHorizontal:
    case PM_ButtonShiftVertical:
      return 0;
    default:
      return QProxyStyle::pixelMetric(metric, option, widget);
  }
}

void apply_design() {
  QApplication::setStyle(new Style);  // Qt owns it
  QApplication::setFont(body_font(QApplication::font()));
}

}  // namespace ddpprof::gui
