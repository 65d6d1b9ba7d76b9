// A Chrome export of ours back into a database, event by event as the file is read.
#include <fmt/format.h>

#include <cstring>
#include <utility>
#include <vector>

#include "analysis/import/bytes/byte_source.hpp"
#include "analysis/import/bytes/read_ahead.hpp"
#include "analysis/import/json/event_parser.hpp"
#include "analysis/import/json/framer.hpp"
#include "analysis/import/own/chrome_event.hpp"
#include "analysis/import/own/chrome_members.hpp"
#include "analysis/import/own/chrome_now.hpp"
#include "analysis/import/own/chrome_rows.hpp"
#include "analysis/import/own/restore.hpp"

namespace ddpprof::import {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;

constexpr const char* cut_short = "; the file was cut short or is damaged: copy it again, or export the database again";

class Restoration {
 public:
  Restoration(store::Database& database, const std::filesystem::path& file)
      : database_(database), name_(file.string()), members_(database) {}

  Restored run(ByteSource& source) {
    std::vector<char> buffer(2 * block_bytes + event_padding_bytes);
    std::size_t held = 0;      // bytes of the buffer that are text
    std::uint64_t origin = 0;  // of the buffer, in the text
    for (bool last = false; !last;) {
      if (buffer.size() - event_padding_bytes - held < block_bytes) buffer.resize(2 * buffer.size());
      const std::size_t got = source.read(
          std::as_writable_bytes(std::span(buffer).subspan(held, buffer.size() - event_padding_bytes - held)));
      last = got == 0;
      held += got;
      framer_.scan(buffer.data(), held, last);
      take_found(buffer.data(), origin);
      const std::size_t keep_from = framer_.needed();
      std::memmove(buffer.data(), buffer.data() + keep_from, held - keep_from);
      framer_.drop(keep_from);
      held -= keep_from;
      origin += keep_from;
    }
    if (const auto problem = source.problem()) throw OwnExportError(name_ + ": " + *problem + cut_short);
    return finish(Place{name_, "byte", origin + held});
  }

 private:
  // What is damaged ends the import at the first such place, whichever kind it is of.
  void take_found(char* text, std::uint64_t origin) {
    const auto place = [&](std::size_t at) { return Place{name_, "byte", origin + at}; };
    const std::size_t damaged_at = framer_.damages().empty() ? SIZE_MAX : framer_.damages().front().begin;
    if (framer_.long_members() > 0)
      throw OwnExportError(place(0).text() + "a member beside the events is longer than an export writes any" +
                           what_to_do);
    for (const Frame& member : framer_.members())
      if (member.begin < damaged_at) take_member({text + member.begin, member.end - member.begin}, place(member.begin));
    for (const Frame& frame : framer_.events()) {
      if (frame.begin > damaged_at) break;
      const Place where = place(frame.begin);
      if (!rows_) begin_events(where);
      const char behind = std::exchange(text[frame.end], '\0');
      const bool sound = parser_.parse({text + frame.begin, frame.end - frame.begin}, event_);
      text[frame.end] = behind;
      if (!sound)
        throw OwnExportError(where.text() + "an event that is no JSON or has a time that is no number" + what_to_do);
      take_event(where);
    }
    if (damaged_at != SIZE_MAX)
      throw OwnExportError(place(damaged_at).text() + framer_.damages().front().what + cut_short);
  }

  void take_member(std::string_view member, const Place& where) {
    std::size_t quote = member.find('"', 1);
    const std::size_t colon = quote == std::string_view::npos ? quote : member.find(':', quote);
    if (colon == std::string_view::npos) return;
    members_.take(member.substr(1, quote - 1), member.substr(colon + 1), where);
  }

  void begin_events(const Place& where) {
    if (!members_.marked()) throw OwnExportError(where.text() + "events before the member \"ddpprof\"" + what_to_do);
    rows_.emplace(database_, members_.base_ns());
  }

  void take_event(const Place& where) {
    try {
      rows_->take(event_, where);
    } catch (const store::DatabaseError& error) {
      if (!breaks_schema(database_)) throw;
      throw OwnExportError(where.text() + "the event breaks a rule of the schema: " + error.what() + what_to_do);
    }
  }

  Restored finish(const Place& end) {
    if (!framer_.saw_events() || !framer_.complete() || !members_.told())
      throw OwnExportError(end.text() + "the file ends before the member \"" + export_::end_key + "\"" + cut_short);
    std::map<std::string, std::int64_t> loaded = members_.loaded();
    if (rows_) {
      rows_->finish(end);
      for (std::size_t i = 0; i < export_::event_tables.size(); ++i)
        loaded[std::string(export_::event_tables[i])] += rows_->rows()[i];
    }
    for (const auto& [table, rows] : *members_.told())
      if (const std::int64_t found = std::exchange(loaded[table], 0); found != rows)
        throw OwnExportError(fmt::format("{}: {} rows of table {} (expected {}, as member \"{}\" says){}", name_, found,
                                         table, rows, export_::end_key, what_to_do));
    for (const auto& [table, rows] : loaded)
      if (rows != 0)
        throw OwnExportError(fmt::format("{}: rows of table {}, of which member \"{}\" says nothing{}", name_, table,
                                         export_::end_key, what_to_do));
    if (const auto dangling = first_dangling(database_))
      throw OwnExportError(name_ + ": " + dangling->text() + what_to_do);
    Restored restored;
    for (const auto& [table, rows] : *members_.told()) {
      restored.rows += rows;
      if (rows > 0) ++restored.tables;
    }
    return restored;
  }

  store::Database& database_;
  std::string name_;
  Framer framer_;
  ChromeEventParser parser_;
  ChromeEvent event_;
  ChromeMembers members_;
  std::optional<ChromeRows> rows_;
};

}  // namespace

Restored restore_chrome(store::Database& database, const std::filesystem::path& file) {
  ReadAhead source(open_bytes(file));
  store::BulkLoad load(database);
  const Restored restored = Restoration(database, file).run(source);
  load.commit();
  return restored;
}

}  // namespace ddpprof::import
