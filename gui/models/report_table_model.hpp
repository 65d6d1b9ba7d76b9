// A report's table as a Qt model. The texts are those of `ddpprof report`; sorting uses the values in base units.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "analysis/report/core/display.hpp"
#include "analysis/report/report.hpp"

namespace ddpprof::gui {

class ReportTableModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  static constexpr int value_role = Qt::UserRole;  // the cell's value in its base unit; invalid if it is missing
  // For a speedup, or a ratio of two files: from -1 (half as good) to 1 (twice as good). Invalid for other cells, and
  // if the interval in the same row includes 1.
  static constexpr int better_role = Qt::UserRole + 1;

  explicit ReportTableModel(QObject* parent = nullptr);

  void set_table(report::Table table);
  const report::Table& table() const { return table_; }
  bool is_prose(int column) const { return shown_[static_cast<std::size_t>(column)].prose; }  // sentences

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex&, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation, int role = Qt::DisplayRole) const override;

 private:
  report::Table table_;
  std::vector<report::ShownColumn> shown_;
};

// Returns the table alone, as `ddpprof report --format csv|markdown` writes it.
QString as_csv(const report::Table&);
QString as_markdown(const report::Table&);

}  // namespace ddpprof::gui
