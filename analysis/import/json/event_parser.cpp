#include "analysis/import/json/event_parser.hpp"

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <utility>

#include "analysis/import/json/decimal.hpp"

namespace ddpprof::import {
namespace {

using simdjson::ondemand::json_type;
using simdjson::ondemand::value;

static_assert(event_padding_bytes >= simdjson::SIMDJSON_PADDING);

// Thrown at an error of simdjson that ends the event.
struct NotJson {};

template <class T>
T take(simdjson::simdjson_result<T> result) {
  T taken;
  if (std::move(result).get(taken) != simdjson::SUCCESS) throw NotJson{};
  return taken;
}

class Reader {
 public:
  explicit Reader(Event& event) : event_(event) {}

  EventFlaw read(simdjson::ondemand::object object) {
    for (auto member : object) {
      simdjson::ondemand::field field = take(std::move(member));
      const std::string_view key = take(field.unescaped_key());
      top(key, field.value());
    }
    if (bad_start_) return EventFlaw::bad_time;
    return bad_duration_ ? EventFlaw::bad_duration : flaw_;
  }

 private:
  static std::string_view trimmed(std::string_view token) {
    while (!token.empty() &&
           (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
      token.remove_suffix(1);
    return token;
  }

  // Inlined by force, like top(): otherwise GCC decides by the number of keys, and an import takes a
  // third longer.
  [[gnu::always_inline]] static std::string_view text(value v) {
    if (take(v.type()) == json_type::string) return take(v.get_string());
    return trimmed(v.raw_json_token());
  }

  // Returns the text of a number. Strings that hold a number are accepted, because old exporters quote their ids.
  static std::string_view number(value v) {
    const std::string_view token = trimmed(v.raw_json_token());
    if (token.size() >= 2 && token.front() == '"') return token.substr(1, token.find('"', 1) - 1);
    return token;
  }

  // Returns true if the value is not a time.
  static bool time(value v, std::optional<std::int64_t>& into) {
    into = microseconds_to_ns(number(v));
    return !into;
  }

  [[gnu::always_inline]] void top(std::string_view key, value v) {
    if (key == "ph") {
      const std::string_view phase = text(v);
      event_.phase = phase.size() == 1 ? phase.front() : 0;
    } else if (key == "cat") {
      event_.category = text(v);
    } else if (key == "name") {
      event_.name = text(v);
    } else if (key == "pid") {
      event_.pid = text(v);
    } else if (key == "tid") {
      event_.tid = text(v);
    } else if (key == "ts") {
      bad_start_ = time(v, event_.start_ns);
    } else if (key == "dur") {
      bad_duration_ = time(v, event_.duration_ns);
    } else if (key == "args") {
      if (take(v.type()) != json_type::object) return;
      for (auto member : take(v.get_object())) {
        simdjson::ondemand::field field = take(std::move(member));
        const std::string_view name = take(field.unescaped_key());
        argument(name, field.value());
      }
    }
  }

  void whole(value v, std::optional<std::int64_t>& into) {
    const std::string_view token = number(v);
    into = whole_number(token);
    if (into || token.empty() || token == "null") return;
    // 64-bit addresses and hashes may exceed int64, and texts may stand in place of numbers. Neither is a flaw.
    if (token.front() == '-' || (token.front() >= '0' && token.front() <= '9') || token == "NaN")
      flaw_ = EventFlaw::bad_argument;
  }

  // Reads true, false, 1, 0 or the text of one of them. Other values are ignored.
  void truth(value v, std::optional<bool>& into) {
    const std::string_view token = take(v.type()) == json_type::string ? text(v) : trimmed(v.raw_json_token());
    if (token == "true" || token == "True" || token == "1") into = true;
    if (token == "false" || token == "False" || token == "0") into = false;
  }

  // Reads [x, y, z], or the text of it.
  void volume(value v, std::int64_t& into) {
    if (take(v.type()) != json_type::array) return;
    std::int64_t product = 1;
    for (auto element : take(v.get_array())) {
      const std::optional<std::int64_t> extent = whole_number(trimmed(take(std::move(element)).raw_json_token()));
      if (!extent || *extent < 0 || __builtin_mul_overflow(product, *extent, &product)) {
        flaw_ = EventFlaw::bad_argument;
        return;
      }
    }
    into = product;
  }

  void shapes(value v, std::string_view& into) {
    if (take(v.type()) == json_type::array)
      into = take(take(v.get_array()).raw_json());
    else
      into = text(v);
  }

  void argument(std::string_view key, value v) {
    Event::Arguments& into = event_.arguments;
    if (key.empty()) return;
    switch (key.front()) {
      case 'c':
        if (key == "correlation") whole(v, into.correlation);
        if (key == "cbid") whole(v, into.callback);
        break;
      case 'E':
        if (key == "External id") whole(v, into.external_id);
        break;
      case 'e':
        if (key == "external id") whole(v, into.external_id);
        break;
      case 's':
        if (key == "stream") whole(v, into.stream);
        if (key == "shared memory") whole(v, into.shared_bytes);
        break;
      case 'd':
        if (key == "device") whole(v, into.device);
        if (key == "dtype") into.dtype = text(v);
        break;
      case 'b':
        if (key == "bytes") whole(v, into.bytes);
        if (key == "block") volume(v, into.block);
        break;
      case 'f':
        if (key == "finished") into.unfinished = trimmed(v.raw_json_token()) == "false";
        break;
      case 'g':
        if (key == "grid") volume(v, into.grid);
        break;
      case 'r':
        if (key == "registers per thread") whole(v, into.registers);
        break;
      case 'k':
        if (key == "kernel") into.kernel = text(v);
        break;
      case 'n':
        if (key == "name") into.label = text(v);
        break;
      case 'l':
        if (key == "labels") into.label = text(v);
        break;
      case 'S':
        if (key == "Sequence number") whole(v, into.sequence_number);
        if (key == "Seq") whole(v, into.collective_sequence);
        if (key == "Src Rank") whole(v, into.source_rank);
        break;
      case 'F':
        if (key == "Fwd thread id") whole(v, into.forward_thread);
        break;
      case 'C':
        if (key == "Collective name") into.collective = text(v);
        if (key == "Comms Id") into.communicator = text(v);
        break;
      case 'I':
        if (key == "In msg nelems") whole(v, into.in_elements);
        if (key == "In split size") shapes(v, into.in_splits);
        if (key == "Is asynchronized op") truth(v, into.asynchronous);
        if (key == "Input Dims" || key == "Input dims") shapes(v, into.input_shapes);
        if (key == "Input type") shapes(v, into.input_types);
        break;
      case 'T':
        if (key == "Total Allocated") whole(v, into.total_allocated);
        break;
      case 'D':
        if (key == "Device Id") whole(v, into.device_id);
        if (key == "Device Type") whole(v, into.device_type);
        if (key == "Dst Rank") whole(v, into.target_rank);
        break;
      case 'O':
        if (key == "Out msg nelems") whole(v, into.out_elements);
        if (key == "Out split size") shapes(v, into.out_splits);
        break;
      case 'G':
        if (key == "Group size") whole(v, into.group_size);
        if (key == "Global rank start") whole(v, into.group_start);
        if (key == "Global rank stride") whole(v, into.group_stride);
        break;
      case 'P':
        if (key == "Process Group Name") into.group = text(v);
        if (key == "Process Group Description") into.group_description = text(v);
        if (key == "Process Group Ranks") shapes(v, into.group_ranks);
        break;
      default:
        break;
    }
  }

  Event& event_;
  EventFlaw flaw_ = EventFlaw::none;
  bool bad_start_ = false, bad_duration_ = false;
};

// Returns the length of the UTF-8 character that begins here (RFC 3629, section 4); 0 if it is invalid.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned lead = byte(0), second = byte(1);
  if (lead < 0x80) return 1;
  const std::size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || beyond ? 0 : length;
}

// Replaces each invalid part of a text in another encoding by U+FFFD.
std::string repaired(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    result += bytes > 0 ? text.substr(0, bytes) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  return result;
}

}  // namespace

std::string_view to_string(EventFlaw flaw) {
  switch (flaw) {
    case EventFlaw::none:
      return "sound";
    case EventFlaw::not_json:
      return "not JSON";
    case EventFlaw::bad_time:
      return "`ts` is not a number of microseconds";
    case EventFlaw::bad_duration:
      return "`dur` is not a number of microseconds";
    case EventFlaw::bad_argument:
      return "an invalid number in `args`";
  }
  return "unknown";
}

struct EventParser::State {
  simdjson::ondemand::parser parser;
  std::string repaired;  // the event's text with invalid UTF-8 replaced
};

EventParser::EventParser() : state_(std::make_unique<State>()) {}
EventParser::~EventParser() = default;
EventParser::EventParser(EventParser&&) noexcept = default;
EventParser& EventParser::operator=(EventParser&&) noexcept = default;

EventFlaw EventParser::parse(std::string_view text, Event& event) {
  event = {};
  try {
    simdjson::padded_string_view padded(text.data(), text.size(), text.size() + event_padding_bytes);
    simdjson::simdjson_result<simdjson::ondemand::document> document = state_->parser.iterate(padded);
    if (document.error() == simdjson::UTF8_ERROR) {
      state_->repaired = repaired(text);
      const std::size_t bytes = state_->repaired.size();
      state_->repaired.append(event_padding_bytes, ' ');
      padded = simdjson::padded_string_view(state_->repaired.data(), bytes, state_->repaired.size());
      document = state_->parser.iterate(padded);
    }
    simdjson::ondemand::document sound = take(std::move(document));
    return Reader(event).read(take(sound.get_object()));
  } catch (const NotJson&) {
    return EventFlaw::not_json;
  }
}

}  // namespace ddpprof::import
