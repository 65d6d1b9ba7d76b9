#include "analysis/import/json/trace_reader.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "analysis/import/json/event_parser.hpp"
#include "analysis/import/json/framer.hpp"

namespace ddpprof::import {
namespace {

constexpr std::size_t read_bytes = std::size_t{1} << 20;

// Reports `"key": value` to the visitor, with the key as written.
void visit_member(std::string_view text, std::uint64_t offset, TraceVisitor& visitor) {
  std::size_t quote = 1;
  while (quote < text.size() && text[quote] != '"') quote += text[quote] == '\\' ? 2 : 1;
  if (quote >= text.size()) return;
  const std::string_view key = text.substr(1, quote - 1);
  const std::size_t colon = text.find(':', quote);
  if (colon == std::string_view::npos) return;
  std::string_view value = text.substr(colon + 1);
  while (!value.empty() && is_json_space(value.front())) value.remove_prefix(1);
  while (!value.empty() && is_json_space(value.back())) value.remove_suffix(1);
  visitor.member(key, value, offset);
}

}  // namespace

TraceTally read_trace(const ReadBytes& read, TraceVisitor& visitor) {
  TraceTally tally;
  Framer framer;
  EventParser parser;
  Event event;
  std::vector<char> buffer(2 * read_bytes + event_padding_bytes);
  std::size_t held = 0;      // text bytes in the buffer
  std::uint64_t origin = 0;  // offset of the buffer in the text
  for (bool last = false; !last;) {
    if (buffer.size() - event_padding_bytes - held < read_bytes) buffer.resize(2 * buffer.size());
    const std::size_t got = read(std::span(buffer).subspan(held, buffer.size() - event_padding_bytes - held));
    last = got == 0;
    held += got;
    framer.scan(buffer.data(), held, last);
    for (const Frame& member : framer.members())
      visit_member({buffer.data() + member.begin, member.end - member.begin}, origin + member.begin, visitor);
    for (const Frame& frame : framer.events()) {
      // simdjson may read the byte behind a truncated text. The result must not depend on what follows.
      const char behind = std::exchange(buffer[frame.end], '\0');
      const EventFlaw flaw = parser.parse({buffer.data() + frame.begin, frame.end - frame.begin}, event);
      buffer[frame.end] = behind;
      if (flaw == EventFlaw::none) {
        ++tally.events;
        visitor.event(event, origin + frame.begin);
      } else {
        ++tally.damaged;
        visitor.damage(origin + frame.begin, to_string(flaw));
      }
    }
    for (const Damage& damage : framer.damages()) {
      ++tally.damaged;
      visitor.damage(origin + damage.begin, damage.what);
    }
    const std::size_t keep_from = framer.needed();
    std::memmove(buffer.data(), buffer.data() + keep_from, held - keep_from);
    framer.drop(keep_from);
    held -= keep_from;
    origin += keep_from;
  }
  tally.text_bytes = origin + held;
  tally.saw_events = framer.saw_events();
  tally.complete = framer.complete();
  tally.long_members = framer.long_members();
  return tally;
}

}  // namespace ddpprof::import
