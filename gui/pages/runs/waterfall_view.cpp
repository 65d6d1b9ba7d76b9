#include "gui/pages/runs/waterfall_view.hpp"

#include <QPainter>
#include <algorithm>
#include <cmath>

#include "gui/plots/colours.hpp"
#include "gui/plots/design.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

using report::value_of;

Colour colour_of_term(const std::string& what) {
  if (what == "compute") return Colour::compute;
  if (what == "exposed communication") return Colour::exposed;
  if (what == "waiting") return Colour::skew;
  if (what == "host") return Colour::host;
  if (what == "input") return Colour::input;
  return Colour::other;
}

QString time_text(double seconds, int digits) {
  return QString::fromStdString(units::format_quantity(seconds, "s", digits));
}

QString change_text(double seconds) {
  return (seconds < 0.0 ? QStringLiteral("−") : QStringLiteral("+")) + time_text(std::abs(seconds), 3);
}

std::string word(const report::Table& table, const report::Row& row, const char* column) {
  return value_of<std::string>(table, row, column).value_or("");
}

QString title_of(const report::Table& table, const report::Row& row) {
  QString title = QStringLiteral("%1, N = %2")
                      .arg(QString::fromStdString(word(table, row, "strategy")))
                      .arg(value_of<std::int64_t>(table, row, "workers").value_or(0));
  if (const auto batch = value_of<std::int64_t>(table, row, "global_batch_samples"))
    title += QStringLiteral(", global batch %1").arg(*batch);
  return title;
}

}  // namespace

std::vector<Waterfall> waterfalls_of(const report::Table& table) {
  std::vector<Waterfall> all;
  double b_s = 0.0, at_s = 0.0;
  const auto end = [&] {
    if (!all.empty()) all.back().bars.push_back({"B", 0.0, b_s, true, {}, time_text(b_s, 4)});
  };
  for (const report::Row& row : table.rows) {
    const std::string what = word(table, row, "what");
    const double a_s = value_of<double>(table, row, "a_s").value_or(0.0);
    if (what == "step") {
      end();
      b_s = value_of<double>(table, row, "b_s").value_or(0.0);
      at_s = a_s;
      all.push_back({title_of(table, row), {{"A", 0.0, a_s, true, {}, time_text(a_s, 4)}}});
      continue;
    }
    if (all.empty()) continue;
    const double change_s = value_of<double>(table, row, "difference_s").value_or(0.0);
    WaterfallBar bar{what, at_s, at_s + change_s, false, {}, change_text(change_s)};
    const auto low = value_of<double>(table, row, "difference_low_s"),
               high = value_of<double>(table, row, "difference_high_s");
    if (low && high) {
      bar.ends = std::pair(at_s + *low, at_s + *high);
      bar.text += QStringLiteral(" (%1 to %2)").arg(change_text(*low), change_text(*high));
    }
    at_s += change_s;
    all.back().bars.push_back(std::move(bar));
  }
  end();
  return all;
}

WaterfallView::WaterfallView(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("From A to B, by term"));
}

void WaterfallView::show_waterfall(Waterfall waterfall) {
  shown_ = std::move(waterfall);
  QStringList texts;
  for (const WaterfallBar& bar : shown_.bars) texts << QString::fromStdString(bar.what) + ": " + bar.text;
  setAccessibleDescription(texts.join(", "));
  updateGeometry();
  update();
}

int WaterfallView::row_height() const { return fontMetrics().height() + grid_px; }

int WaterfallView::name_width() const {
  int width = 0;
  for (const WaterfallBar& bar : shown_.bars)
    width = std::max(width, fontMetrics().horizontalAdvance(QString::fromStdString(bar.what)));
  return width;
}

int WaterfallView::text_width() const {
  int width = 0;
  for (const WaterfallBar& bar : shown_.bars) width = std::max(width, fontMetrics().horizontalAdvance(bar.text));
  return width;
}

QSize WaterfallView::minimumSizeHint() const {
  constexpr int least_room = 16 * grid_px;  // for the bars
  return {name_width() + text_width() + 4 * grid_px + least_room,
          static_cast<int>(shown_.bars.size()) * row_height() + grid_px};
}

void WaterfallView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  double low_s = 0.0, high_s = 0.0;
  const int names = name_width(), texts = text_width();
  for (const WaterfallBar& bar : shown_.bars) {
    for (const double end : {bar.from_s, bar.to_s}) {
      low_s = std::min(low_s, end);
      high_s = std::max(high_s, end);
    }
    if (bar.ends) {
      low_s = std::min(low_s, bar.ends->first);
      high_s = std::max(high_s, bar.ends->second);
    }
  }
  if (!(high_s > low_s)) return;
  const int left = names + 2 * grid_px, room = std::max(grid_px, width() - left - texts - 2 * grid_px);
  const auto x_of = [&](double seconds) { return left + (seconds - low_s) / (high_s - low_s) * room; };
  const QColor text = palette().color(QPalette::WindowText);
  const QColor total = blended(palette().color(QPalette::Window), text, 0.45);
  int y = grid_px / 2;
  for (std::size_t i = 0; i < shown_.bars.size(); ++i, y += row_height()) {
    const WaterfallBar& bar = shown_.bars[i];
    const QColor fill = bar.total ? total : colour(colour_of_term(bar.what), palette());
    const double from = x_of(std::min(bar.from_s, bar.to_s)), to = x_of(std::max(bar.from_s, bar.to_s));
    const QRectF box(from, y + 2, std::max(1.0, to - from), row_height() - 4);
    painter.fillRect(box, fill);
    if (!bar.total && bar.to_s < bar.from_s) {  // the colour does not show a decrease
      painter.fillRect(box, QBrush(palette().color(QPalette::Window), Qt::BDiagPattern));
      painter.setPen(fill);
      painter.drawRect(box.adjusted(0, 0, -1, -1));
    }
    painter.setPen(text);
    if (bar.ends) {
      const double middle = box.center().y();
      const QPointF low(x_of(bar.ends->first), middle), high(x_of(bar.ends->second), middle);
      painter.drawLine(low, high);
      for (const QPointF& end : {low, high}) painter.drawLine(end - QPointF(0, 4), end + QPointF(0, 4));
    }
    if (i + 1 < shown_.bars.size()) {  // the next bar begins here
      painter.setPen(border_colour(palette()));
      const double x = x_of(bar.to_s);
      painter.drawLine(QPointF(x, y + row_height() - 2), QPointF(x, y + row_height() + 2));
      painter.setPen(text);
    }
    painter.drawText(QRectF(0, y, names + 1, row_height()), Qt::AlignRight | Qt::AlignVCenter,
                     QString::fromStdString(bar.what));
    painter.drawText(QRectF(width() - texts - 1, y, texts + 1, row_height()), Qt::AlignLeft | Qt::AlignVCenter,
                     bar.text);
  }
}

}  // namespace ddpprof::gui
