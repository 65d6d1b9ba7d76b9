#include "gui/widgets/lane_view.hpp"

#include <QAccessible>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/plots/focus_frame.hpp"
#include "gui/plots/picture_actions.hpp"
#include "gui/widgets/lane_painter.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

constexpr double zoom_step = 1.25;
constexpr double most_spare = 18.0;  // largest additional height of a row

QString quantity(double value, const char* unit) {
  if (value == 0.0) return QStringLiteral("0 %1").arg(QLatin1String(unit));
  return QString::fromStdString(units::format_quantity(value, unit));
}

}  // namespace

LaneView::LaneView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAutoFillBackground(true);
  setBackgroundRole(QPalette::Base);
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  add_picture_actions(
      *this, [this] { copy_picture(); }, [this] { ask_and_save(); });
}

void LaneView::set_lanes(step::StepLanes lanes, const QString& title, const QString& name) {
  lanes_ = std::move(lanes);
  title_ = title;
  name_ = name;
  message_.clear();
  focus_.reset();
  whole_ = window_ = {0.0, lanes_->step_s};
  setAccessibleName(title);
  setAccessibleDescription(tr("Lanes of a training step. Arrow keys go from segment to segment."));
  updateGeometry();
  update();
}

void LaneView::set_message(const QString& title, const QString& message) {
  lanes_.reset();
  title_ = title;
  message_ = message;
  focus_.reset();
  setAccessibleName(title);
  setAccessibleDescription(message);
  updateGeometry();
  update();
}

void LaneView::set_whole(TimeWindow whole) {
  whole_ = window_ = whole;
  update();
}

void LaneView::set_window(TimeWindow window) {
  if (window_ == window) return;
  window_ = window;
  update();
}

void LaneView::set_label_characters(std::size_t count) {
  label_characters_ = count;
  updateGeometry();
  update();
}

std::size_t LaneView::longest_name() const {
  std::size_t longest = 0;
  if (!lanes_) return longest;
  for (const step::Lane& lane : lanes_->lanes)
    longest = std::max(longest, static_cast<std::size_t>(QString::fromStdString(lane.name).size()));
  return longest;
}

LaneMetrics LaneView::metrics() const {
  const QFontMetricsF font(this->font());
  return {std::ceil(font.height()), font.averageCharWidth() * 1.12, 0.0, label_characters_};
}

LaneLayout LaneView::current_layout() const {
  if (!lanes_) return {};
  LaneMetrics own = metrics();
  LaneLayout layout = lay_out(*lanes_, width(), window_, own);
  if (lanes_->lanes.empty() || layout.height >= height()) return layout;
  // Higher rows are easier to hit, so use the free height.
  const double left = std::floor((height() - layout.height) / static_cast<double>(lanes_->lanes.size()));
  own.spare = std::min(left, most_spare);
  return own.spare > 0.0 ? lay_out(*lanes_, width(), window_, own) : layout;
}

std::optional<PlacedSegment> LaneView::focused() const {
  if (!focus_) return std::nullopt;
  for (const PlacedSegment& placed : current_layout().segments)
    if (placed.lane == focus_->first && placed.segment == focus_->second) return placed;
  return std::nullopt;
}

QString LaneView::describe(std::size_t lane, std::size_t segment) const {
  const step::Lane& on = lanes_->lanes.at(lane);
  const step::Segment& one = on.segments.at(segment);
  QString text = QString::fromStdString(on.name) + ", " + QString::fromStdString(one.name) + ": ";
  if (is_moment(one.kind)) {
    text += tr("%1 at %2")
                .arg(QString::fromUtf8(to_string(one.kind).data(), static_cast<qsizetype>(to_string(one.kind).size())),
                     quantity(one.begin_s, "s"));
  } else {
    text += tr("%1, %2 of the step, from %3 to %4")
                .arg(quantity(one.duration_s(), "s"),
                     QString::number(100.0 * one.duration_s() / lanes_->step_s, 'f', 1) + " %",
                     quantity(one.begin_s, "s"), quantity(one.end_s, "s"));
    const std::string_view kind = to_string(one.kind);
    if (kind != one.name) text += "; " + QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size()));
  }
  if (one.bytes) text += "; " + QString::fromStdString(units::format_bytes(*one.bytes));
  return text;
}

