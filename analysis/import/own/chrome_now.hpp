// The event in work: its arguments by name and type, its own times; what is missing is an error that says so.
#pragma once

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/export/chrome_format.hpp"
#include "analysis/import/own/chrome_rows.hpp"

namespace ddpprof::import {

inline constexpr const char* what_to_do =
    "; the file was edited, or written anew by another program: export the database again, or remove the member "
    "\"ddpprof\" to import what viewers show";

struct ChromeRows::Now {
  const ChromeEvent& event;
  const Place& place;
  std::int64_t shard = 0, track = 0;
  const store::ClockAlignment* clock = nullptr;
  std::int64_t aligned_ns = 0;
  export_::Json own;  // `args.ddpprof`; null where there is none
  std::string name;

  [[noreturn]] void fail(const std::string& what) const { throw OwnExportError(place.text() + what + what_to_do); }

  std::optional<std::int64_t> whole(std::string_view key) const {
    const ChromeEvent::Argument* argument = event.find(key);
    if (!argument) return std::nullopt;
    std::int64_t value = 0;
    const std::string_view text = argument->json;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (argument->quoted || error != std::errc() || end != text.data() + text.size())
      fail("argument " + std::string(key) + " is no whole number");
    return value;
  }
  std::int64_t needed(std::string_view key) const {
    const std::optional<std::int64_t> value = whole(key);
    if (!value) fail("the event lacks the argument " + std::string(key) + " (expected a whole number)");
    return *value;
  }

  std::optional<std::string> text(std::string_view key) const {
    const ChromeEvent::Argument* argument = event.find(key);
    if (!argument) return std::nullopt;
    if (argument->quoted) return std::string(argument->text);
    std::optional<std::string> bytes = export_::text_of(export_::Json::parse(argument->json, nullptr, false));
    if (!bytes) fail("argument " + std::string(key) + " is no text");
    return bytes;
  }

  bool has_own(const char* key) const { return own.is_object() && own.contains(key); }
  std::optional<std::int64_t> own_whole(const char* key) const {
    if (!has_own(key) || own.at(key).is_null()) return std::nullopt;
    if (!own.at(key).is_number_integer()) fail(std::string("argument ddpprof.") + key + " is no whole number");
    return own.at(key).get<std::int64_t>();
  }
  std::optional<std::string> own_text(const char* key) const {
    if (!has_own(key) || own.at(key).is_null()) return std::nullopt;
    std::optional<std::string> text = export_::text_of(own.at(key));
    if (!text) fail(std::string("argument ddpprof.") + key + " is no text");
    return text;
  }

  // On the shard's own clock.
  std::int64_t start_ns() const {
    const auto said = own_whole("start_ns");
    return said ? *said : export_::local_guess_ns(*clock, aligned_ns);
  }
  std::int64_t end_ns() const {
    if (!event.duration_ns) fail("the event lacks `dur` (expected microseconds)");
    const auto said = own_whole("end_ns");
    return said ? *said
                : export_::local_guess_ns(*clock,
                                          static_cast<std::int64_t>(static_cast<std::uint64_t>(aligned_ns) +
                                                                    static_cast<std::uint64_t>(*event.duration_ns)));
  }
};

}  // namespace ddpprof::import
