// The contents of a timeline picture, read from the SVG, which stores text as text.
#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QFile>
#include <QImage>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include "analysis/timeline/levels.hpp"
#include "gui/timeline/timeline_view.hpp"

namespace ddpprof::gui {
namespace {

// One rank, one row of steps.
std::shared_ptr<timeline::Timeline> one_row(const std::vector<std::pair<std::int64_t, std::int64_t>>& events) {
  auto all = std::make_shared<timeline::Timeline>();
  all->title = "ddp N=1";
  timeline::Rank rank;
  rank.tracks = 1;
  all->ranks.push_back(rank);
  all->tracks.push_back({timeline::TrackKind::steps, 0, "steps", 0, 1});
  timeline::Row row;
  const std::uint32_t name = all->names.intern("forward", timeline::Category::compute);
  for (const auto& [start_ns, duration_ns] : events) {
    row.start_ns.push_back(start_ns);
    row.duration_ns.push_back(duration_ns);
    row.name.push_back(name);
    row.argument.push_back(timeline::no_argument);
  }
  all->begin_ns = row.start_ns.front();
  all->end_ns = row.end_ns(row.size() - 1);
  all->rows.push_back(std::move(row));
  return all;
}

// `ranks` ranks with one row of collectives each; `starts[g]` has the starts of group g by rank.
struct Group {
  std::vector<std::int64_t> starts;
  std::int64_t duration_ns;
};
std::shared_ptr<timeline::Timeline> collectives(std::uint32_t ranks, const std::vector<Group>& groups) {
  auto all = std::make_shared<timeline::Timeline>();
  all->title = "ddp";
  all->end_ns = 1;
  const std::uint32_t name = all->names.intern("all_reduce", timeline::Category::collective);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    timeline::Rank rank;
    rank.rank = r;
    rank.first_track = r;
    rank.tracks = 1;
    all->ranks.push_back(rank);
    all->tracks.push_back({timeline::TrackKind::collectives, r, "collectives", r, 1});
    timeline::Row row;
    row.track = r;
    all->rows.push_back(row);
  }
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    timeline::Group group;
    group.first_ns = *std::min_element(groups[g].starts.begin(), groups[g].starts.end());
    for (std::uint32_t r = 0; r < ranks; ++r) {
      timeline::Row& row = all->rows[r];
      timeline::Collective c;
      c.rank = r;
      c.group = g;
      c.row = r;
      c.event = static_cast<std::uint32_t>(row.size());
      c.start_ns = c.launch_ns = groups[g].starts[r];
      c.end_ns = *c.start_ns + groups[g].duration_ns;
      row.start_ns.push_back(*c.start_ns);
      row.duration_ns.push_back(groups[g].duration_ns);
      row.name.push_back(name);
      row.argument.push_back(static_cast<std::uint32_t>(all->collectives.size()));
      group.members.push_back(static_cast<std::uint32_t>(all->collectives.size()));
      group.last_ns = std::max(group.last_ns, *c.end_ns);
      all->end_ns = std::max(all->end_ns, *c.end_ns);
      all->collectives.push_back(c);
    }
    all->longest_group_ns = std::max(all->longest_group_ns, group.last_ns - group.first_ns);
    all->groups.push_back(group);
  }
  return all;
}

class TimelinePicture : public testing::Test {
 protected:
  void show(std::shared_ptr<const timeline::Timeline> all, int height = 300) {
    view_.resize(1000, height);
    view_.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&view_));
    view_.set_timeline(std::move(all));
  }
  QString svg() {
    const QString path = folder_.filePath("picture.svg");
    view_.save_svg(path);
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return QString::fromUtf8(file.readAll());
  }

  QTemporaryDir folder_;
  TimelineView view_;
};

