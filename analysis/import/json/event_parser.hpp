// Reads the text of one event with simdjson.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "analysis/import/json/event.hpp"

namespace ddpprof::import {

// Readable bytes that must follow an event's text (simdjson's padding).
inline constexpr std::size_t event_padding_bytes = 64;

enum class EventFlaw : std::uint8_t {
  none,
  not_json,
  bad_time,      // `ts` is no number, or not one that int64 nanoseconds hold
  bad_duration,  // `dur`
  bad_argument,  // a number in `args` that is none; the event is left out
};
std::string_view to_string(EventFlaw);

class EventParser {
 public:
  EventParser();
  ~EventParser();
  EventParser(EventParser&&) noexcept;
  EventParser& operator=(EventParser&&) noexcept;

  // `text` is the event from { to }, followed by event_padding_bytes readable ones, the first of them 0. Of keys that
  // stand twice the last counts. What is no UTF-8 reads as U+FFFD.
  EventFlaw parse(std::string_view text, Event& event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddpprof::import
