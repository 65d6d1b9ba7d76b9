// Light and dark: texts and shapes have the contrast that WCAG 2.1 requires, in the palettes and as drawn.
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QImage>
#include <QPushButton>
#include <QRadioButton>
#include <QStyleOptionButton>
#include <QTest>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>

#include "gui/plots/colours.hpp"
#include "gui/window/style.hpp"

namespace ddpprof::gui {
namespace {

// The examples of WCAG 2.1: black on white is 21, #777777 on white 4.48.
TEST(ContrastRatio, EqualsTheExamplesOfWcag) {
  EXPECT_NEAR(contrast_ratio(Qt::black, Qt::white), 21.0, 1e-9);
  EXPECT_NEAR(contrast_ratio(Qt::white, QColor(0x77, 0x77, 0x77)), 4.48, 0.005);
  EXPECT_DOUBLE_EQ(contrast_ratio(Qt::red, Qt::red), 1.0);
}

TEST(ReadableOn, AnyFill) {
  for (int red = 0; red < 256; red += 15)
    for (int green = 0; green < 256; green += 15)
      for (int blue = 0; blue < 256; blue += 15) {
        const QColor fill(red, green, blue);
        ASSERT_GE(contrast_ratio(readable_on(fill), fill), text_contrast_least) << fill.name().toStdString();
      }
}

class Contrast : public testing::TestWithParam<bool> {
 protected:
  QPalette palette() const { return GetParam() ? dark_palette() : light_palette(); }
};

TEST_P(Contrast, TextIsReadable) {
  const QPalette all = palette();
  const std::pair<QPalette::ColorRole, std::vector<QPalette::ColorRole>> texts[] = {
      {QPalette::WindowText, {QPalette::Window, QPalette::Base}},
      {QPalette::Text, {QPalette::Base, QPalette::AlternateBase, QPalette::Window}},
      {QPalette::ButtonText, {QPalette::Button, QPalette::Window}},
      {QPalette::HighlightedText, {QPalette::Highlight}},
      {QPalette::PlaceholderText, {QPalette::Base}},
      {QPalette::ToolTipText, {QPalette::ToolTipBase}},
      {QPalette::Link, {QPalette::Window, QPalette::Base, QPalette::AlternateBase}}};
  for (const auto& [text, grounds] : texts)
    for (const QPalette::ColorRole ground : grounds)
      for (const auto group : {QPalette::Active, QPalette::Inactive})
        EXPECT_GE(contrast_ratio(all.color(group, text), all.color(group, ground)), text_contrast_least)
            << "role " << text << " on role " << ground;
  for (const Colour meaning : {Colour::warning, Colour::error})  // colours of sentences
    for (const QPalette::ColorRole ground : {QPalette::Window, QPalette::Base})
      EXPECT_GE(contrast_ratio(colour(meaning, all), all.color(ground)), text_contrast_least)
          << "colour " << static_cast<int>(meaning) << " on role " << ground;
}

TEST_P(Contrast, TextIsReadableOnFlatControls) {
  const QPalette all = palette();
  const QColor text = all.color(QPalette::WindowText), accent = all.color(QPalette::Highlight);
  for (const QColor& ground : {hover_colour(all), selected_colour(all)})
    EXPECT_GE(contrast_ratio(text, ground), text_contrast_least) << ground.name().toStdString();
  EXPECT_GE(contrast_ratio(selected_text(all), selected_colour(all)), text_contrast_least);
  EXPECT_GE(contrast_ratio(all.color(QPalette::HighlightedText), blended(accent, Qt::black, 0.15)),
            text_contrast_least);
  for (double better = -1.0; better <= 1.0; better += 0.125)
    EXPECT_GE(contrast_ratio(all.color(QPalette::Text), tinted_colour(better, all)), text_contrast_least) << better;
  EXPECT_EQ(tinted_colour(0.0, all), all.color(QPalette::Base));
  EXPECT_NE(tinted_colour(0.01, all), tinted_colour(-0.01, all));
}

TEST_P(Contrast, ShapesAreVisible) {
  const QPalette all = palette();
  for (const QPalette::ColorRole ground : {QPalette::Window, QPalette::Base, QPalette::Button}) {
    EXPECT_GE(contrast_ratio(edge_colour(all), all.color(ground)), shape_contrast_least) << ground;
    EXPECT_GE(contrast_ratio(pressed_colour(all), all.color(ground)), shape_contrast_least) << ground;
  }
  for (const QPalette::ColorRole ground : {QPalette::Base, QPalette::AlternateBase})  // a selected row
    EXPECT_GE(contrast_ratio(all.color(QPalette::Highlight), all.color(ground)), shape_contrast_least) << ground;
}

// Returns the best contrast of any pixel of `box` to `ground`.
double best_contrast(const QImage& image, const QRect& box, const QColor& ground) {
  double best = 1.0;
  for (int y = std::max(0, box.top()); y <= std::min(image.height() - 1, box.bottom()); ++y)
    for (int x = std::max(0, box.left()); x <= std::min(image.width() - 1, box.right()); ++x)
      best = std::max(best, contrast_ratio(image.pixelColor(x, y), ground));
  return best;
}

// Controls as drawn.
class DrawnContrast : public Contrast {
 protected:
  void SetUp() override {
    host.setStyle(&style);
    host.setPalette(palette());
    host.setAutoFillBackground(true);
    auto* layout = new QVBoxLayout(&host);
    for (QAbstractButton* button : std::initializer_list<QAbstractButton*>{box, radio, push, tool}) {
      button->setText("Mm");
      button->setStyle(&style);
      button->setPalette(palette());
      layout->addWidget(button);
    }
    push->setCheckable(true);
    tool->setCheckable(true);
    host.show();
  }
  QImage grabbed(QWidget* widget) { return host.grab(QRect(widget->mapTo(&host, QPoint()), widget->size())).toImage(); }
  // Takes the worst of a control's four sides. Each side counts by its best pixel in its middle half, so that texts and
  // corners are ignored.
  double worst_side(const QImage& image, const QRect& control) {
    const QColor ground = palette().color(QPalette::Window);
    const int w = control.width(), h = control.height(), deep = 3;
    const QRect middle = control.adjusted(w / 4, h / 4, -w / 4, -h / 4);
    return std::min(
        {best_contrast(image, QRect(middle.left(), control.top(), middle.width(), deep), ground),
         best_contrast(image, QRect(middle.left(), control.bottom() - deep + 1, middle.width(), deep), ground),
         best_contrast(image, QRect(control.left(), middle.top(), deep, middle.height()), ground),
         best_contrast(image, QRect(control.right() - deep + 1, middle.top(), deep, middle.height()), ground)});
  }
  QRect indicator(QAbstractButton* button, QStyle::SubElement part) {
    QStyleOptionButton option;
    option.initFrom(button);
    return style.subElementRect(part, &option, button);
  }

