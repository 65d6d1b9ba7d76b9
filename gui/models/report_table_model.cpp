#include "gui/models/report_table_model.hpp"

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
