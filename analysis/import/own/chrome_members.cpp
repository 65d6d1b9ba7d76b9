#include "analysis/import/own/chrome_members.hpp"

#include <fmt/format.h>

#include "analysis/export/json_depth.hpp"
#include "analysis/import/own/chrome_now.hpp"

namespace ddpprof::import {
namespace {

using export_::Json;

[[noreturn]] void fail(const Place& place, const std::string& what) {
  throw OwnExportError(place.text() + what + what_to_do);
}

}  // namespace

void ChromeMembers::take(std::string_view key, std::string_view json, const Place& place) {
  const bool first = std::exchange(first_, false);
  const std::string_view own = export_::own_key;
  if (key == "baseTimeNanoseconds") {
    const Json base = Json::parse(json, nullptr, false);
    if (!base.is_number_integer()) fail(place, "baseTimeNanoseconds is no whole number");
    base_ns_ = base.get<std::int64_t>();
    return;
  }
  if (!key.starts_with(own)) return;
  if (export_::nests_deeper(json)) fail(place, "member \"" + std::string(key) + "\" nests deeper than an export's");
  const Json value = Json::parse(json, nullptr, false);
  if (!value.is_object()) fail(place, "member \"" + std::string(key) + "\" is no JSON object");
  if (key == own) {
    if (!first) fail(place, "member \"ddpprof\" is not the first one, so members were put into another order");
    return marker(value, place);
  }
  if (!marked_) fail(place, "rows before the member \"ddpprof\"");
  if (key != export_::end_key) return rows(value, place);
  if (!value.contains("rows") || !value.at("rows").is_object()) fail(place, "member \"ddpprof end\" has no rows");
  told_.emplace();
  for (const auto& [table, count] : value.at("rows").items()) {
    if (!count.is_number_integer()) fail(place, "the number of rows of table " + table + " is none");
    told_->emplace(table, count.get<std::int64_t>());
  }
}

void ChromeMembers::marker(const Json& value, const Place& place) {
  const auto number = [&](const char* key) {
    return value.contains(key) && value.at(key).is_number_integer() ? value.at(key).get<std::int64_t>() : -1;
  };
  const std::int64_t format = number("format"), schema = number("schema");
  if (format != export_::chrome_format || schema != store::schema_version)
    throw OwnExportError(fmt::format(
        "{}an export of format {} and schema version {} (expected format {} and schema version {}); export the "
        "database again with this version of ddpprof, or import it with the one that wrote it",
        place.text(), format, schema, export_::chrome_format, store::schema_version));
  marked_ = true;
}

void ChromeMembers::rows(const Json& value, const Place& place) {
  if (value.contains("text")) {
    const auto part = export_::text_of(value.at("text"));
    if (!part || !value.contains("ends") || !value.at("ends").is_boolean()) fail(place, "a part of a text is none");
    if (!text_open_) texts_.emplace_back();
    texts_.back() += *part;
    text_open_ = !value.at("ends").get<bool>();
    return;
  }
  if (!value.contains("table") || !value.at("table").is_string() || !value.contains("columns") ||
      !value.at("columns").is_array() || !value.contains("rows") || !value.at("rows").is_array())
    fail(place, "a member with rows lacks table, columns or rows");
  const std::string table = value.at("table").get<std::string>(), columns = value.at("columns").dump();
  if (!loader_ || loader_->table().name != table || columns_ != columns) {
    std::vector<std::string> names;
    for (const Json& name : value.at("columns")) {
      if (!name.is_string()) fail(place, "the name of a column of table " + table + " is no text");
      names.push_back(name.get<std::string>());
    }
    loader_ = std::make_unique<TableLoader>(database_, table, names, place);
    columns_ = columns;
  }
  std::vector<Cell> cells;
  std::deque<std::string> texts;  // that the cells point to
  for (const Json& row : value.at("rows")) {
    if (!row.is_array()) fail(place, "a row of table " + table + " is no array");
    cells.clear();
    texts.clear();
    for (const Json& cell : row) {
      if (cell.is_null()) {
        cells.emplace_back();
      } else if (cell.is_number_integer() && !(cell.is_number_unsigned() && cell.get<std::uint64_t>() > INT64_MAX)) {
        cells.emplace_back(cell.get<std::int64_t>());
      } else if (const auto real = export_::real_of(cell)) {
        cells.emplace_back(*real);
      } else if (cell.is_array() && cell.empty() && !texts_.empty() && !text_open_) {
        texts.push_back(std::move(texts_.front()));
        texts_.pop_front();
        cells.emplace_back(std::string_view(texts.back()));
      } else if (auto text = export_::text_of(cell)) {
        texts.push_back(std::move(*text));
        cells.emplace_back(std::string_view(texts.back()));
      } else {
        fail(place, "a cell of table " + table +
                        " is no value: " + cell.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 40));
      }
    }
    loader_->insert(cells, place);
    ++loaded_[table];
  }
}

}  // namespace ddpprof::import
