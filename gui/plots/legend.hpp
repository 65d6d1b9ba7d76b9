// A plot's legend in a row of its own, where it hides no data.
#pragma once

#include "gui/plots/plot.hpp"

namespace ddpprof::gui {

// `columns` entries side by side.
inline void place_legend_above(Plot& plot, int columns) {
  plot.plotLayout()->insertRow(0);
  plot.plotLayout()->addElement(0, 0, plot.legend);  // takes it out of the axis rectangle
  plot.plotLayout()->setRowStretchFactor(0, 0.001);
  plot.legend->setWrap(columns);
  plot.legend->setFillOrder(QCPLayoutGrid::foColumnsFirst);
  plot.legend->setMargins(QMargins(8, 2, 8, 2));
  plot.legend->setVisible(true);
}

}  // namespace ddpprof::gui
