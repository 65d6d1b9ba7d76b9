// The program's style: Fusion, with edges of boxes and of pressed buttons that stand out from what is around them.
#pragma once

#include <QProxyStyle>

namespace ddpprof::gui {

// Fusion's outlines are the window's colour made darker: on a dark window next to nothing is seen of an unticked box,
// and a pressed button looks like any other (WCAG 2.1, 1.4.11 asks for 3:1).
class Style : public QProxyStyle {
  Q_OBJECT

 public:
  Style() : QProxyStyle(QStringLiteral("Fusion")) {}

  void drawPrimitive(PrimitiveElement, const QStyleOption*, QPainter*, const QWidget*) const override;
};

}  // namespace ddpprof::gui
