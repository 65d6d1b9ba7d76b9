#include "gui/plots/design.hpp"

#include <QFontDatabase>
#include <QFontMetricsF>

namespace ddpprof::gui {

bool has_tabular_digits(const QFont& font) {
  const QFontMetricsF metrics(font);
  const double zero = metrics.horizontalAdvance(QLatin1Char('0'));
  for (char digit = '1'; digit <= '9'; ++digit)
    if (qAbs(metrics.horizontalAdvance(QLatin1Char(digit)) - zero) > 0.01) return false;
  return true;
}

QFont sized(QFont base, int pixels) {
  base.setPixelSize(pixels);
  return base;
}

QFont body_font(QFont base) {
  base.setPixelSize(body_px);
  if (has_tabular_digits(base)) return base;
#if QT_VERSION >= QT_VERSION_CHECK(6, 7, 0)
  base.setFeature(QFont::Tag("tnum"), 1);
  if (has_tabular_digits(base)) return base;
#endif
  const QStringList families = QFontDatabase::families();
  for (const char* family : {"Noto Sans", "DejaVu Sans", "Liberation Sans"}) {
    if (!families.contains(QLatin1String(family))) continue;
    QFont other(QString::fromLatin1(family));
    other.setPixelSize(body_px);
    if (has_tabular_digits(other)) return other;
  }
  return base;
}

}  // namespace ddpprof::gui
