#include "gui/pages/timeline/finder.hpp"

#include <QGuiApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <QToolButton>
#include <algorithm>
#include <utility>

#include "analysis/timeline/search.hpp"

namespace ddpprof::gui {

Finder::Finder(TimelineView& view, QWidget* parent)
    : QWidget(parent),
      view_(view),
      job_(this),
      pause_(new QTimer(this)),
      box_(new QLineEdit(this)),
      state_(new QLabel(this)),
      previous_(new QToolButton(this)),
      next_(new QToolButton(this)) {
  auto* label = new QLabel(tr("Find:"), this);
  label->setBuddy(box_);
  box_->setPlaceholderText(tr("part of a name"));
  box_->setClearButtonEnabled(true);
  box_->setAccessibleName(tr("Find events by part of their name"));
  box_->setToolTip(tr("Enter: next hit, Shift+Enter: previous"));
  previous_->setText(QStringLiteral("◀"));
  previous_->setAccessibleName(tr("Previous hit"));
  previous_->setToolTip(tr("Previous hit (Shift+N or Shift+F3)"));
  next_->setText(QStringLiteral("▶"));
  next_->setAccessibleName(tr("Next hit"));
  next_->setToolTip(tr("Next hit (N or F3)"));
  for (QToolButton* button : {previous_, next_}) button->setFocusPolicy(Qt::StrongFocus);
  state_->setMinimumWidth(state_->fontMetrics().horizontalAdvance(QStringLiteral("00000 of 00000")));
  state_->setAccessibleName(tr("Hits"));
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(label);
  layout->addWidget(box_, 1);
  layout->addWidget(previous_);
  layout->addWidget(next_);
  layout->addWidget(state_);
  pause_->setSingleShot(true);
  pause_->setInterval(120);
  connect(pause_, &QTimer::timeout, this, &Finder::find);
  connect(box_, &QLineEdit::textChanged, pause_, qOverload<>(&QTimer::start));
  connect(box_, &QLineEdit::returnPressed, this,
          [this] { (QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0 ? previous() : next(); });
  connect(previous_, &QToolButton::clicked, this, &Finder::previous);
  connect(next_, &QToolButton::clicked, this, &Finder::next);
  connect(&view_, &TimelineView::focus_changed, this, &Finder::show_state);
  show_state();
}

QString Finder::state() const { return state_->text(); }

void Finder::find_again() {
  if (!box_->text().isEmpty()) find();
  show_state();
}

void Finder::find() {
  pause_->stop();
  const std::shared_ptr<const timeline::Timeline> all = view_.timeline();
  const std::string part = box_->text().trimmed().toStdString();
  if (!all || part.empty()) {
    job_.cancel();
    go_when_found_ = Go::nowhere;
    view_.set_hits({}, {});
    show_state();
    emit found();
    return;
  }
  using Answer = std::pair<std::vector<bool>, std::vector<timeline::EventRef>>;
  job_.start(
      [all, part](const Cancelled& cancelled) {
        auto hits = timeline::search(*all, part, cancelled);
        return Answer(timeline::matching_names(all->names, part),
                      hits ? std::move(*hits) : std::vector<timeline::EventRef>());
      },
      [this, all](Answer answer) {
        if (view_.timeline() != all) return;
        view_.set_hits(std::move(answer.first), std::move(answer.second));
        show_state();
        emit found();
        const Go go = std::exchange(go_when_found_, Go::nowhere);
        if (go == Go::next) next();
        if (go == Go::previous) previous();
      },
      nullptr);
}

// Returns the index of the focused event among the hits.
std::optional<std::size_t> Finder::current() const {
  const auto& hits = view_.hits();
  if (hits.empty() || !view_.focus()) return std::nullopt;
  const timeline::EventRef focus = *view_.focus();
  const std::int64_t start_ns = view_.timeline()->rows[focus.row].start_ns[focus.event];
  for (std::size_t i = timeline::first_hit_from(*view_.timeline(), hits, start_ns); i < hits.size(); ++i) {
    if (hits[i] == focus) return i;
    if (view_.timeline()->rows[hits[i].row].start_ns[hits[i].event] != start_ns) break;
  }
  return std::nullopt;
}

void Finder::go(std::size_t hit) { view_.go_to(view_.hits()[hit]); }

bool Finder::later(Go go) {
  if (!pause_->isActive() && !job_.running()) return false;
  go_when_found_ = go;
  if (pause_->isActive()) find();
  return true;
}

// Goes to the next hit in time after the focused one. If the focus is not on a hit, goes to the first hit at or after
// the focus or, without a focus, after the left edge of the view. After the last hit comes the first.
void Finder::next() {
  if (later(Go::next)) return;
  const auto& hits = view_.hits();
  if (hits.empty()) return;
  if (const auto at = current()) {
    go((*at + 1) % hits.size());
    return;
  }
  const timeline::Timeline& all = *view_.timeline();
  const std::int64_t from_ns = view_.focus() ? all.rows[view_.focus()->row].start_ns[view_.focus()->event]
                                             : all.begin_ns + static_cast<std::int64_t>(view_.axis().left_ns);
  go(timeline::first_hit_from(all, hits, from_ns) % hits.size());
}

void Finder::previous() {
  if (later(Go::previous)) return;
  const auto& hits = view_.hits();
  if (hits.empty()) return;
  if (const auto at = current()) {
    go((*at + hits.size() - 1) % hits.size());
    return;
  }
  const timeline::Timeline& all = *view_.timeline();
  const std::int64_t from_ns = view_.focus() ? all.rows[view_.focus()->row].start_ns[view_.focus()->event]
                                             : all.begin_ns + static_cast<std::int64_t>(view_.axis().left_ns);
  go((timeline::first_hit_from(all, hits, from_ns) + hits.size() - 1) % hits.size());
}

void Finder::show_state() {
  const std::size_t count = view_.hits().size();
  if (box_->text().trimmed().isEmpty())
    state_->clear();
  else if (count == 0)
    state_->setText(job_.running() ? tr("…") : tr("no hit"));
  else if (const auto at = current())
    state_->setText(tr("%1 of %2").arg(*at + 1).arg(count));
  else
    state_->setText(count == 1 ? tr("1 hit") : tr("%1 hits").arg(count));
  previous_->setEnabled(count > 0);
  next_->setEnabled(count > 0);
}

}  // namespace ddpprof::gui
