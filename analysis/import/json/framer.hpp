// Finds where each event of a trace file begins and ends, in text that arrives block by block; reads none of them.
//
// Two layouts: an object with an array `traceEvents` among other members, or a bare array of events. A missing quote or
// bracket costs the events it stands in: framing goes on at the next line, or the next `},{`, that begins an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/import/json/structure.hpp"

namespace ddpprof::import {

struct Frame {
  std::size_t begin = 0, end = 0;  // of the text given to scan
};

struct Damage {
  std::size_t begin = 0;  // of the text given to scan
  std::string what;
};

class Framer {
 public:
  // An event longer than this is taken for text with a quote or bracket missing.
  static constexpr std::size_t largest_event_bytes = std::size_t{4} << 20;
  // A member beside the events that is longer is passed over: it is no description of the job.
  static constexpr std::size_t largest_member_bytes = std::size_t{1} << 20;

  // Scans what is new of `text`, which begins at the byte that the last drop() left first; with `last`, what is
  // unfinished is damage.
  void scan(const char* text, std::size_t size, bool last);

  // Found by the last scan.
  const std::vector<Frame>& events() const { return events_; }
  const std::vector<Frame>& members() const { return members_; }  // `"key": value`
  const std::vector<Damage>& damages() const { return damages_; }

  // The first byte still needed; the caller may forget those before it and says so.
  std::size_t needed() const { return needed_; }
  void drop(std::size_t bytes);

  bool saw_events() const { return saw_events_; }  // an array of events, empty or not
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
  std::size_t needed_ = 0;  // of the text
  int depth_ = 0;           // of brackets inside of a member or an event
  StringState string_;

  bool comma_behind_ = false, said_behind_ = false, said_no_member_ = false;
  bool in_member_ = false, value_begun_ = false, key_is_events_ = false, long_member_ = false;
  std::size_t member_begin_ = 0;

  std::size_t event_begin_ = 0;
  std::uint64_t open_kinds_ = 0;  // of the event's open brackets from the outermost, a bit each: 1 a square one
  std::size_t between_ = 0;       // the end of the last event
  bool lost_ = false;             // looking for where an event begins
  std::size_t search_from_ = 0;
  int losses_ = 0;  // of the place, since the last sound event

  std::int64_t long_members_ = 0;
  std::vector<Frame> events_, members_;
  std::vector<Damage> damages_;
};

}  // namespace ddpprof::import