std::vector<std::pair<std::int64_t, std::int64_t>> crowded() {
  std::vector<std::pair<std::int64_t, std::int64_t>> events;
  for (std::int64_t i = 0; i < 40'000; ++i) events.emplace_back(i * 20, 10);  // several hundred in each cell of 2 px
  return events;
}

TEST_F(TimelinePicture, ABlockCountsAllFoldedEventsFromTheEvents) {
  show(one_row(crowded()));
  EXPECT_TRUE(svg().contains(QStringLiteral("%L1 events").arg(40'000)));
}

TEST_F(TimelinePicture, ABlockCountsAllFoldedEventsFromALevel) {
  const auto all = one_row(crowded());
  timeline::make_levels(all->rows[0]);
  ASSERT_FALSE(all->rows[0].levels.empty());
  show(all);
  EXPECT_TRUE(svg().contains(QStringLiteral("%L1 events").arg(40'000)));
  // A level much finer than the picture.
  timeline::Row& row = all->rows[0];
  row.levels.assign(1, {40, {}});
  for (std::uint32_t i = 0; i < row.size(); i += 2)
    row.levels[0].blocks.push_back({row.start_ns[i], row.end_ns(i + 1), 20, i, i});
  EXPECT_TRUE(svg().contains(QStringLiteral("%L1 events").arg(40'000)));
}

TEST_F(TimelinePicture, ALongEventAfterACrowdIsDrawnByItself) {
  // All short events and the begin of the long one share a cell.
  std::vector<std::pair<std::int64_t, std::int64_t>> events;
  for (std::int64_t i = 0; i < 40; ++i) events.emplace_back(i * 2, 1);
  events.emplace_back(80, 1'000'000);
  show(one_row(events));
  const QRect box = view_.rect_of({0, 40});
  const QImage image = view_.viewport()->grab().toImage();
  const QColor there = image.pixelColor(box.center().x(), box.top() + 3);
  EXPECT_NE(there, image.pixelColor(box.center().x(), box.bottom() + 6)) << "the background";
  EXPECT_GT(box.width(), 500);
}

TEST_F(TimelinePicture, TheLastToStartIsMarkedHoweverManyRanksThereAre) {
  Group group{std::vector<std::int64_t>(100, 1000), 5000};
  group.starts[99] = 3000;
  show(collectives(100, {group}));
  view_.set_focus(timeline::EventRef{99, 0});
  EXPECT_TRUE(svg().contains("last to start, +2")) << "of rank 99";
}

TEST_F(TimelinePicture, ALongCollectiveDoesNotHideTheFlowLinesOfOthers) {
  // One event of a millisecond at the begin, then a hundred of 1 µs, of which ten are in view.
  std::vector<Group> groups = {{{0, 10}, 1'000'000}};
  for (std::int64_t i = 0; i < 100; ++i)
    groups.push_back({{1'100'000 + i * 10'000, 1'100'000 + i * 10'000 + 500}, 1000});
  const auto all = collectives(2, groups);
  show(all);
  const auto flows_differ = [&] {
    view_.set_flows(true);
    const QImage with = view_.viewport()->grab().toImage();
    view_.set_flows(false);
    return with != view_.viewport()->grab().toImage();
  };
  EXPECT_FALSE(flows_differ()) << "101 groups are too many to draw";
  view_.show_range(1'600'000, 1'700'000);
  EXPECT_TRUE(flows_differ());
}

TEST_F(TimelinePicture, AFocusedFoldedEventShowsHowManyShareItsPlace) {
  show(one_row(crowded()));
  view_.activateWindow();
  view_.setFocus();
  ASSERT_TRUE(QTest::qWaitFor([&] { return view_.hasFocus(); }, 10'000));
  const QImage before = view_.viewport()->grab().toImage();
  view_.set_focus(timeline::EventRef{0, 20'000});
  EXPECT_NE(view_.viewport()->grab().toImage(), before);
  EXPECT_TRUE(view_.accessibleDescription().contains("folded here")) << view_.accessibleDescription().toStdString();
  view_.show_range(400'000, 400'100);
  view_.set_focus(timeline::EventRef{0, 20'001});
  EXPECT_FALSE(view_.accessibleDescription().contains("folded here"));
}

TEST_F(TimelinePicture, AHitsOutlineLeavesItsNameFree) {
  const auto all = one_row({{0, 1'000'000}});
  show(all);
  const QRect box = view_.rect_of({0, 0});
  const auto letters_from = [&] {  // the first column that contains more than fill, right of a possible outline
    const QImage image = view_.viewport()->grab().toImage();
    const QColor fill = image.pixelColor(box.right() - 20, box.center().y());
    for (int x = box.left() + 3; x < box.left() + 40; ++x)
      for (int y = box.top() + 4; y < box.bottom() - 4; ++y)
        if (image.pixelColor(x, y) != fill) return x - box.left();
    return -1;
  };
  const int plain = letters_from();
  ASSERT_GT(plain, 0) << "the name is drawn";
  view_.set_hits({true}, {{0, 0}});
  EXPECT_EQ(letters_from(), plain + 3);
}

TEST_F(TimelinePicture, TheFocusFrameIsOnlyOnTheScreen) {
  show(one_row(crowded()));
  const auto corner = [&] { return view_.viewport()->grab().toImage().pixelColor(0, view_.viewport()->height() / 2); };
  const auto saved = [&] {
    view_.save_png(folder_.filePath("picture.png"), 1.0);
    return QImage(folder_.filePath("picture.png"));
  };
  view_.clearFocus();
  ASSERT_FALSE(view_.hasFocus());
  const QImage without = saved();
  const QColor mark = view_.palette().color(QPalette::Highlight);
  EXPECT_NE(corner(), mark);
  view_.activateWindow();
  view_.setFocus();
  ASSERT_TRUE(QTest::qWaitFor([&] { return view_.hasFocus(); }, 10'000));
  EXPECT_EQ(corner(), mark);
  EXPECT_EQ(saved(), without);
  view_.set_timeline(nullptr);
  EXPECT_EQ(corner(), mark) << "without a file as well";
}

TEST_F(TimelinePicture, IsCopiedAndSaved) {
  show(one_row(crowded()));
  QSignalSpy says(&view_, &TimelineView::status_message);
  view_.activateWindow();
  view_.setFocus();
  ASSERT_TRUE(QTest::qWaitForWindowActive(&view_));
  QApplication::clipboard()->clear();
  QTest::keyClick(&view_, Qt::Key_C, Qt::ControlModifier);
  EXPECT_EQ(says.size(), 1);
  EXPECT_EQ(QApplication::clipboard()->pixmap().size(), view_.viewport()->size() * 2);
  const QString path = folder_.filePath("picture.png");
  view_.save_png(path);
  EXPECT_EQ(QImage(path).size(), view_.viewport()->size() * 2);
  EXPECT_TRUE(svg().contains("time since first event"));
  for (const QAction* action : view_.actions()) EXPECT_FALSE(action->shortcut().isEmpty()) << "in the context menu";
  EXPECT_EQ(view_.actions().size(), 2);
  const QString nowhere = folder_.filePath("none/picture");
  EXPECT_THROW(view_.save_png(nowhere), std::runtime_error);
  EXPECT_THROW(view_.save_svg(nowhere), std::runtime_error);
}

}  // namespace
}  // namespace ddpprof::gui
