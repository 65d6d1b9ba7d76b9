#include "analysis/export/chrome_writer.hpp"

#include <fmt/format.h>

namespace ddpprof::export_ {
namespace {

// Names come from anywhere (kernels, foreign NVTX ranges): bytes that are no UTF-8 are replaced.
std::string json(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string quoted(std::string_view text) { return json(nlohmann::ordered_json(text)); }

}  // namespace

std::string microseconds(std::int64_t ns) {
  const bool negative = ns < 0;
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return fmt::format("{}{}.{:03}", negative ? "-" : "", magnitude / 1000, magnitude % 1000);
}

ChromeWriter::ChromeWriter(const std::filesystem::path& file, std::int64_t base_ns) : file_(file), base_ns_(base_ns) {
  file_.write(fmt::format("{{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":{},\"traceEvents\":[\n", base_ns));
}

void ChromeWriter::begin(Track track, std::string_view name, std::string_view category, char phase,
                         std::int64_t at_ns) {
  line_ = first_ ? "" : ",\n";
  first_ = false;
  line_ += fmt::format("{{\"ph\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":{},\"name\":{},\"cat\":{}", phase, track.pid,
                       track.tid, microseconds(at_ns - base_ns_), quoted(name), quoted(category));
}

void ChromeWriter::end(const Arguments& arguments) {
  if (!arguments.is_null()) line_ += ",\"args\":" + json(arguments);
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

void ChromeWriter::track(Track track, const std::string& name) {
  metadata(track, "thread_name", {{"name", name}});
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

void ChromeWriter::flow(Track track, std::string_view name, std::int64_t id, char phase, std::int64_t at_ns) {
  begin(track, name, "flow", phase, at_ns);
  line_ += fmt::format(",\"id\":{}{}", id, phase == 'f' ? ",\"bp\":\"e\"" : "");
  end(nullptr);
}

void ChromeWriter::finish() {
  file_.write("\n]}\n");
  file_.finish();
}

}  // namespace ddpprof::export_
