#include "gui/timeline/timeline_legend.hpp"

#include <QPainter>
#include <algorithm>
#include <set>

#include "gui/plots/design.hpp"
#include "gui/timeline/painter.hpp"

namespace ddpprof::gui {
namespace {

constexpr int swatch_px = 12, apart_px = 2 * grid_px;

}  // namespace

TimelineLegend::TimelineLegend(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(tr("Colours of the timeline"));
}

void TimelineLegend::show_timeline(const timeline::Timeline* all) {
  std::set<Colour> colours;
  bool waits = false;
  if (all != nullptr)
    for (std::uint32_t name = 0; name < all->names.size(); ++name) {
      colours.insert(colour_of(all->names.category(name)));
      waits = waits || is_wait(all->names, name) || all->names.category(name) == timeline::Category::collective;
    }
  entries_.clear();
  const std::pair<Colour, QString> known[] = {
      {Colour::compute, tr("compute")},       {Colour::exposed, tr("communication")},
      {Colour::copies, tr("copies")},         {Colour::input, tr("input")},
      {Colour::overlapped, tr("CUDA calls")}, {Colour::skew, tr("gradient ready")},
      {Colour::error, tr("unfinished")},      {Colour::other, tr("steps and other ranges")}};
  for (const auto& [which, text] : known)
    if (colours.contains(which)) entries_.push_back({which, text, false});
  if (waits) entries_.push_back({Colour::other, tr("hatched: waiting"), true});
  QStringList texts;
  for (const Entry& entry : entries_) texts << entry.text;
  setAccessibleDescription(texts.join(", "));
  updateGeometry();
  update();
}

std::vector<QRect> TimelineLegend::boxes(int width) const {
  std::vector<QRect> boxes;
  int x = 0, y = 0;
  for (const Entry& entry : entries_) {
    const int needed = swatch_px + grid_px / 2 + fontMetrics().horizontalAdvance(entry.text);
    if (x > 0 && x + needed > width) {
      x = 0;
      y += fontMetrics().height() + grid_px / 2;
    }
    boxes.emplace_back(x, y, needed, fontMetrics().height());
    x += needed + apart_px;
  }
  return boxes;
}

int TimelineLegend::heightForWidth(int width) const {
  const std::vector<QRect> all = boxes(width);
  return all.empty() ? 0 : all.back().bottom() + 1;
}

QSize TimelineLegend::minimumSizeHint() const {
  const int width = std::max(30 * grid_px, this->width());
  return {30 * grid_px, heightForWidth(width)};
}

void TimelineLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const std::vector<QRect> all = boxes(width());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const QRect swatch(all[i].left(), all[i].center().y() - swatch_px / 2 + 1, swatch_px, swatch_px);
    const QColor fill = colour(entries_[i].colour, palette());
    painter.fillRect(swatch, fill);
    if (entries_[i].hatched) draw_hatch(painter, swatch, readable_on(fill));
    painter.setPen(palette().color(QPalette::WindowText));
    painter.drawText(all[i].adjusted(swatch_px + grid_px / 2, 0, 1, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     entries_[i].text);
  }
}

}  // namespace ddpprof::gui