int LaneView::heightForWidth(int width) const {
  if (!lanes_) return static_cast<int>(6.0 * metrics().line);
  return static_cast<int>(std::ceil(lay_out(*lanes_, width, window_, metrics()).height));
}

QSize LaneView::sizeHint() const { return {640, heightForWidth(std::max(320, width()))}; }

QSize LaneView::minimumSizeHint() const { return {280, heightForWidth(std::max(280, width()))}; }

void LaneView::paint(QPainter& painter, bool with_focus) {
  painter.setFont(font());
  if (!lanes_) {
    painter.setPen(palette().color(QPalette::Text));
    QFont bold = font();
    bold.setBold(true);
    const double line = metrics().line;
    painter.setFont(bold);
    painter.drawText(QRectF(6.0, 6.0, width() - 12.0, line), Qt::AlignLeft | Qt::AlignVCenter, title_);
    painter.setFont(font());
    painter.drawText(QRectF(6.0, 12.0 + line, width() - 12.0, height() - line - 12.0),
                     static_cast<int>(Qt::TextWordWrap) | static_cast<int>(Qt::AlignLeft | Qt::AlignTop), message_);
    return;
  }
  const LaneLayout layout = current_layout();
  LanePicture picture{*lanes_, layout, title_, std::nullopt};
  if (with_focus && focus_) {
    const auto found = std::find_if(layout.segments.begin(), layout.segments.end(), [&](const PlacedSegment& placed) {
      return placed.lane == focus_->first && placed.segment == focus_->second;
    });
    if (found != layout.segments.end()) picture.focused = static_cast<std::size_t>(found - layout.segments.begin());
  }
  paint_lanes(painter, picture, palette());
}

void LaneView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paint(painter, hasFocus());
  if (hasFocus()) draw_focus_frame(painter, rect(), palette());
}

void LaneView::focus_segment(std::size_t lane, std::size_t segment) {
  focus_ = {lane, segment};
  const step::Segment& one = lanes_->lanes[lane].segments[segment];
  if (one.begin_s > window_.end_s || one.end_s < window_.begin_s)
    change_window(moved(window_, one.begin_s - window_.begin_s, whole_));
  const QString text = describe(lane, segment);
  setAccessibleDescription(text);
  QAccessibleEvent changed(this, QAccessible::DescriptionChanged);
  QAccessible::updateAccessibility(&changed);
  emit segment_focused(text);
  update();
}

void LaneView::step_segment(int by) {
  const std::size_t lane = focus_ ? focus_->first : 0;
  const std::size_t count = lanes_->lanes[lane].segments.size();
  if (count == 0) return;
  const std::size_t last = count - 1;
  std::size_t next = 0;
  if (focus_ && by > 0) next = std::min(focus_->second + 1, last);
  if (focus_ && by < 0) next = focus_->second == 0 ? 0 : focus_->second - 1;
  focus_segment(lane, next);
}

void LaneView::step_lane(int by) {
  if (!focus_) return step_segment(by);
  const double at_s = lanes_->lanes[focus_->first].segments[focus_->second].begin_s;
  for (auto lane = static_cast<std::ptrdiff_t>(focus_->first) + by;
       lane >= 0 && lane < static_cast<std::ptrdiff_t>(lanes_->lanes.size()); lane += by) {
    const std::vector<step::Segment>& segments = lanes_->lanes[static_cast<std::size_t>(lane)].segments;
    if (segments.empty()) continue;
    const auto nearest = std::min_element(segments.begin(), segments.end(), [&](const auto& a, const auto& b) {
      return std::abs(a.begin_s - at_s) < std::abs(b.begin_s - at_s);
    });
    return focus_segment(static_cast<std::size_t>(lane), static_cast<std::size_t>(nearest - segments.begin()));
  }
}

