// Finds where each event of a trace file begins and ends, in text that arrives in blocks. Does not parse the events.
//
// Two layouts are read: an object with an array `traceEvents` among other members, or a bare array of events. A missing
// quote or bracket costs only the events that it is in: framing continues at the next line, or the next `},{`, that
// begins an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/json/structure.hpp"

namespace ddpprof::import {

struct Frame {
  std::size_t begin = 0, end = 0;  // offset in the text given to scan()
};

struct Damage {
  std::size_t begin = 0;  // offset in the text given to scan()
  std::string what;
};

class Framer {
 public:
  // A longer event is treated as text with a missing quote or bracket.
  static constexpr std::size_t largest_event_bytes = std::size_t{4} << 20;
  // A longer member besides the events is skipped, because it cannot describe the job.
  static constexpr std::size_t largest_member_bytes = std::size_t{1} << 20;

  // Scans the new part of `text`, which begins at the first byte that the last drop() kept. With `last`, unfinished
  // text is damage.
  void scan(const char* text, std::size_t size, bool last);

  // Results of the last scan.
  const std::vector<Frame>& events() const { return events_; }
  const std::vector<Frame>& members() const { return members_; }  // `"key": value`
  const std::vector<Damage>& damages() const { return damages_; }

  // The first byte still needed. The caller may drop the bytes before it and reports this with drop().
  std::size_t needed() const { return needed_; }
  void drop(std::size_t bytes);

  bool saw_events() const { return saw_events_; }  // an array of events was found, also an empty one
  bool complete() const { return place_ == Place::after; }
  std::int64_t long_members() const { return long_members_; }

 private:
  enum class Place : std::uint8_t { before, members, events, after };

  void scan_on(const char* text, std::size_t size, bool last);
  bool unfinished(const char* text, std::size_t size) const;
  void scan_outside(const char* text, std::size_t size);
  void outside_byte(const char* text);
  void behind_byte(const char* text);
  void resume_events();
  void member_byte(const char* text);
  void end_member(const char* text);
  void enter_events();
  void scan_events(const char* text, std::size_t size, bool last);
  void scan_block(const char* block, const char* text);
  void bracket(const char* text, std::size_t at);
  bool fits(const char* text, std::size_t at, bool opens, bool square);
  void pass_gap(const char* text, std::size_t end);
  static std::size_t first_text(const char* text, std::size_t begin, std::size_t end);
  void lose_place(const char* text, std::size_t end, std::string what);
  void find_place(const char* text, std::size_t size);
  void cut_off(std::size_t size);
  void damage(std::size_t begin, std::string what);

  Place place_ = Place::before;
  bool bare_array_ = false, saw_events_ = false;
  std::size_t at_ = 0;      // scanned up to here
  std::size_t needed_ = 0;  // first byte still needed
  int depth_ = 0;           // of brackets inside a member or an event
  StringState string_;

  bool comma_behind_ = false, said_behind_ = false, said_no_member_ = false;
  bool in_member_ = false, value_begun_ = false, key_is_events_ = false, long_member_ = false;
  std::size_t member_begin_ = 0;

  std::size_t event_begin_ = 0;
  std::uint64_t open_kinds_ = 0;  // kinds of the event's open brackets from the outermost, one bit each; 1: square
  std::size_t between_ = 0;       // end of the last event
  bool lost_ = false;             // searching for the next begin of an event
  std::size_t search_from_ = 0;
  int losses_ = 0;  // lost positions since the last sound event

  std::int64_t long_members_ = 0;
  std::vector<Frame> events_, members_;
  std::vector<Damage> damages_;
};

}  // namespace ddpprof::import
