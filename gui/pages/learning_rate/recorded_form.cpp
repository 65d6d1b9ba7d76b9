#include "gui/pages/learning_rate/recorded_form.hpp"

#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <algorithm>

namespace ddpprof::gui {
namespace {

struct FieldWords {
  const char *name, *label;
};

FieldWords words_of(RateField field) {
  switch (field) {
    case RateField::base:
      return {"given_base", QT_TR_NOOP("Base &rate")};
    case RateField::base_batch:
      return {"given_base_batch", QT_TR_NOOP("Tun&ed at batch [samples]")};
    case RateField::batch:
      return {"given_batch", QT_TR_NOOP("Batch per &worker [samples]")};
    case RateField::accumulation:
      return {"given_accumulation", QT_TR_NOOP("A&ccumulation [micro-batches]")};
    case RateField::samples:
      return {"given_samples", QT_TR_NOOP("Samples &of an epoch")};
    case RateField::epochs:
      return {"given_epochs", QT_TR_NOOP("E&pochs")};
    case RateField::warmup:
      return {"given_warmup", QT_TR_NOOP("War&m-up [epochs]")};
  }
  return {"", ""};
}

}  // namespace

RecordedForm::RecordedForm(QFormLayout& rows, QWidget* parent)
    : QObject(parent),
      rows_(rows),
      problems_(every_rate_field.size()),
      optimizer_(new QComboBox(parent)),
      problem_(new QLabel(parent)) {
  for (std::size_t i = 0; i < every_rate_field.size(); ++i) {
    const FieldWords words = words_of(every_rate_field[i]);
    auto* field = new QLineEdit(parent);
    field->setObjectName(words.name);
    field->setToolTip(tr("Empty: as recorded or assumed, or not known"));
    rows.addRow(tr(words.label), field);
    connect(field, &QLineEdit::textChanged, this, [this, i] { read(i); });
    fields_.push_back(field);
  }
  optimizer_->setObjectName("given_optimizer");
  optimizer_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  optimizer_->addItems({QString(), tr("SGD"), tr("adaptive (Adam)")});
  rows.addRow(tr("Optimi&zer"), optimizer_);
  problem_->setObjectName("given_problem");
  problem_->setWordWrap(true);
  rows.addRow(problem_);
  connect(optimizer_, &QComboBox::currentIndexChanged, this, [this](int index) {
    given_.adaptive = index == 0 ? std::nullopt : std::optional(index == 2);
    emit edited();
  });
}

void RecordedForm::set_visible(bool visible) {
  for (QLineEdit* field : fields_) rows_.setRowVisible(field, visible);
  rows_.setRowVisible(optimizer_, visible);
  rows_.setRowVisible(problem_, visible && !problem_->text().isEmpty());
}

void RecordedForm::show_recorded(const scenario_queries::RateQuestion& recorded) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const QSignalBlocker quiet(fields_[i]);
    fields_[i]->clear();
    fields_[i]->setPlaceholderText(QString::fromStdString(unstated_text(recorded, every_rate_field[i])));
  }
  const QSignalBlocker quiet(optimizer_);
  optimizer_->setItemText(0, QString::fromStdString(unstated_optimizer(recorded)));
  optimizer_->setCurrentIndex(0);
  optimizer_->setMinimumWidth(optimizer_->sizeHint().width());  // its minimumSizeHint() is that of the earlier texts
  given_ = {};
  problems_.assign(fields_.size(), QString());
  show_problem({});
}

void RecordedForm::show_problem(const QString& text) {
  problem_->setText(text);
  rows_.setRowVisible(problem_, !text.isEmpty());
}

void RecordedForm::read(std::size_t index) {
  const std::string text = fields_[index]->text().trimmed().toStdString();
  problems_[index] = QString::fromStdString(read_field(given_, every_rate_field[index], text));
  const auto first = std::ranges::find_if(problems_, [](const QString& one) { return !one.isEmpty(); });
  show_problem(first == problems_.end() ? QString() : *first);
  if (problems_[index].isEmpty()) emit edited();
}

}  // namespace ddpprof::gui
