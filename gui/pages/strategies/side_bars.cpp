#include "gui/pages/strategies/side_bars.hpp"

#include <algorithm>

#include "gui/plots/legend.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

constexpr int most_legend_columns = 5;

}  // namespace

SideBars::SideBars(QWidget* parent) : Plot(parent) {
  place_legend_above(*this, most_legend_columns);
  yAxis->setTickLength(0);
  yAxis->setSubTicks(false);
  yAxis->grid()->setVisible(false);
  connect(this, &Plot::restyled, this, &SideBars::colour_in);
}

void SideBars::set_bars(const QString& quantity, const char* unit, const std::vector<QString>& categories,
                        const std::vector<BarSeries>& series, bool stacked) {
  clearPlottables();
  delete group_;
  group_ = nullptr;
  bars_.clear();
  series_ = series;
  const auto count = categories.size();
  std::vector<double> sums(count, 0.0), largest(1, 0.0);
  for (const BarSeries& one : series_) {
    for (std::size_t i = 0; i < count; ++i) {
      sums[i] += one.values[i];
      largest[0] = std::max(largest[0], stacked ? sums[i] : one.values[i]);
    }
  }
  const units::Scale scale = units::choose_scale(unit, largest);
  factor_ = scale.factor;
  set_axes(QStringLiteral("%1 [%2]").arg(quantity, QString::fromStdString(scale.unit)), QString());

  const auto ticker = QSharedPointer<QCPAxisTickerText>::create();
  QVector<double> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back(static_cast<double>(count - i));
    ticker->addTick(keys.back(), categories[i]);
  }
  yAxis->setTicker(ticker);
  yAxis->setRange(0.4, static_cast<double>(count) + 0.6);
  xAxis->setRange(0.0, largest[0] > 0.0 ? 1.05 * largest[0] / factor_ : 1.0);
  if (!stacked) group_ = new QCPBarsGroup(this);
  const double width = stacked ? 0.62 : 0.7 / static_cast<double>(std::max<std::size_t>(1, series_.size()));
  for (std::size_t s = 0; s < series_.size(); ++s) {
    auto* bars = new QCPBars(yAxis, xAxis);
    bars->setName(series_[s].name);
    bars->setWidth(width);
    bars->setStackingGap(0.0);  // the outlines separate neighbours; an additional gap would hide short parts
    QVector<double> values;
    for (const double value : series_[s].values) values.push_back(value / factor_);
    bars->setData(keys, values);
    if (stacked && s > 0) bars->moveAbove(bars_.back());
    bars_.push_back(bars);
  }
  // The axis and the groups count from the bottom; reverse the order, so that the first series is the upper one.
  if (group_)
    for (auto bars = bars_.rbegin(); bars != bars_.rend(); ++bars) group_->append(*bars);
  colour_in();
  replot(QCustomPlot::rpQueuedReplot);
}

double SideBars::shown(std::size_t series, std::size_t category) const {
  const double key = static_cast<double>(series_.at(series).values.size() - category);
  return bars_.at(series)->data()->findBegin(key, false)->value;
}

void SideBars::colour_in() {
  for (std::size_t s = 0; s < bars_.size(); ++s) {
    bars_[s]->setPen(QPen(palette().color(QPalette::Base), 1.0));
    bars_[s]->setBrush(QBrush(colour(series_[s].colour, palette()), series_[s].style));
  }
}

}  // namespace ddpprof::gui
