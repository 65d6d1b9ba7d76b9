#include "gui/window/icons.hpp"

#include <QPainter>
#include <QPixmapCache>
#include <QSvgRenderer>
#include <algorithm>
#include <iterator>

namespace ddpprof::gui {
namespace {

struct Drawing {
  const char *page, *shapes;
};

constexpr Drawing drawings[] = {
    // four tiles
    {"Overview", R"(<rect x="3" y="3" width="8" height="10" rx="1"/><rect x="3" y="17" width="8" height="4" rx="1"/>
       <rect x="15" y="3" width="6" height="4" rx="1"/><rect x="15" y="11" width="6" height="10" rx="1"/>)"},
    // a curve that flattens, over two axes
    {"Scaling", R"(<path d="M3 3v18h18"/><path d="M6 18c2-8 6-11 15-12"/>)"},
    // two jobs beside each other
    {"DP and DDP", R"(<rect x="3" y="4" width="7" height="16" rx="1"/><rect x="14" y="4" width="7" height="16" rx="1"/>
       <path d="M3 10h7M14 14h7"/>)"},
    // bars on lanes
    {"Timeline", R"(<path d="M3 6h8M14 6h7M6 12h11M3 18h5M11 18h9" stroke-width="3" stroke-linecap="butt"/>)"},
    // bars of different height
    {"Ranks", R"(<path d="M4 21V9M10 21V4M16 21v-9M21 21V7M2 21h20"/>)"},
    // points beside a line
    {"Fit", R"(<path d="M3 20L21 5"/><circle cx="6" cy="13" r="1.5"/><circle cx="11" cy="16" r="1.5"/>
       <circle cx="14" cy="7" r="1.5"/><circle cx="19" cy="11" r="1.5"/>)"},
    // a warmup and a decay
    {"Learning rate", R"(<path d="M3 3v18h18"/><path d="M6 18l4-11c4 0 7 3 11 9"/>)"},
    // play
    {"Runs", R"(<circle cx="12" cy="12" r="9"/><path d="M10 8l6 4-6 4z"/>)"},
};

const Drawing* drawing_of(const QString& page) {
  const auto* found =
      std::ranges::find_if(drawings, [&](const Drawing& one) { return page == QLatin1String(one.page); });
  return found == std::end(drawings) ? nullptr : found;
}

}  // namespace

bool has_icon(const QString& page) { return drawing_of(page) != nullptr; }

QByteArray page_svg(const QString& page, const QColor& line) {
  const Drawing* drawing = drawing_of(page);
  return QByteArrayLiteral(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke=")") +
         line.name().toLatin1() +
         QByteArrayLiteral(R"(" stroke-width="1.75" stroke-linecap="round" stroke-linejoin="round">)") +
         (drawing ? drawing->shapes : R"(<circle cx="12" cy="12" r="9"/>)") + QByteArrayLiteral("</svg>");
}

QPixmap page_icon(const QString& page, const QColor& line, int pixels, double device_pixel_ratio) {
  const QString key =
      QStringLiteral("page icon %1 %2 %3 %4").arg(page, line.name()).arg(pixels).arg(device_pixel_ratio);
  QPixmap picture;
  if (QPixmapCache::find(key, &picture)) return picture;
  const int real = qRound(pixels * device_pixel_ratio);
  picture = QPixmap(real, real);
  picture.fill(Qt::transparent);
  QPainter painter(&picture);
  painter.setRenderHint(QPainter::Antialiasing);
  QSvgRenderer(page_svg(page, line)).render(&painter, QRectF(0, 0, real, real));
  painter.end();
  picture.setDevicePixelRatio(device_pixel_ratio);
  QPixmapCache::insert(key, picture);
  return picture;
}

}  // namespace ddpprof::gui