void LaneView::change_window(TimeWindow window) {
  set_window(window);
  emit window_changed(window_);
}

void LaneView::keyPressEvent(QKeyEvent* event) {
  if (!lanes_ || lanes_->lanes.empty()) return QWidget::keyPressEvent(event);
  const double middle_s = 0.5 * (window_.begin_s + window_.end_s);
  const bool pan = event->modifiers() & Qt::ShiftModifier;
  switch (event->key()) {
    case Qt::Key_Right:
      return pan ? change_window(moved(window_, 0.1 * window_.length_s(), whole_)) : step_segment(1);
    case Qt::Key_Left:
      return pan ? change_window(moved(window_, -0.1 * window_.length_s(), whole_)) : step_segment(-1);
    case Qt::Key_Down:
      return step_lane(1);
    case Qt::Key_Up:
      return step_lane(-1);
    case Qt::Key_Home:
    case Qt::Key_End: {
      const std::size_t lane = focus_ ? focus_->first : 0;
      const std::size_t count = lanes_->lanes[lane].segments.size();
      if (count > 0) focus_segment(lane, event->key() == Qt::Key_Home ? 0 : count - 1);
      return;
    }
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return change_window(zoomed(window_, 1.0 / zoom_step, middle_s, whole_));
    case Qt::Key_Minus:
      return change_window(zoomed(window_, zoom_step, middle_s, whole_));
    case Qt::Key_0:
      return change_window(whole_);
    case Qt::Key_Escape:
      focus_.reset();
      update();
      return;
    default:
      QWidget::keyPressEvent(event);
  }
}

void LaneView::wheelEvent(QWheelEvent* event) {
  // Without Ctrl, the surrounding scroll area gets the wheel.
  if (!lanes_ || !(event->modifiers() & Qt::ControlModifier)) return QWidget::wheelEvent(event);
  const LaneLayout layout = current_layout();
  const double share = (event->position().x() - layout.plot.left()) / std::max(1.0, layout.plot.width());
  const double at_s = window_.begin_s + std::clamp(share, 0.0, 1.0) * window_.length_s();
  change_window(zoomed(window_, std::pow(zoom_step, -event->angleDelta().y() / 120.0), at_s, whole_));
  event->accept();
}

void LaneView::mousePressEvent(QMouseEvent* event) {
  if (lanes_ && event->button() == Qt::LeftButton) {
    const LaneLayout layout = current_layout();
    if (const auto hit = layout.hit(event->position()))
      focus_segment(layout.segments[*hit].lane, layout.segments[*hit].segment);
  }
  QWidget::mousePressEvent(event);
}

void LaneView::contextMenuEvent(QContextMenuEvent* event) {
  if (lanes_) QMenu::exec(actions(), event->globalPos(), nullptr, this);
}

void LaneView::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  const bool by_key = event->reason() == Qt::TabFocusReason || event->reason() == Qt::BacktabFocusReason;
  if (by_key && lanes_ && !focus_ && !lanes_->lanes.empty() && !lanes_->lanes.front().segments.empty())
    focus_segment(0, 0);
}

void LaneView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
    updateGeometry();
    update();
  }
  QWidget::changeEvent(event);
}

bool LaneView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip && lanes_) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const LaneLayout layout = current_layout();
    const auto hit = layout.hit(help->pos());
    if (hit)
      QToolTip::showText(help->globalPos(), describe(layout.segments[*hit].lane, layout.segments[*hit].segment), this,
                         layout.segments[*hit].rect.toRect());
    else
      QToolTip::hideText();
    return true;
  }
  return QWidget::event(event);
}

}  // namespace ddpprof::gui
