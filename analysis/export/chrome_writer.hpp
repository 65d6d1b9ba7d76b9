// Writes Chrome trace events to a file, one at a time. chrome_export.cpp gives them their meaning.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "analysis/export/chrome_format.hpp"
#include "analysis/export/output_file.hpp"

namespace ddpprof::export_ {

struct Track {
  std::int64_t pid = 0, tid = 0;
};

class ChromeWriter {
 public:
  using Arguments = Json;

  // Times are written relative to `base_ns`.
  ChromeWriter(const std::filesystem::path& file, std::int64_t base_ns);

  void member(const std::string& key, std::string_view json);  // a member besides the events, written before them
  void begin_events();

  void process(std::int64_t pid, const std::string& name, const std::string& labels, std::int64_t sort_index);
  // `facts`: further arguments, the numbers in the name.
  void track(Track, const std::string& name, const Arguments& facts = nullptr);

  void complete(Track, std::string_view name, std::string_view category, std::int64_t start_ns, std::int64_t end_ns,
                const Arguments& = nullptr);
  void instant(Track, std::string_view name, std::string_view category, std::int64_t at_ns, const Arguments& = nullptr);
  // An interval that may overlap other intervals of its track.
  void async(Track, std::string_view name, std::string_view category, std::int64_t start_ns, std::int64_t end_ns,
             const Arguments& = nullptr);
  // Writes the values of a process's counter from `at_ns` on. Not counted in events().
  void counter(Track, std::string_view name, std::int64_t at_ns, const Arguments& values);
  // Writes one point of an arrow: phase 's' starts it, 't' continues it, 'f' ends it. The point binds to the slice that
  // starts at `at_ns`.
  void flow(Track, std::string_view name, std::int64_t id, char phase, std::int64_t at_ns);

  // Counts the event written last as a row of this table.
  void count(EventTable table) { ++rows_[static_cast<std::size_t>(table)]; }
  // Counts rows of a table written before the events.
  void count(std::string_view table, std::int64_t rows) { other_rows_[std::string(table)] = rows; }

  std::int64_t events() const { return events_; }
  void finish();

 private:
  void begin(Track, std::string_view name, std::string_view category, char phase, std::int64_t at_ns);
  void end(const Arguments&);
  void metadata(Track, const char* what, const Arguments& arguments);

  OutputFile file_;
  std::int64_t base_ns_;
  std::int64_t events_ = 0;
  std::array<std::int64_t, event_tables.size()> rows_{};
  Json other_rows_ = Json::object();
  std::int64_t async_id_ = 0;
  bool first_ = true;
  std::string line_;
  Json odd_name_;  // name of the current event, if JSON cannot hold it
};

std::string microseconds(std::int64_t ns);  // "12.345": exact, the three decimals are ns

}  // namespace ddpprof::export_
