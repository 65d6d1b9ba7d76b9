// The format of the Chrome export: where the JSON holds the parts of a row that viewers do not show.
//
// The file's first member, "ddpprof", marks it. Members "ddpprof 1", "ddpprof 2", … before the events hold the rows of
// all tables whose rows are not events, in parts that fit into a reader's buffer. Each event holds a row in its name,
// times and `args`; `args.ddpprof` holds the values that these cannot represent. The last member, "ddpprof end", has
// the number of rows of each table.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tracer/store/clock.hpp"

namespace ddpprof::export_ {

using Json = nlohmann::ordered_json;

inline constexpr const char* own_key = "ddpprof";  // of the marker, of `args`, and, with a number, of the rows
inline constexpr const char* end_key = "ddpprof end";
inline constexpr int chrome_format = 1;

// Tables whose rows are events, in the order of their counts. All other tables are written as rows before the events.
enum class EventTable : std::uint8_t { step, phase, grad_ready, collective, range, kernel, memcpy, api_call };
inline constexpr std::array<std::string_view, 8> event_tables = {"step",  "phase",  "grad_ready", "collective",
                                                                 "range", "kernel", "memcpy",     "api_call"};

// Numbers of a step that may be missing: arguments of an event, named like the table's columns.
inline constexpr std::array<const char*, 4> step_numbers = {"loss", "learning_rate", "local_gradient_sqr",
                                                            "gradient_sqr"};

// Track numbers (tid) within a process; docs/reference/export.md documents them.
inline constexpr std::int64_t step_track = 1;
inline constexpr std::int64_t gradient_track = 2;
inline constexpr std::int64_t launch_track = 3;
inline constexpr std::int64_t collective_track = 10;    // + lane
inline constexpr std::int64_t replica_track = 1000;     // + replica
inline constexpr std::int64_t loader_track = 50000;     // + thread of the data loader
inline constexpr std::int64_t stream_track = 100000;    // + index of (device, stream)
inline constexpr std::int64_t thread_track = 200000;    // + index of the operating system's thread: raw ranges
inline constexpr std::int64_t cuda_api_track = 300000;  // + index of the thread: CUDA calls
// + one of the three above, + index: slices that would cross others on those tracks
inline constexpr std::int64_t first_crossing = 50000;

// Returns true if JSON can hold these bytes as text: UTF-8 without NUL.
bool is_text(std::string_view bytes);

// Returns a table's value as JSON: null, a number, a text, {"bytes": "ff00"} for bytes that are not text, {"real":
// "inf"} for an infinity.
Json cell(std::string_view text);
Json cell(double number);

// Adds `own`, the values that `arguments` cannot represent, as the member own_key. Does nothing if `own` is null.
inline void add_own(Json& arguments, Json own) {
  if (!own.is_null()) arguments[own_key] = std::move(own);
}

// Converts a range's domain to the category that trace readers expect, and back. The category without a domain is
// "nvtx".
std::string category_of(const std::optional<std::string>& domain);
std::optional<std::string> domain_of(std::string_view category);

// A range's payload: none, a number, or a text (mostly JSON).
using Payload = std::variant<std::monostate, std::int64_t, double, std::string>;
// Returns `args` in the form in which a viewer shows the payload; null for none. JSON that is nested beyond the limit
// of json_depth.hpp is written as plain text.
Json payload_arguments(const Payload&);
// Returns the payload that such `args` (without their member "ddpprof") stand for, unless the member says otherwise.
Payload implied_payload(const Json& arguments);

// Converts rank 0's time to this shard's time with a short computation, which is exact without drift. If the result
// differs from the recorded time, the export also writes the recorded time. The same numbers give the same result on
// every machine.
std::int64_t local_guess_ns(const store::ClockAlignment&, std::int64_t aligned_ns);

}  // namespace ddpprof::export_
