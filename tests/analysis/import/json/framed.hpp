// Results of the framer for a text that arrives in pieces, with offsets in the whole text; and reading from memory.
#pragma once

#include <algorithm>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/import/json/framer.hpp"
#include "analysis/import/json/trace_reader.hpp"

namespace ddpprof::import {

struct Framed {
  std::vector<std::pair<std::size_t, std::string>> events, members, damages;  // damages with their messages
  bool saw_events = false, complete = false;
  std::int64_t long_members = 0;
  bool operator==(const Framed&) const = default;

  std::vector<std::string> event_texts() const {
    std::vector<std::string> texts;
    for (const auto& [at, text] : events) texts.push_back(text);
    return texts;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Framed& framed) {
  for (const auto& [at, text] : framed.events) out << "event at " << at << ": " << text.substr(0, 80) << '\n';
  for (const auto& [at, text] : framed.members) out << "member at " << at << ": " << text.substr(0, 80) << '\n';
  for (const auto& [at, text] : framed.damages) out << "damage at " << at << ": " << text << '\n';
  return out << "saw_events " << framed.saw_events << " complete " << framed.complete << " long_members "
             << framed.long_members << '\n';
}

// Uses pieces of the given sizes, repeating the list. The end is reported with the last piece or after it.
inline Framed frame(std::string_view text, const std::vector<std::size_t>& sizes, bool end_alone = true) {
  Framed result;
  Framer framer;
  std::string held;
  std::size_t origin = 0, next = 0;
  for (bool last = false; !last;) {
    const std::size_t bytes = std::min(sizes[next++ % sizes.size()], text.size());
    const bool empty = text.empty();
    held.append(text.substr(0, bytes));
    text.remove_prefix(bytes);
    last = end_alone ? empty : text.empty();
    framer.scan(held.data(), held.size(), last);
    const auto in_text = [&](const Frame& frame) {
      return std::pair(origin + frame.begin, held.substr(frame.begin, frame.end - frame.begin));
    };
    for (const Frame& event : framer.events()) result.events.push_back(in_text(event));
    for (const Frame& member : framer.members()) result.members.push_back(in_text(member));
    for (const Damage& damage : framer.damages()) result.damages.emplace_back(origin + damage.begin, damage.what);
    const std::size_t needed = framer.needed();
    framer.drop(needed);
    held.erase(0, needed);
    origin += needed;
  }
  result.saw_events = framer.saw_events();
  result.complete = framer.complete();
  result.long_members = framer.long_members();
  return result;
}

inline Framed frame(std::string_view text) { return frame(text, {std::max<std::size_t>(1, text.size())}); }

// Records the calls of a visitor.
struct Told : TraceVisitor {
  struct Seen {
    std::uint64_t offset = 0;
    std::string name;
    std::optional<std::int64_t> start_ns, duration_ns;
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> events;
  std::vector<std::pair<std::string, std::string>> members;
  std::vector<std::uint64_t> member_offsets;
  std::vector<std::pair<std::uint64_t, std::string>> damages;
  TraceTally tally;

  void event(const Event& event, std::uint64_t offset) override {
    events.push_back({offset, std::string(event.name), event.start_ns, event.duration_ns});
  }
  void member(std::string_view key, std::string_view json, std::uint64_t offset) override {
    members.emplace_back(key, json);
    member_offsets.push_back(offset);
  }
  void damage(std::uint64_t offset, std::string_view what) override { damages.emplace_back(offset, what); }
};

// Returns at most `piece_bytes` at a time.
inline Told read_text(std::string_view text, std::size_t piece_bytes = std::size_t{1} << 20) {
  Told told;
  told.tally = read_trace(
      [&](std::span<char> into) {
        const std::size_t bytes = std::min({into.size(), piece_bytes, text.size()});
        std::copy_n(text.data(), bytes, into.data());
        text.remove_prefix(bytes);
        return bytes;
      },
      told);
  return told;
}

}  // namespace ddpprof::import
