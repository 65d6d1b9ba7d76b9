#include "gui/pages/strategies/comparison_view.hpp"

#include <QHeaderView>
#include <QResizeEvent>

namespace ddpprof::gui {
namespace {

// Shares of the width: aspect, DataParallel, this file, DDP, this file, source.
constexpr double shares[] = {0.11, 0.17, 0.22, 0.17, 0.23, 0.1};

}  // namespace

ComparisonView::ComparisonView(QWidget* parent) : TableView(parent) {
  setSortingEnabled(false);  // the rows have a fixed order
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  connect(model(), &QAbstractItemModel::modelReset, this, &ComparisonView::spread, Qt::QueuedConnection);
}

void ComparisonView::resizeEvent(QResizeEvent* event) {
  TableView::resizeEvent(event);
  spread();
}

void ComparisonView::spread() {
  int column = 0;
  for (const double share : shares) {
    if (column >= model()->columnCount()) break;
    setColumnWidth(column++, static_cast<int>(share * viewport()->width()) - 1);
  }
  resizeRowsToContents();
}

}  // namespace ddpprof::gui
