// Places a plot's legend in a row above the plot, where it hides no data.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

// Returns the entries of a legend. Its grid has empty places if the last row is not full.
inline std::vector<QCPAbstractLegendItem*> legend_entries(const QCPLegend& legend) {
  std::vector<QCPAbstractLegendItem*> entries;
  for (int i = 0; i < legend.itemCount(); ++i)
    if (QCPAbstractLegendItem* entry = legend.item(i)) entries.push_back(entry);
  return entries;
}

// Sets the number of legend columns to what the plot's width allows, at most `most_columns`, so that no text is cut
// off.
inline void wrap_legend(Plot& plot, int most_columns) {
  QCPLegend& legend = *plot.legend;
  const std::vector<QCPAbstractLegendItem*> entries = legend_entries(legend);
  const auto wanted = [&](int columns) {
    std::vector<int> widths(static_cast<std::size_t>(columns), 0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      int& width = widths[i % widths.size()];
      width = std::max(width, entries[i]->minimumOuterSizeHint().width());
    }
    const QMargins margins = legend.margins();
    return std::accumulate(widths.begin(), widths.end(), margins.left() + margins.right()) +
           (columns - 1) * legend.columnSpacing();
  };
  int columns = std::max(1, std::min(most_columns, static_cast<int>(entries.size())));
  while (columns > 1 && wanted(columns) > plot.viewport().width()) --columns;
  if (entries.empty() || legend.columnCount() == columns) return;
  legend.setWrap(columns);
  legend.setFillOrder(QCPLayoutGrid::foColumnsFirst, true);
}

// Shows at most `most_columns` entries side by side.
inline void place_legend_above(Plot& plot, int most_columns) {
  plot.plotLayout()->insertRow(0);
  plot.plotLayout()->addElement(0, 0, plot.legend);  // also removes it from the axis rectangle
  plot.plotLayout()->setRowStretchFactor(0, 0.001);
  plot.legend->setWrap(most_columns);
  plot.legend->setFillOrder(QCPLayoutGrid::foColumnsFirst);
  plot.legend->setMargins(QMargins(8, 2, 8, 2));
  plot.legend->setVisible(true);
  QObject::connect(&plot, &QCustomPlot::beforeReplot, &plot,
                   [&plot, most_columns] { wrap_legend(plot, most_columns); });
}

}  // namespace ddpprof::gui
