#include "gui/pages/overview/overview_page.hpp"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QScrollArea>
#include <QSignalBlocker>
#include <QStackedWidget>
#include <QTextDocumentFragment>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/models/recent_files.hpp"
#include "gui/pages/overview/start_panel.hpp"
#include "gui/pages/overview/step_bar.hpp"
#include "gui/plots/design.hpp"

namespace ddpprof::gui {
namespace {

constexpr std::size_t tile_count = 4;
constexpr int choice_rests_ms = 250;  // time without another choice after which it is predicted

QString escaped(const std::string& text) { return QString::fromStdString(text).toHtmlEscaped(); }

QString plain_link(const QString& page, const QString& text) {
  return QStringLiteral("<a href=\"%1\">%2</a>").arg(page, text.toHtmlEscaped());
}

QString table_row(const QString& first, const QString& second) {
  return QStringLiteral("<tr><td style=\"padding-right: 16px\" valign=\"top\"><b>%1</b></td><td>%2</td></tr>")
      .arg(first, second);
}

QString table(const QString& rows) {
  return QStringLiteral("<table cellspacing=\"0\" cellpadding=\"1\">%1</table>").arg(rows);
}

}  // namespace

OverviewPage::OverviewPage(Selection& selection, QWidget* parent)
    : Page(selection, parent),
      reading_(this),
      choosing_(this),
      stack_(new QStackedWidget(this)),
      start_(new StartPanel(this)) {
  message_ = new QLabel(this);
  message_->setObjectName("message");
  message_->setWordWrap(true);
  message_->setAlignment(Qt::AlignCenter);
  message_->setMargin(48);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* scroll = new QScrollArea(this);
  content_ = make_content();
  scroll->setWidget(content_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFocusPolicy(Qt::NoFocus);
  stack_->addWidget(start_);
  stack_->addWidget(message_);
  stack_->addWidget(scroll);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  connect(start_, &StartPanel::choose_requested, this, &Page::choose_requested);
  connect(start_, &StartPanel::measure_requested, this,
          [this](bool sample) { sample ? emit example_requested() : emit page_requested("Runs"); });
  connect(start_, &StartPanel::open_requested, this, &Page::open_requested);
  connect(step_, &StepBar::activated, this, [this] { follow("Ranks"); });
  choice_rests_.setSingleShot(true);
  choice_rests_.setInterval(choice_rests_ms);
  connect(&choice_rests_, &QTimer::timeout, this, &OverviewPage::predict_choice);
  connect(&selection, &Selection::choice_changed, this, &OverviewPage::follow_choice);
  show_file(nullptr);
}

QLabel* OverviewPage::make_text(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setWordWrap(true);
  label->setTextFormat(Qt::RichText);
  label->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  label->setTextInteractionFlags(Qt::TextBrowserInteraction);
  // Not Minimum: Qt would take the height of a narrower label as the least one, and the page would scroll.
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  label->setSizePolicy(policy);
  connect(label, &QLabel::linkActivated, this, &OverviewPage::follow);
  return label;
}

QLabel* OverviewPage::make_heading(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  QFont bold = label->font();
  bold.setBold(true);
  label->setFont(bold);
  label->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
  return label;
}

QVBoxLayout* OverviewPage::make_card(QWidget* parent) {
  auto* frame = new QFrame(parent);
  frame->setFrameShape(QFrame::StyledPanel);
  frame->setAutoFillBackground(true);
  frame->setBackgroundRole(QPalette::Base);
  auto* column = new QVBoxLayout(frame);
  column->setContentsMargins(2 * grid_px, grid_px, 2 * grid_px, grid_px);
  column->setSpacing(grid_px / 2);
  return column;
}

QString OverviewPage::figure_link(const QString& page, const std::string& text) const {
  return QStringLiteral("<a href=\"%1\" style=\"color: %2; text-decoration: none\">%3</a>")
      .arg(page, palette().color(QPalette::WindowText).name(), escaped(text));
}

OverviewPage::Tile OverviewPage::make_tile(QWidget* parent) {
  QVBoxLayout* column = make_card(parent);
  QWidget* frame = column->parentWidget();
  Tile tile{frame, new QLabel(frame), make_text(frame), make_text(frame)};
  tile.figure->setFont(sized(tile.figure->font(), figure_px));
  tile.figure->setWordWrap(false);
  column->addWidget(tile.title);
  column->addWidget(tile.figure);
  column->addWidget(tile.detail, 1);
  return tile;
}

QWidget* OverviewPage::make_content() {
  auto* content = new QWidget(this);
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(2 * grid_px, grid_px, 2 * grid_px, grid_px);
  layout->setSpacing(grid_px);
  job_ = new QLabel(content);
  job_->setFont(sized(job_->font(), title_px));
  job_->setWordWrap(true);
  layout->addWidget(job_);
  choice_ = make_text(content);
  choice_->hide();
  layout->addWidget(choice_);
  tiles_row_ = new QWidget(content);
  auto* tiles = new QHBoxLayout(tiles_row_);
  tiles->setContentsMargins(0, 0, 0, 0);
  tiles->setSpacing(grid_px);
  for (std::size_t i = 0; i < tile_count; ++i) {
    tiles_.push_back(make_tile(tiles_row_));
    tiles->addWidget(tiles_.back().frame, 1);
  }
  layout->addWidget(tiles_row_);
  QVBoxLayout* step = make_card(content);
  step_card_ = step->parentWidget();
  step_ = new StepBar(step_card_);
  step->addWidget(make_heading(tr("Where the step goes"), step_card_));
  step->addWidget(step_);
  profiler_note_ = make_text(step_card_);
  step->addWidget(profiler_note_);
  layout->addWidget(step_card_);

  // The last card of each column takes the rest of the height.
  halves_ = new QHBoxLayout;
  halves_->setSpacing(grid_px);
  auto* left = new QVBoxLayout;
  auto* right = new QVBoxLayout;
  const auto card = [&](QVBoxLayout* column, const QString& title, QLabel*& heading, QLabel*& text, int stretch) {
    QVBoxLayout* inside = make_card(content);
    QWidget* frame = inside->parentWidget();
    heading = make_heading(title, frame);
    text = make_text(frame);
    inside->addWidget(heading);
    inside->addWidget(text, 1);
    column->addWidget(frame, stretch);
    return frame;
  };
  changes_card_ = card(left, {}, changes_heading_, changes_, 0);
  sentences_card_ = card(left, tr("At other worker counts"), sentences_heading_, sentences_, 1);
  card(right, tr("Warnings that change the answer most"), warnings_heading_, warnings_, 1);
  QVBoxLayout* rate = make_card(content);
  auto* rate_row = new QHBoxLayout;
  rate_row->addWidget(make_heading(tr("Learning rate"), rate->parentWidget()));
  rate_workers_ = new QComboBox(rate->parentWidget());
  rate_workers_->setAccessibleName(tr("Worker count of the learning rate"));
  rate_workers_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  rate_row->addWidget(rate_workers_);
  rate_row->addStretch(1);
  rate->addLayout(rate_row);
  rate_ = make_text(rate->parentWidget());
  rate->addWidget(rate_);
  right->addWidget(rate->parentWidget());
  halves_->addLayout(left, 1);
  halves_->addLayout(right, 1);
  layout->addLayout(halves_, 1);
  connect(rate_workers_, &QComboBox::currentIndexChanged, this, &OverviewPage::show_rate);
  return content;
}

void OverviewPage::show_message(const QString& text) {
  message_->setText(text);
  stack_->setCurrentWidget(message_);
}

void OverviewPage::show_file(std::shared_ptr<const OpenedFile> file) {
  reading_.cancel();
  choosing_.cancel();
  choice_rests_.stop();
  why_no_choice_.clear();
  of_file_.reset();
  shown_.reset();
  file_ = std::move(file);
  if (!file_) {
    start_->refresh();
    stack_->setCurrentWidget(start_);
    return;
  }
  show_message(tr("Computing the answer…"));
  reading_.start([file = file_](const Cancelled&) { return read_overview(*file); },
                 [this](Overview overview) {
                   of_file_ = shown_ = std::move(overview);
                   show_overview();
                   if (selection().choice()) follow_choice();
                 },
                 [this](const std::string& why) { show_message(QString::fromStdString(why)); });
}

void OverviewPage::show_choice() {
  const auto& choice = selection().choice();
  choice_->setVisible(choice.has_value());
  if (!choice) return;
  const QString page = plain_link("Scaling", tr("Scaling")), text = escaped(choice->text);
  // The numbers stay those of before until the new ones are known.
  if (choice_rests_.isActive() || choosing_.running())
    choice_->setText(tr("Predicting for the choice on the page %1: %2 …").arg(page, text));
  else if (!why_no_choice_.empty())
    choice_->setText(tr("⚠ The choice on the page %1 (%2) cannot be predicted: %3. The predictions below are those of "
                        "the file.")
                         .arg(page, text, escaped(why_no_choice_)));
  else
    choice_->setText(
        tr("Predictions below are for the choice on the page %1: %2. Measured figures do not depend on it.")
            .arg(page, text));
}

void OverviewPage::follow_choice() {
  choosing_.cancel();
  choice_rests_.stop();
  why_no_choice_.clear();
  if (!of_file_) return;
  if (selection().choice()) {
    choice_rests_.start();
    show_choice();
    return;
  }
  shown_ = of_file_;
  show_overview();
  emit notices_changed(shown_->notices);
}

void OverviewPage::predict_choice() {
  const std::optional<PredictionChoice> choice = selection().choice();
  if (!choice || !of_file_) return;
  const auto show = [this](const Overview& overview) {
    const int rate = rate_workers_->currentIndex();
    shown_ = overview;
    show_overview();
    rate_workers_->setCurrentIndex(rate);
    emit notices_changed(shown_->notices);
  };
  choosing_.start([file = file_, asked = *choice](const Cancelled&) { return read_overview(*file, asked); },
                  [this, show](const Overview& chosen) { show(with_choice(*of_file_, chosen)); },
                  [this, show](const std::string& why) {
                    why_no_choice_ = why;
                    show(*of_file_);
                  });
}

void OverviewPage::show_changes() {
  const Overview& all = *shown_;
  const bool step = !all.figures.empty();
  changes_card_->setVisible(step);
  changes_heading_->setText(!step                       ? QString()
                            : all.changes_workers == 0 ? tr("What helps most")
                                                        : tr("What helps most at N = %1").arg(all.changes_workers));
  if (!step) return;
  if (all.changes_workers == 0) {
    changes_->setText(file_->models || !file_->stored_predictions.rows.empty()
                          ? tr("Not known: the effect of a change cannot be predicted here.")
                          : tr("Not known: nothing can be predicted from this file."));
    return;
  }
  QString rows;
  for (const UsefulChange& change : all.changes)
    rows += table_row(figure_link("Scaling", change.change),
                      escaped(change.gain) + (change.certain ? QString() : tr("; a loss is possible")) +
                          (change.needs.empty() ? QString() : tr("; requires %1").arg(escaped(change.needs))));
  const bool try_them = file_->models || file_->sharded;
  const QString link = try_them ? tr("→ Scaling: try them") : tr("→ Scaling: all of them");
  changes_->setText(all.changes.empty() ? tr("No usual change would raise the throughput by 2 % or more.")
                                        : table(rows) + plain_link("Scaling", link));
}

void OverviewPage::show_overview() {
  const Overview& all = *shown_;
  const bool step = !all.figures.empty();
  job_->setText(step ? QString::fromStdString(all.job) : QString::fromStdString(file_->path.filename().string()));
  show_choice();
  tiles_row_->setVisible(step);
  halves_->setStretch(0, step || !all.sentences.empty() ? 1 : 0);
  for (std::size_t i = 0; i < tiles_.size(); ++i) {
    tiles_[i].frame->setVisible(i < all.figures.size());
    if (i >= all.figures.size()) continue;
    const KeyFigure& figure = all.figures[i];
    const QString page = QString::fromStdString(figure.page);
    tiles_[i].title->setText(QString::fromStdString(figure.title));
    tiles_[i].figure->setText(figure_link(page, figure.figure));
    tiles_[i].figure->setToolTip(tr("Open the page %1").arg(page));
    tiles_[i].figure->setAccessibleName(QString::fromStdString(figure.title + ": " + figure.figure));
    tiles_[i].detail->setText(escaped(figure.detail) + QStringLiteral(" ") + plain_link(page, "→ " + page));
  }
  step_card_->setVisible(!all.step.empty());
  step_->show_step(all.step);
  const bool launches = std::ranges::any_of(all.step, [](const auto& one) { return one.part == StepPart::launches; });
  profiler_note_->setVisible(launches && !file_->profiler_note.empty());
  profiler_note_->setText(profiler_note_->isVisibleTo(step_card_) ? escaped(file_->profiler_note) : QString());

  show_changes();
  QString rows;
  for (const auto& [about, text] : all.sentences) rows += table_row(escaped(about), escaped(text));
  sentences_card_->setVisible(!all.sentences.empty());
  sentences_->setText(table(rows) + plain_link("Scaling", tr("→ Scaling")));

  rows.clear();
  if (!step) rows += table_row(tr("no step"), escaped(all.why_no_step));
  for (const auto& [about, text] : all.warnings)
    rows += table_row(QStringLiteral("⚠ ") + escaped(about), escaped(text));
  warnings_heading_->setText(step ? tr("Warnings that change the answer most") : tr("What is missing"));
  const auto noted = all.notices.rows.size();
  warnings_->setText(!rows.isEmpty() ? table(rows) + tr("All, with advice: Details above (F4).")
                     : noted == 0    ? tr("No warning.")
                     : noted == 1    ? tr("One warning, with advice: Details above (F4).")
                                     : tr("%1 warnings, with advice: Details above (F4).").arg(noted));

  {
    const QSignalBlocker quiet(rate_workers_);
    rate_workers_->clear();
    for (const report::Row& row : all.rates.rows) {
      const auto workers = report::value_of<std::int64_t>(all.rates, row, "workers").value_or(0);
      rate_workers_->addItem(tr("N = %1").arg(workers));
    }
    rate_workers_->setCurrentIndex(rate_workers_->count() - 1);
    rate_workers_->setVisible(rate_workers_->count() > 0);
  }
  show_rate();
  stack_->setCurrentIndex(2);
  if (step)
    remember_summary(
        QString::fromStdString((file_->imported_from.empty() ? file_->path : file_->imported_from.front()).string()),
        QString::fromStdString(all.job + ", " + all.figures.front().figure + " per step"));
}

void OverviewPage::show_rate() {
  if (!shown_) return;
  const int row = rate_workers_->currentIndex();
  const std::string text = row >= 0 ? rate_text(shown_->rates, static_cast<std::size_t>(row))
                           : shown_->why_no_rate.empty()
                               ? std::string("Not known: this file has no batch and no base learning rate.")
                               : shown_->why_no_rate;
  rate_->setText(escaped(text) + QStringLiteral(" ") + plain_link("Learning rate", tr("→ Learning rate")));
}

// The texts contain colours.
void OverviewPage::changeEvent(QEvent* event) {
  Page::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && shown_) show_overview();
}

void OverviewPage::follow(const QString& target) { emit page_requested(target); }

QString OverviewPage::text() const {
  QStringList texts;
  for (const QLabel* label : stack_->currentWidget()->findChildren<QLabel*>())
    if (label->isVisibleTo(stack_)) texts << QTextDocumentFragment::fromHtml(label->text()).toPlainText();
  if (stack_->currentWidget() == message_) texts << message_->text();
  return texts.join('\n');
}

}  // namespace ddpprof::gui
