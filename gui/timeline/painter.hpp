// Draws a timeline with QPainter: events under 2 px are folded, labels are elided; marks, flow lines, selection, hits.
//
// The time for a frame depends on pixels and rows, not on the number of events: rows are read at the level that matches
// the zoom. Colours and label texts are made once per palette and font.
#pragma once

#include <QColor>
#include <QFont>
#include <QHash>
#include <QPainter>
#include <QPalette>
#include <QStaticText>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/timeline/tracks.hpp"
#include "gui/plots/colours.hpp"
#include "gui/timeline/geometry.hpp"
#include "gui/timeline/layout.hpp"

namespace ddpprof::gui {

Colour colour_of(timeline::Category);

// True for events in which nothing is done: waiting for input, and calls that wait for a device.
bool is_wait(const timeline::Names&, std::uint32_t name);
// Diagonal lines in the box. As lines, so that SVG pictures have them.
void draw_hatch(QPainter&, const QRect& box, const QColor& line);

// Everything that a picture depends on.
struct Scene {
  const timeline::Timeline* timeline = nullptr;
  const Layout* layout = nullptr;
  Axis axis;
  int width = 0, height = 0;  // of the whole picture, including labels and ruler
  int scroll_y = 0;
  std::optional<timeline::EventRef> focus;
  std::optional<std::pair<double, double>> range;         // ns since the timeline's begin
  const std::vector<bool>* matches = nullptr;             // by name; matching events are outlined
  const std::vector<timeline::EventRef>* hits = nullptr;  // marked in the ruler
  bool flows = true;
  bool has_focus = false;  // keyboard focus
};

class TimelinePainter {
 public:
  // Sizes follow the font, colours follow the palette.
  void set_style(const QPalette&, const QFont&);
  int gutter() const { return gutter_; }  // width of the labels at the left
  int ruler() const { return ruler_; }    // height of the ruler at the top
  int row_height() const { return row_height_; }
  int header_height() const { return header_height_; }

  void paint(QPainter&, const Scene&);
  // Drops cached texts of another timeline.
  void forget_names();

 private:
  struct Run;
  struct Entry;
  void rows(QPainter&, const Scene&);
  void row(QPainter&, const Scene&, const timeline::Row&, int y, int height);
  template <class At, class EventsBefore>
  void walk(QPainter&, const Scene&, const timeline::Row&, std::size_t first, std::size_t count, At at,
            EventsBefore events_before, int y, int height);
  void add(QPainter&, Run&, const Entry&, std::uint64_t events, int y, int height);
  void flush_cell(QPainter&, Run&, int y, int height);
  void flush_run(QPainter&, Run&, int y, int height);
  void name_stretch(QPainter&, const Run&, int y, int height) const;
  void event(QPainter&, const Scene&, std::uint32_t name, double x0, double x1, int y, int height);
  bool instant(QPainter&, const Scene&, const timeline::Row&, std::size_t i, int y, int height);
  void label(QPainter&, const Scene&, std::uint32_t name, double x, double room, int y, int height,
             const QColor& colour);
  void waits(QPainter&, const Scene&) const;  // hatches collectives until their last rank starts
  void range(QPainter&, const Scene&) const;
  void flows(QPainter&, const Scene&) const;
  void flow(QPainter&, const Scene&, const timeline::Group&, bool chosen) const;
  void focus(QPainter&, const Scene&) const;
  void labels(QPainter&, const Scene&) const;
  void time_ruler(QPainter&, const Scene&) const;

  QPalette palette_;
  QFont font_;
  int gutter_ = 180, ruler_ = 30, row_height_ = 16, header_height_ = 22, text_height_ = 14;
  double least_label_px_ = 24.0, ascent_ = 10.0, count_advance_ = 8.0;
  std::array<std::array<QColor, 3>, timeline::category_count>
      fill_;  // three shades; names with the same shade differ by label
  std::array<std::array<QColor, 3>, timeline::category_count> on_fill_;  // text colours on them
  std::array<std::array<QColor, 4>, timeline::category_count> folded_;   // shade by how busy the pixels are
  std::vector<bool> waits_;                                              // by name
  std::vector<float> advance_;                                           // width of a name's whole text; < 0: unknown
  QHash<quint64, QStaticText> texts_;                                    // by name and number of characters
};

}  // namespace ddpprof::gui
