#include "gui/window/style.hpp"

#include <QPainter>
#include <QStyleOption>

#include "gui/plots/colours.hpp"

namespace ddpprof::gui {

void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const {
  QProxyStyle::drawPrimitive(element, option, painter, widget);
  if (!option->state.testFlag(State_Enabled)) return;
  const QRectF inside = QRectF(option->rect).adjusted(0.5, 0.5, -0.5, -0.5);
  painter->save();
  painter->setBrush(Qt::NoBrush);
  painter->setRenderHint(QPainter::Antialiasing);
  switch (element) {
    case PE_IndicatorCheckBox:
      painter->setPen(edge_colour(option->palette));
      painter->drawRect(inside);
      break;
    case PE_IndicatorRadioButton:
      painter->setPen(edge_colour(option->palette));
      painter->drawEllipse(inside);
      break;
    case PE_PanelButtonCommand:
    case PE_PanelButtonTool:
      if (option->state & (State_On | State_Sunken)) {
        painter->setPen(QPen(pressed_colour(option->palette), 2.0));
        painter->drawRoundedRect(inside.adjusted(0.5, 0.5, -0.5, -0.5), 2.0, 2.0);
      }
      break;
    default:
      break;
  }
  painter->restore();
}

}  // namespace ddpprof::gui
