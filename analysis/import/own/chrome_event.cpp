#include "analysis/import/own/chrome_event.hpp"

#include <simdjson.h>

#include <utility>

#include "analysis/import/json/decimal.hpp"
#include "analysis/import/json/event_parser.hpp"

namespace ddpprof::import {
namespace {

using simdjson::ondemand::json_type;
using simdjson::ondemand::value;

struct NotSound {};

template <class T>
T take(simdjson::simdjson_result<T> result) {
  T taken;
  if (std::move(result).get(taken) != simdjson::SUCCESS) throw NotSound{};
  return taken;
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t'))
    token.remove_suffix(1);
  return token;
}

std::string_view text_of(value v) { return take(v.get_string()); }

std::int64_t number(std::optional<std::int64_t> parsed) {
  if (!parsed) throw NotSound{};
  return *parsed;
}

void read_arguments(value v, ChromeEvent& event) {
  simdjson::ondemand::object object = take(v.get_object());
  event.arguments_json = trimmed(take(object.raw_json()));
  if (object.reset().error() != simdjson::SUCCESS) throw NotSound{};
  for (auto member : object) {
    simdjson::ondemand::field field = take(std::move(member));
    ChromeEvent::Argument argument;
    argument.key = take(field.unescaped_key());
    value held = field.value();
    switch (take(held.type())) {
      case json_type::string:
        argument.quoted = true;
        argument.text = take(held.get_string());
        break;
      case json_type::object:
        argument.json = trimmed(take(take(held.get_object()).raw_json()));
        break;
      case json_type::array:
        argument.json = trimmed(take(take(held.get_array()).raw_json()));
        break;
      default:
        argument.json = trimmed(held.raw_json_token());
        break;
    }
    event.arguments.push_back(argument);
  }
}

}  // namespace

const ChromeEvent::Argument* ChromeEvent::find(std::string_view key) const {
  for (const Argument& argument : arguments)
    if (argument.key == key) return &argument;
  return nullptr;
}

struct ChromeEventParser::State {
  simdjson::ondemand::parser parser;
};

ChromeEventParser::ChromeEventParser() : state_(std::make_unique<State>()) {}
ChromeEventParser::~ChromeEventParser() = default;

bool ChromeEventParser::parse(std::string_view text, ChromeEvent& event) {
  std::vector<ChromeEvent::Argument> memory = std::move(event.arguments);
  event = {};
  memory.clear();
  event.arguments = std::move(memory);
  try {
    const simdjson::padded_string_view padded(text.data(), text.size(), text.size() + event_padding_bytes);
    simdjson::ondemand::document document = take(state_->parser.iterate(padded));
    for (auto member : take(document.get_object())) {
      simdjson::ondemand::field field = take(std::move(member));
      const std::string_view key = take(field.unescaped_key());
      value held = field.value();
      if (key == "ph") {
        const std::string_view phase = text_of(held);
        event.phase = phase.size() == 1 ? phase.front() : '\0';
      } else if (key == "name") {
        event.name = text_of(held);
      } else if (key == "cat") {
        event.category = text_of(held);
      } else if (key == "pid") {
        event.pid = number(whole_number(held.raw_json_token()));
      } else if (key == "tid") {
        event.tid = number(whole_number(held.raw_json_token()));
      } else if (key == "ts") {
        event.start_ns = number(microseconds_to_ns(held.raw_json_token()));
      } else if (key == "dur") {
        event.duration_ns = number(microseconds_to_ns(held.raw_json_token()));
      } else if (key == "id") {
        event.id = trimmed(held.raw_json_token());
      } else if (key == "args") {
        read_arguments(held, event);
      }
    }
    return true;
  } catch (const NotSound&) {
    return false;
  }
}

}  // namespace ddpprof::import
