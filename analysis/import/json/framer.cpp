#include "analysis/import/json/framer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

namespace ddpprof::import {
namespace {

constexpr std::size_t block_bytes = 64;
// White space between two events beyond this is not looked through when the place was lost.
constexpr std::size_t look_back_bytes = 4096;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

void Framer::damage(std::size_t begin, std::string what) { damages_.push_back({begin, std::move(what)}); }

void Framer::scan(const char* text, std::size_t size, bool last) {
  events_.clear();
  members_.clear();
  damages_.clear();
  while (at_ < size && place_ != Place::after) {
    const std::size_t before = at_;
    if (place_ == Place::events)
      scan_events(text, size, last);
    else
      scan_outside(text, size);
    if (at_ == before && place_ == Place::events) break;  // less than a block is left, or the place is lost
  }
  if (place_ == Place::after) {
    at_ = needed_ = size;
  } else if (place_ == Place::events) {
    if (lost_)
      needed_ = search_from_ > look_back_bytes ? search_from_ - look_back_bytes : 0;
    else
      needed_ = std::min(at_, depth_ > 0 ? event_begin_ : between_);
  } else {
    needed_ = in_member_ && !(value_begun_ && key_is_events_) ? std::min(member_begin_, at_) : at_;
  }
  if (last) cut_off(size);
}

void Framer::drop(std::size_t bytes) {
  const auto less = [bytes](std::size_t& position) { position -= std::min(position, bytes); };
  for (std::size_t* position : {&at_, &needed_, &member_begin_, &event_begin_, &between_, &search_from_})
    less(*position);
}

void Framer::cut_off(std::size_t size) {
  if (place_ == Place::after) return;
  if (place_ == Place::before) {
    damage(0, "the file is empty");
  } else if (place_ == Place::events && lost_) {
    return;  // said when the place was lost
  } else if (place_ == Place::events && depth_ > 0) {
    damage(event_begin_, "the file ends inside of an event");
  } else if (place_ == Place::events && bare_array_) {
    return;  // the format allows a bare array without its last bracket
  } else {
    damage(size, place_ == Place::events ? "the file ends inside of traceEvents" : "the file ends before its last }");
  }
}

// ---- beside the events: a byte at a time

void Framer::scan_outside(const char* text, std::size_t size) {
  while (at_ < size && (place_ == Place::before || place_ == Place::members)) outside_byte(text);
}

void Framer::outside_byte(const char* text) {
  const char c = text[at_];
  if (place_ == Place::before) {
    const bool mark = c == '\xEF' || c == '\xBB' || c == '\xBF';  // of UTF-8's byte order
    ++at_;
    if (is_space(c) || mark) return;
    if (c == '[') {
      bare_array_ = true;
      enter_events();
    } else if (c == '{') {
      place_ = Place::members;
    } else {
      damage(at_ - 1, "neither an object nor an array: not JSON");
      place_ = Place::after;
    }
    return;
  }
  if (in_member_) {
    member_byte(text);
    return;
  }
  if (c == '"') {
    in_member_ = true;
    value_begun_ = key_is_events_ = false;
    member_begin_ = at_;
    depth_ = 0;
    string_ = {.inside = true};
  } else if (c == '}') {
    place_ = Place::after;
  } else if (!is_space(c) && c != ',') {
    damage(at_, "not a member of an object");
    place_ = Place::after;
  }
  ++at_;
}

void Framer::member_byte(const char* text) {
  const char c = text[at_];
  if (string_.inside) {
    if (string_.escaped)
      string_.escaped = false;
    else if (c == '\\')
      string_.escaped = true;
    else if (c == '"')
      string_.inside = false;
    ++at_;
    if (!string_.inside && !value_begun_ && depth_ == 0)
      key_is_events_ = std::string_view(text + member_begin_, at_ - member_begin_) == "\"traceEvents\"";
  } else if (!value_begun_) {
    ++at_;
    if (c == ':') value_begun_ = true;
  } else if (key_is_events_ && c == '[' && depth_ == 0) {
    ++at_;
    in_member_ = false;
    enter_events();
    return;
  } else if (depth_ == 0 && (c == ',' || c == '}')) {
    end_member(text);  // the byte is looked at again
    return;
  } else {
    if (c == '"') string_.inside = true;
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') --depth_;
    ++at_;
  }
  if (at_ - member_begin_ > largest_member_bytes) {
    // What was read of it is forgotten; its end is still looked for.
    if (!key_is_events_) ++long_members_;
    key_is_events_ = false;
    member_begin_ = at_;
    if (!value_begun_) value_begun_ = true;
    long_member_ = true;
  }
}

void Framer::end_member(const char*) {
  if (!long_member_) members_.push_back({member_begin_, at_});
  in_member_ = long_member_ = false;
}

// ---- events: 64 bytes at a time

void Framer::enter_events() {
  if (saw_events_) damage(at_, "a second traceEvents");  // read as well: somebody joined two traces
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
  if (place_ == Place::events && !lost_ && depth_ > 0 && at_ - event_begin_ > largest_event_bytes)
    lose_place("an event without an end");
}

void Framer::scan_block(const char* block, const char* text) {
  const std::size_t begin = at_;
  BlockStructure structure = structure_of(block, string_);
  const bool broken = structure.line_breaks != 0;
  if (broken) structure.brackets &= (structure.line_breaks & (~structure.line_breaks + 1)) - 1;
  for (; structure.brackets != 0; structure.brackets &= structure.brackets - 1) {
    bracket(text, begin + static_cast<std::size_t>(std::countr_zero(structure.brackets)));
    if (place_ != Place::events) return;  // bracket() set where the rest begins
  }
  at_ = begin + block_bytes;
  if (broken) lose_place("a string without its closing quote");
}

void Framer::bracket(const char* text, std::size_t at) {
  const bool opens = text[at] == '{' || text[at] == '[';
  if (depth_ == 0) {
    check_between(text, at);
    between_ = at + 1;
    if (opens) {
      event_begin_ = at;
      depth_ = 1;
    } else if (text[at] == ']') {
      place_ = bare_array_ ? Place::after : Place::members;
      at_ = at + 1;
      in_member_ = false;
    } else {
      damage(at, "a closing bracket too many");
    }
    return;
  }
  depth_ += opens ? 1 : -1;
  if (depth_ > 0) return;
  between_ = at + 1;
  if (text[event_begin_] == '{')
    events_.push_back({event_begin_, at + 1});
  else
    damage(event_begin_, "an array where an event is expected");
}

// Between two events stand white space and a comma.
void Framer::check_between(const char* text, std::size_t end) {
  for (std::size_t i = between_; i < end; ++i)
    if (text[i] != ',' && !is_space(text[i])) {
      damage(i, "text between two events");
      return;
    }
}

void Framer::lose_place(std::string what) {
  const std::size_t begin = depth_ > 0 ? event_begin_ : between_;
  damage(begin, std::move(what));
  lost_ = true;
  search_from_ = begin + 1;
}

void Framer::find_place(const char* text, std::size_t size) {
  for (std::size_t i = search_from_; i < size; ++i) {
    if (text[i] != '{') continue;
    std::size_t before = i;
    while (before > 0 && is_space(text[before - 1])) --before;
    if (before == 0 || text[before - 1] != ',') continue;
    --before;
    while (before > 0 && is_space(text[before - 1])) --before;
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
