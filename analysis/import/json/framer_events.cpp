// The part of Framer that scans events, 64 bytes at a time, and continues after damage.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "analysis/import/json/framer.hpp"

namespace ddpprof::import {
namespace {

constexpr std::size_t block_bytes = 64;

}  // namespace

void Framer::enter_events() {
  if (saw_events_) damage(at_, "a second traceEvents");  // also read: two traces may have been joined
  place_ = Place::events;
  saw_events_ = true;
  depth_ = 0;
  string_ = {};
  between_ = at_;
  lost_ = false;
}

void Framer::scan_events(const char* text, std::size_t size, bool last) {
  if (lost_) {
    find_place(text, size);
    if (lost_) return;
  }
  while (place_ == Place::events && !lost_ && at_ + block_bytes <= size) scan_block(text + at_, text);
  if (place_ == Place::events && !lost_ && last && at_ < size) {
    char rest[block_bytes];
    std::memset(rest, ' ', block_bytes);
    std::memcpy(rest, text + at_, size - at_);
    scan_block(rest, text);
    at_ = std::min(at_, size);
  }
  if (place_ != Place::events || lost_ || at_ - (depth_ > 0 ? event_begin_ : between_) <= largest_event_bytes) return;
  if (depth_ > 0)
    lose_place(text, size, "an event without an end");
  else if (string_.inside)
    lose_place(text, at_, "text between two events");
  else
    pass_gap(text, at_);
}

void Framer::scan_block(const char* block, const char* text) {
  const std::size_t begin = at_;
  BlockStructure structure = structure_of(block, string_);
  const bool broken = structure.line_breaks != 0;
  if (broken) structure.brackets &= (structure.line_breaks & (~structure.line_breaks + 1)) - 1;
  for (; structure.brackets != 0; structure.brackets &= structure.brackets - 1) {
    bracket(text, begin + static_cast<std::size_t>(std::countr_zero(structure.brackets)));
    if (place_ != Place::events || lost_) return;  // bracket() set where the rest begins
  }
  at_ = begin + block_bytes;
  if (broken)
    lose_place(text, begin + static_cast<std::size_t>(std::countr_zero(structure.line_breaks)),
               "a string without its closing quote");
}

void Framer::bracket(const char* text, std::size_t at) {
  const bool opens = text[at] == '{' || text[at] == '[', square = (text[at] & 0x20) == 0;
  if (depth_ == 1 && text[at] == '{' && text[event_begin_] == '[') {
    // An array of events in place of one event: the bracket before them is one too many.
    damage(event_begin_, "an array where an event is expected");
    depth_ = 0;
    between_ = at;
  }
  if (depth_ == 0) {
    pass_gap(text, at);
    between_ = at + 1;
    if (opens) {
      event_begin_ = at;
      open_kinds_ = square ? 1 : 0;
      depth_ = 1;
    } else if (text[at] == ']') {
      place_ = bare_array_ ? Place::after : Place::members;
      at_ = at + 1;
      in_member_ = false;
    } else {
      damage(at, "an unmatched closing bracket");
    }
    return;
  }
  if (!fits(text, at, opens, square)) {
    lose_place(text, at, "brackets that do not match");
    return;
  }
  depth_ += opens ? 1 : -1;
  if (depth_ > 0) return;
  between_ = at + 1;
  if (at + 1 - event_begin_ > largest_event_bytes) {
    depth_ = 1;
    lose_place(text, at, "an event without an end");
    return;
  }
  losses_ = 0;
  if (text[event_begin_] == '{')
    events_.push_back({event_begin_, at + 1});
  else
    damage(event_begin_, "an array where an event is expected");
}

// Returns true if a bracket may stand at this place. A missing brace shows at the next event, because in an object a
// value is allowed only after a colon. The kinds of the outermost 64 brackets are stored.
bool Framer::fits(const char* text, std::size_t at, bool opens, bool square) {
  const int inner = opens ? depth_ : depth_ - 1;
  if (depth_ > 64) return true;
  const bool in_array = ((open_kinds_ >> (depth_ - 1)) & 1) != 0;
  if (!opens) return in_array == square;
  if (inner < 64) {
    const std::uint64_t bit = std::uint64_t{1} << inner;
    open_kinds_ = square ? open_kinds_ | bit : open_kinds_ & ~bit;
  }
  std::size_t before = at - 1;  // the event's first byte is not white space
  while (is_json_space(text[before])) --before;
  return in_array ? text[before] == ',' || text[before] == '[' : text[before] == ':';
}

void Framer::pass_gap(const char* text, std::size_t end) {
  if (const std::size_t found = first_text(text, between_, end); found < end) damage(found, "text between two events");
  between_ = end;
}

// Returns the first byte between two events that is neither white space nor a comma; otherwise `end`.
std::size_t Framer::first_text(const char* text, std::size_t begin, std::size_t end) {
  while (begin < end && (text[begin] == ',' || is_json_space(text[begin]))) ++begin;
  return begin;
}

void Framer::lose_place(const char* text, std::size_t end, std::string what) {
  const std::size_t begin = depth_ > 0 ? event_begin_ : first_text(text, between_, end);
  damage(begin, std::move(what));
  lost_ = true;
  // If no sound event is found for long, the search takes longer strides, so that its time stays proportional to the
  // text.
  constexpr int patience = 16;
  search_from_ = begin + 1;
  if (++losses_ > patience) search_from_ += std::size_t{1} << std::min(losses_ - patience, 22);
}

void Framer::find_place(const char* text, std::size_t size) {
  for (std::size_t i = search_from_; i < size; ++i) {
    if (text[i] != '{') continue;
    std::size_t before = i;
    while (before > 0 && is_json_space(text[before - 1])) --before;
    if (before == 0 || text[before - 1] != ',') continue;
    --before;
    while (before > 0 && is_json_space(text[before - 1])) --before;
    if (before == 0 || text[before - 1] != '}') continue;
    lost_ = false;
    at_ = between_ = i;
    depth_ = 0;
    string_ = {};
    return;
  }
  search_from_ = at_ = size;
}

}  // namespace ddpprof::import