  Style style;
  QWidget host;
  QCheckBox* box = new QCheckBox(&host);
  QRadioButton* radio = new QRadioButton(&host);
  QPushButton* push = new QPushButton(&host);
  QToolButton* tool = new QToolButton(&host);
};

TEST_P(DrawnContrast, AnUntickedBoxIsVisible) {
  EXPECT_GE(worst_side(grabbed(box), indicator(box, QStyle::SE_CheckBoxIndicator)), shape_contrast_least);
  EXPECT_GE(worst_side(grabbed(radio), indicator(radio, QStyle::SE_RadioButtonIndicator)), shape_contrast_least);
}

TEST_P(DrawnContrast, ATickStandsOutFromItsBox) {
  box->setChecked(true);
  const QRect inside = indicator(box, QStyle::SE_CheckBoxIndicator).adjusted(3, 3, -3, -3);
  EXPECT_GE(best_contrast(grabbed(box), inside, palette().color(QPalette::Base)), shape_contrast_least);
}

TEST_P(DrawnContrast, APressedButtonIsVisible) {
  for (QAbstractButton* button : std::initializer_list<QAbstractButton*>{push, tool}) {
    SCOPED_TRACE(button->metaObject()->className());
    const QImage up = grabbed(button);
    button->setChecked(true);
    QImage down = grabbed(button);
    EXPECT_GE(worst_side(down, button->rect()), shape_contrast_least) << "stays down";
    const QRect text = button->rect().adjusted(6, 5, -6, -5);
    const QColor fill = down.pixelColor(text.topLeft());
    EXPECT_GE(best_contrast(down, text, fill), text_contrast_least) << "its text";
    // Compared with the same button not pressed: the edges differ by the required contrast.
    const QPoint edge(button->width() / 2, 0);
    double differs = 1.0;
    for (int deep = 0; deep < 3; ++deep)
      differs = std::max(
          differs, contrast_ratio(up.pixelColor(edge + QPoint(0, deep)), down.pixelColor(edge + QPoint(0, deep))));
    EXPECT_GE(differs, shape_contrast_least) << "pressed or not";
    button->setChecked(false);
    QTest::mousePress(button, Qt::LeftButton);
    EXPECT_GE(worst_side(grabbed(button), button->rect()), shape_contrast_least) << "held down";
    QTest::mouseRelease(button, Qt::LeftButton);
  }
}

INSTANTIATE_TEST_SUITE_P(Appearance, Contrast, testing::Bool(),
                         [](const auto& each) { return each.param ? "dark" : "light"; });
INSTANTIATE_TEST_SUITE_P(Appearance, DrawnContrast, testing::Bool(),
                         [](const auto& each) { return each.param ? "dark" : "light"; });

}  // namespace
}  // namespace ddpprof::gui
