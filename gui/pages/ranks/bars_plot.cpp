#include "gui/pages/ranks/bars_plot.hpp"

#include <algorithm>

#include "gui/plots/legend.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

constexpr std::array<Colour, metrics::rank_part_count> part_colours = {
    Colour::compute, Colour::overlapped, Colour::exposed, Colour::skew, Colour::host, Colour::input, Colour::other};

}  // namespace

BarsPlot::BarsPlot(QWidget* parent) : Plot(parent) {
  set_name("ranks");
  setAccessibleName(tr("Where each rank's step goes"));
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    bars_[i] = new QCPBars(xAxis, yAxis);
    const auto part = static_cast<metrics::RankPart>(i);
    // In the tables and in the strip, exposed time includes waiting. Here waiting has its own bar.
    bars_[i]->setName(part == metrics::RankPart::exposed ? tr("exposed without waiting") : tr(to_string(part)));
    bars_[i]->setWidth(0.7);
    if (i > 0) bars_[i]->moveAbove(bars_[i - 1]);
  }
  medians_ = addGraph();
  medians_->setName(tr("median step"));
  medians_->setLineStyle(QCPGraph::lsNone);
  xAxis->grid()->setVisible(false);
  place_legend_above(*this, 3);
  connect(this, &Plot::restyled, this, &BarsPlot::colour_in);
  colour_in();
}

void BarsPlot::show_bars(const RankBars& view) {
  const units::Scale scale = units::choose_scale("s", view.step_s);
  set_axes(tr("rank"), tr("mean over steps [%1]").arg(QString::fromStdString(scale.unit)));
  QVector<double> places;
  std::vector<double> heights(view.ranks.size(), 0.0);
  const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
  const std::size_t stride = std::max<std::size_t>(1, view.ranks.size() / 16);
  for (std::size_t i = 0; i < view.ranks.size(); ++i) {
    places.push_back(static_cast<double>(i));
    if (i % stride == 0) ticker->addTick(static_cast<double>(i), QString::number(view.ranks[i]));
  }
  for (std::size_t part = 0; part < bars_.size(); ++part) {
    QVector<double> values;
    for (std::size_t i = 0; i < view.parts_s[part].size(); ++i) {
      values.push_back(view.parts_s[part][i] / scale.factor);
      heights[i] += values.back();
    }
    bars_[part]->setData(places, values, true);
  }
  // Jobs on CPUs do not wait for launches, and one rank alone does not show its waits for others. The legend is filled
  // anew, because a new entry comes last.
  const auto exposed = static_cast<std::size_t>(metrics::RankPart::exposed);
  const auto listed = [&](std::size_t part) {
    if (part == static_cast<std::size_t>(metrics::RankPart::waiting)) return view.waits_known;
    return part != static_cast<std::size_t>(metrics::RankPart::host) ||
           std::ranges::any_of(view.parts_s[part], [](double value) { return value > 0.0; });
  };
  bars_[exposed]->setName(view.waits_known ? tr("exposed without waiting") : tr("exposed with waiting"));
  for (QCPBars* bars : bars_) bars->removeFromLegend();
  medians_->removeFromLegend();
  for (std::size_t part = 0; part < bars_.size(); ++part)
    if (listed(part)) bars_[part]->addToLegend();
  medians_->addToLegend();
  QVector<double> whole;
  for (std::size_t i = 0; i < view.step_s.size(); ++i) {
    whole.push_back(view.step_s[i] / scale.factor);
    heights[i] = std::max(heights[i], whole.back());
  }
  medians_->setData(places, whole, true);
  const double highest = heights.empty() ? 1.0 : *std::max_element(heights.begin(), heights.end());
  xAxis->setTicker(ticker);
  xAxis->setRange(-0.6, std::max(0.6, static_cast<double>(view.ranks.size()) - 0.4));
  yAxis->setRange(0.0, highest > 0.0 ? 1.05 * highest : 1.0);
  replot(QCustomPlot::rpQueuedReplot);
}

void BarsPlot::colour_in() {
  for (std::size_t i = 0; i < bars_.size(); ++i) {
    bars_[i]->setPen(Qt::NoPen);
    bars_[i]->setBrush(colour(part_colours[i], palette()));
  }
  // The median has its own line, because outlier steps raise the mean.
  QPainterPath line;
  line.moveTo(-12.0, 0.0);
  line.lineTo(12.0, 0.0);
  medians_->setScatterStyle({line, QPen(palette().color(QPalette::Text), 2.0), Qt::NoBrush, 6.0});
  replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace ddpprof::gui
