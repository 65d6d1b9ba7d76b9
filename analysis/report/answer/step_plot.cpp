#include "analysis/report/answer/step_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/report/core/display.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {
namespace {

constexpr int plot_rows = 12, axis_width = 11, narrowest_column = 3, widest_column = 10;

std::string plot_of(const std::string& strategy, const std::vector<GlanceStep>& steps, int width) {
  double low_s = steps.front().step_s, high_s = low_s;
  for (const GlanceStep& step : steps) {
    low_s = std::min({low_s, step.step_s, step.low_s > 0.0 ? step.low_s : step.step_s});
    high_s = std::max({high_s, step.step_s, step.high_s});
  }
  const double range = std::max(std::log(high_s / low_s), 1e-9);
  const auto row_of = [&](double value_s) {
    return static_cast<int>(std::lround(std::log(high_s / std::max(value_s, low_s)) / range * (plot_rows - 1)));
  };
  const int count = static_cast<int>(steps.size());
  const int column = std::clamp((width - axis_width - 2) / count, narrowest_column, widest_column);
  std::vector<std::string> rows(plot_rows, std::string(static_cast<std::size_t>(column * count), ' '));
  std::string numbers;
  for (int i = 0; i < count; ++i) {
    const GlanceStep& step = steps[static_cast<std::size_t>(i)];
    const auto at = static_cast<std::size_t>(i * column + column / 2);
    for (int row = row_of(step.high_s); row <= row_of(step.low_s); ++row) rows[static_cast<std::size_t>(row)][at] = '|';
    rows[static_cast<std::size_t>(row_of(step.step_s))][at] = step.measured ? 'o' : 'x';
    numbers += fmt::format("{:^{}}", step.workers, column);
  }
  std::string text = fmt::format("{}: step time over N (o measured, x predicted, | interval)\n", strategy);
  for (int row = 0; row < plot_rows; ++row) {
    std::string label;
    if (row == 0 || row == plot_rows - 1 || row == plot_rows / 2)
      label = units::format_quantity(high_s * std::exp(-range * row / (plot_rows - 1)), "s");
    const std::size_t shown = display_width(label);
    text += std::string(shown < axis_width ? axis_width - shown : 0, ' ') + label + " |" +
            rows[static_cast<std::size_t>(row)];
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  text += std::string(axis_width, ' ') + " +" + std::string(numbers.size(), '-') + '\n';
  text += std::string(axis_width - 1, ' ') + "N  " + numbers;
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

}  // namespace

std::string step_plot(const std::vector<GlanceStep>& steps, int width) {
  std::map<std::string, std::vector<GlanceStep>> by_strategy;
  for (const GlanceStep& step : steps) by_strategy[step.strategy].push_back(step);
  std::string text;
  for (const auto& [strategy, curve] : by_strategy)
    text += (text.empty() ? "" : "\n") + plot_of(strategy, curve, width);
  return text;
}

}  // namespace ddpprof::report
