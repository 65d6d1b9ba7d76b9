// Reads the text of one event with simdjson.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "analysis/import/json/event.hpp"

namespace ddpprof::import {

// This number of readable bytes must follow an event's text (simdjson's padding).
inline constexpr std::size_t event_padding_bytes = 64;

enum class EventFlaw : std::uint8_t {
  none,
  not_json,
  bad_time,      // `ts` is not a number, or exceeds int64 nanoseconds
  bad_duration,  // the same for `dur`
  bad_argument,  // a number in `args` is invalid; the event is left out
};
std::string_view to_string(EventFlaw);

class EventParser {
 public:
  EventParser();
  ~EventParser();
  EventParser(EventParser&&) noexcept;
  EventParser& operator=(EventParser&&) noexcept;

  // Parses one event from { to }. `text` must be followed by event_padding_bytes readable bytes, the first of them 0.
  // The last of duplicate keys counts. Invalid UTF-8 is read as U+FFFD.
  EventFlaw parse(std::string_view text, Event& event);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddpprof::import
