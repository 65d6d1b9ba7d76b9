#include "gui/models/report_table_model.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "analysis/report/render/render.hpp"

namespace ddpprof::gui {
namespace {

QVariant value_of(const report::Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return QString::fromStdString(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) return QVariant::fromValue<qlonglong>(*integer);
  if (const auto* real = std::get_if<double>(&cell)) return *real;
  return {};
}

// Returns 1 if a larger value of this column is better, -1 if a smaller one is, 0 for a column without a direction.
int direction_of(const report::Table& table, const std::string& column) {
  if (column == "speedup") return 1;
  if (column != "ratio") return 0;
  return table.name == "compare_time" ? -1 : table.name == "compare_throughput" ? 1 : 0;
}

// True for a ratio that is shown as 1.00.
bool shown_as_equal(double ratio) { return std::abs(ratio - 1.0) < 0.005; }

// How much better the value is, from -1 to 1. Invalid if its interval includes no change, to the digits that are shown.
QVariant better_of(const report::Table& table, const report::Row& row, std::size_t column) {
  const std::string& name = table.columns[column].name;
  const int direction = direction_of(table, name);
  const auto* value = std::get_if<double>(&row[column]);
  if (direction == 0 || value == nullptr || !(*value > 0.0) || shown_as_equal(*value)) return {};
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name != name + "_low" && table.columns[i].name != name + "_high") continue;
    const auto* end = std::get_if<double>(&row[i]);
    if (end != nullptr && (shown_as_equal(*end) || (*end - 1.0) * (*value - 1.0) <= 0.0)) return {};
  }
  return std::clamp(direction * std::log2(*value), -1.0, 1.0);
}

QString rendered(const report::Table& table, report::Format format) {
  std::ostringstream out;
  report::render(report::Report{table.name, table.title, {table}}, format, out);
  return QString::fromStdString(out.str());
}

}  // namespace

ReportTableModel::ReportTableModel(QObject* parent) : QAbstractTableModel(parent) {}

void ReportTableModel::set_table(report::Table table) {
  beginResetModel();
  table_ = std::move(table);
  shown_ = report::show(table_);
  endResetModel();
}

int ReportTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(table_.rows.size());
}

int ReportTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

QVariant ReportTableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
  const report::ShownColumn& column = shown_[static_cast<std::size_t>(index.column())];
  const auto row = static_cast<std::size_t>(index.row());
  if (role == Qt::DisplayRole || role == Qt::ToolTipRole) return QString::fromStdString(column.cells[row]);
  if (role == value_role) return value_of(table_.rows[row][column.column]);
  if (role == better_role) return better_of(table_, table_.rows[row], column.column);
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue((column.right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

QVariant ReportTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) return {};
  const report::ShownColumn& column = shown_[static_cast<std::size_t>(section)];
  if (role == Qt::DisplayRole) return QString::fromStdString(column.heading());
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue((column.right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

QString as_csv(const report::Table& table) { return rendered(table, report::Format::csv); }

QString as_markdown(const report::Table& table) { return rendered(table, report::Format::markdown); }

}  // namespace ddpprof::gui
