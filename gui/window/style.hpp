// The program's style: Fusion with flat controls, the sizes of design.hpp and the colours of colours.hpp.
#pragma once

#include <QProxyStyle>

class QStyleOptionComboBox;
class QStyleOptionSlider;
class QStyleOptionSpinBox;
class QStyleOptionTab;

namespace ddpprof::gui {

// Buttons and fields are a fill with a thin border. Borders of check boxes and of pressed buttons have a contrast of
// 3:1, as WCAG 2.1, 1.4.11 requires. The inner tab bars of pages are segmented controls.
class Style : public QProxyStyle {
  Q_OBJECT

 public:
  Style() : QProxyStyle(QStringLiteral("Fusion")) {}

  void drawPrimitive(PrimitiveElement, const QStyleOption*, QPainter*, const QWidget*) const override;
  void drawControl(ControlElement, const QStyleOption*, QPainter*, const QWidget*) const override;
  void drawComplexControl(ComplexControl, const QStyleOptionComplex*, QPainter*, const QWidget*) const override;
  QRect subControlRect(ComplexControl, const QStyleOptionComplex*, SubControl, const QWidget*) const override;
  QSize sizeFromContents(ContentsType, const QStyleOption*, const QSize&, const QWidget*) const override;
  int pixelMetric(PixelMetric, const QStyleOption*, const QWidget*) const override;

 private:
  void draw_combo(const QStyleOptionComboBox&, QPainter&, const QWidget*) const;
  void draw_spin(const QStyleOptionSpinBox&, QPainter&, const QWidget*) const;
  void draw_slider(const QStyleOptionSlider&, QPainter&, const QWidget*) const;
  void draw_scroll_bar(const QStyleOptionSlider&, QPainter&) const;
};

void apply_design();  // style and font of the whole program; requires a QApplication

}  // namespace ddpprof::gui
