#include "analysis/export/chrome_writer.hpp"

#include <fmt/format.h>

#include <utility>

#include "tracer/store/schema/schema.hpp"

namespace ddpprof::export_ {
namespace {

// Names have many sources (kernels, foreign NVTX ranges). Invalid UTF-8 is replaced.
std::string json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string quoted(std::string_view text) { return json(Json(text)); }

}  // namespace

std::string microseconds(std::int64_t ns) {
  const bool negative = ns < 0;
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", magnitude / 1000, magnitude % 1000);
}

ChromeWriter::ChromeWriter(const std::filesystem::path& file, std::int64_t base_ns) : file_(file), base_ns_(base_ns) {
  file_.write(
      fmt::format("{{\"{}\":{{\"format\":{},\"schema\":{}}},\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":{}",
                  own_key, chrome_format, store::schema_version, base_ns));
}

void ChromeWriter::member(const std::string& key, std::string_view json) {
  file_.write(fmt::format(",\n\"{}\":", key));
  file_.write(json);
}

void ChromeWriter::begin_events() { file_.write(",\n\"traceEvents\":[\n"); }

void ChromeWriter::begin(Track track, std::string_view name, std::string_view category, char phase,
                         std::int64_t at_ns) {
  line_ = first_ ? "" : ",\n";
  first_ = false;
  line_ += fmt::format("{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"name\":{},\"cat\":{}", phase, track.pid,
                       track.tid, microseconds(at_ns - base_ns_), quoted(name), quoted(category));
  odd_name_ = is_text(name) ? Json() : cell(name);
}

void ChromeWriter::end(const Arguments& arguments) {
  if (!odd_name_.is_null()) {
    Arguments extended = arguments;
    extended[own_key]["name"] = std::exchange(odd_name_, Json());
    line_ += ",\"args\":" + json(extended);
  } else if (!arguments.is_null()) {
    line_ += ",\"args\":" + json(arguments);
  }
  file_.write(line_ += "}");
}

void ChromeWriter::metadata(Track track, const char* what, const Arguments& arguments) {
  line_ = first_ ? "" : ",\n";
  first_ = false;
  line_ += fmt::format("{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"{}\"", track.pid, track.tid, what);
  end(arguments);
}

void ChromeWriter::process(std::int64_t pid, const std::string& name, const std::string& labels,
                           std::int64_t sort_index) {
  metadata({pid, 0}, "process_name", {{"name", name}});
  metadata({pid, 0}, "process_labels", {{"labels", labels}});
  metadata({pid, 0}, "process_sort_index", {{"sort_index", sort_index}});
}

void ChromeWriter::track(Track track, const std::string& name, const Arguments& facts) {
  Arguments arguments = {{"name", name}};
  if (!facts.is_null()) arguments.update(facts);
  metadata(track, "thread_name", arguments);
  metadata(track, "thread_sort_index", {{"sort_index", track.tid}});
}

void ChromeWriter::complete(Track track, std::string_view name, std::string_view category, std::int64_t start_ns,
                            std::int64_t end_ns, const Arguments& arguments) {
  begin(track, name, category, 'X', start_ns);
  line_ += ",\"dur\":" + microseconds(end_ns - start_ns);
  end(arguments);
  ++events_;
}

void ChromeWriter::instant(Track track, std::string_view name, std::string_view category, std::int64_t at_ns,
                           const Arguments& arguments) {
  begin(track, name, category, 'i', at_ns);
  line_ += ",\"s\":\"t\"";
  end(arguments);
  ++events_;
}

void ChromeWriter::async(Track track, std::string_view name, std::string_view category, std::int64_t start_ns,
                         std::int64_t end_ns, const Arguments& arguments) {
  const std::string id = fmt::format(",\"id\":\"{:#x}\"", ++async_id_);
  begin(track, name, category, 'b', start_ns);
  line_ += id;
  end(arguments);
  begin(track, name, category, 'e', end_ns);
  line_ += id;
  end(nullptr);
  ++events_;
}

void ChromeWriter::counter(Track track, std::string_view name, std::int64_t at_ns, const Arguments& values) {
  begin(track, name, "counter", 'C', at_ns);
  end(values);
}

void ChromeWriter::flow(Track track, std::string_view name, std::int64_t id, char phase, std::int64_t at_ns) {
  begin(track, name, "flow", phase, at_ns);
  line_ += fmt::format(",\"id\":{}{}", id, phase == 'f' ? ",\"bp\":\"e\"" : "");
  end(nullptr);
}

void ChromeWriter::finish() {
  Json rows = other_rows_;
  for (std::size_t i = 0; i < event_tables.size(); ++i) rows[std::string(event_tables[i])] = rows_[i];
  file_.write(fmt::format("\n],\"{}\":{}}}\n", end_key, json({{"rows", rows}})));
  file_.finish();
}

}  // namespace ddpprof::export_
