#include "analysis/import/json/framer.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace ddpprof::import {
namespace {

// After the position was lost, at most this much white space between two events is searched.
constexpr std::size_t look_back_bytes = 4096;

}  // namespace

void Framer::damage(std::size_t begin, std::string what) { damages_.push_back({begin, std::move(what)}); }

void Framer::scan(const char* text, std::size_t size, bool last) {
  events_.clear();
  members_.clear();
  damages_.clear();
  scan_on(text, size, last);
  // An event without an end may contain other events, if one of its quotes or brackets is missing.
  while (last && place_ == Place::events && !lost_ && unfinished(text, size)) {
    lose_place(text, size, depth_ > 0 ? "the file ends inside an event" : "text between two events");
    scan_on(text, size, last);
  }
  if (place_ == Place::after) {
    at_ = needed_ = size;
  } else if (place_ == Place::events) {
    if (lost_)
      needed_ = search_from_ > look_back_bytes ? search_from_ - look_back_bytes : 0;
    else
      needed_ = std::min(at_, depth_ > 0 ? event_begin_ : between_);
  } else {
    needed_ = in_member_ ? std::min(member_begin_, at_) : at_;
  }
  if (last) cut_off(size);
}

void Framer::scan_on(const char* text, std::size_t size, bool last) {
  while (at_ < size || (lost_ && search_from_ < size)) {
    const std::size_t before = at_;
    if (place_ != Place::events) {
      scan_outside(text, size);
      continue;
    }
    scan_events(text, size, last);
    if (at_ == before && place_ == Place::events && !lost_) break;  // less than a block is left
  }
}

bool Framer::unfinished(const char* text, std::size_t size) const {
  return depth_ > 0 || first_text(text, between_, size) < size;
}

void Framer::drop(std::size_t bytes) {
  const auto less = [bytes](std::size_t& position) { position -= std::min(position, bytes); };
  for (std::size_t* position : {&at_, &needed_, &member_begin_, &event_begin_, &between_, &search_from_})
    less(*position);
}

void Framer::cut_off(std::size_t size) {
  if (place_ == Place::after) return;
  if (place_ == Place::before) {
    damage(size, "the file is empty");
  } else if (place_ == Place::events && lost_) {
    return;  // reported when the position was lost
  } else if (place_ == Place::events && bare_array_) {
    return;  // the format allows a bare array without its last bracket
  } else {
    damage(size, place_ == Place::events ? "the file ends inside traceEvents" : "the file ends before its last }");
  }
}

void Framer::scan_outside(const char* text, std::size_t size) {
  while (at_ < size && place_ != Place::events) {
    if (place_ != Place::after) {
      outside_byte(text);
    } else if (said_behind_) {
      at_ = size;
    } else {
      behind_byte(text);
    }
  }
}

void Framer::outside_byte(const char* text) {
  const char c = text[at_];
  if (place_ == Place::before) {
    const bool mark = c == '\xEF' || c == '\xBB' || c == '\xBF';  // UTF-8 byte order mark
    ++at_;
    if (is_json_space(c) || mark) return;
    if (c == '[') {
      bare_array_ = true;
      enter_events();
    } else if (c == '{') {
      place_ = Place::members;
    } else {
      damage(at_ - 1, "neither an object nor an array: not JSON");
      place_ = Place::after;
      said_behind_ = true;
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
    said_no_member_ = false;
    member_begin_ = at_;
    depth_ = 0;
    string_ = {.inside = true};
  } else if (c == '}') {
    place_ = Place::after;
  } else if (c == '{' && saw_events_) {
    resume_events();
    return;
  } else if (!is_json_space(c) && c != ',' && !std::exchange(said_no_member_, true)) {
    damage(at_, "not a member of an object");  // the text is skipped up to the next quote
  }
  ++at_;
}

void Framer::behind_byte(const char* text) {
  const char c = text[at_];
  if (c == '{' && saw_events_ && (bare_array_ || comma_behind_)) {
    resume_events();
    return;
  }
  if (c == ',' && saw_events_) {
    comma_behind_ = true;
  } else if (!is_json_space(c)) {
    damage(at_, "text after the end of the trace, which is not read");
    said_behind_ = true;
  }
  ++at_;
}

// Handles an event after the end of the events: the bracket before it was one too many.
void Framer::resume_events() {
  damage(at_, "an event after the end of the events");
  place_ = Place::events;
  depth_ = 0;
  string_ = {};
  between_ = at_;
  comma_behind_ = false;
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
    end_member(text);  // the byte is processed again
    return;
  } else {
    if (c == '"') string_.inside = true;
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') --depth_;
    ++at_;
  }
  if (at_ - member_begin_ > largest_member_bytes) {
    // The text read so far is dropped; the search for the member's end continues.
    if (!std::exchange(long_member_, true)) ++long_members_;
    key_is_events_ = false;
    member_begin_ = at_;
    value_begun_ = true;
  }
}

void Framer::end_member(const char*) {
  if (!long_member_) members_.push_back({member_begin_, at_});
  in_member_ = long_member_ = false;
}

}  // namespace ddpprof::import
