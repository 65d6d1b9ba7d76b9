// The program's style: Fusion, with visible edges of check boxes and pressed buttons.
#pragma once

#include <QProxyStyle>

namespace ddpprof::gui {

// Fusion draws outlines in a darker window colour. In a dark window an unticked box is nearly invisible and a pressed
// button looks like the others. WCAG 2.1, 1.4.11 requires a contrast of 3:1.
class Style : public QProxyStyle {
  Q_OBJECT

 public:
  Style() : QProxyStyle(QStringLiteral("Fusion")) {}

  void drawPrimitive(PrimitiveElement, const QStyleOption*, QPainter*, const QWidget*) const override;
};

}  // namespace ddpprof::gui
