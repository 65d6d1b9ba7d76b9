#include "analysis/export/nsys/nsys_file.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>
#include <sqlite3.h>

#include <string_view>

#include "analysis/export/nsys/nsys_names.hpp"
#include "tracer/store/files/sealed_files.hpp"
#include "tracer/store/kernel_name.hpp"
#include "tracer/store/utf8.hpp"

namespace ddpprof::export_ {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(sqlite3_value* value) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return bytes ? std::string_view(bytes, static_cast<std::size_t>(sqlite3_value_bytes(value))) : std::string_view();
}

void give_text(sqlite3_context* context, const std::string& text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// SQLite is written in C, so exceptions must not pass through it. The only exception here is a lack of memory.
template <class Function>
void guarded(sqlite3_context* context, sqlite3_value* value, Function&& function) {
  if (sqlite3_value_type(value) != SQLITE_TEXT) return sqlite3_result_value(context, value);
  try {
    function(text_of(value));
  } catch (...) {
    sqlite3_result_error_nomem(context);
  }
}

void valid_utf8(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, values[0], [&](std::string_view text) { give_text(context, store::to_valid_utf8(text)); });
}

void kept(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, values[0], [&](std::string_view text) {
    if (store::to_valid_utf8(text) == text) return sqlite3_result_value(context, values[0]);
    sqlite3_result_blob64(context, text.data(), text.size(), SQLITE_TRANSIENT);
  });
}

void demangled(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, values[0],
          [&](std::string_view text) { give_text(context, store::demangled_kernel(std::string(text))); });
}

void base_name(sqlite3_context* context, int, sqlite3_value** values) {
  guarded(context, values[0], [&](std::string_view text) { give_text(context, std::string(kernel_base_name(text))); });
}

void define(SQLite::Database& sql, const char* name, void (*function)(sqlite3_context*, int, sqlite3_value**)) {
  sql.createFunction(name, 1, true, nullptr, function);
}

}  // namespace

NsysFile::NsysFile(const fs::path& path, const fs::path& source) : file_(path) {
  sql_ = std::make_unique<SQLite::Database>(file_.path().string(), SQLite::OPEN_READWRITE, 5000,
                                            store::sealed_files());  // for the source, which is attached
  // The file is not read before it has its final name, and is deleted after an error. So no journal and no
  // synchronisation are needed.
  sql_->exec(
      "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "
      "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384");
  define(*sql_, "valid_utf8", valid_utf8);
  define(*sql_, "kept", kept);
  define(*sql_, "demangled", demangled);
  define(*sql_, "base_name", base_name);
  SQLite::Statement attach(*sql_, "ATTACH ? AS source");
  attach.bind(1, source.string());
  attach.exec();
  sql_->exec("BEGIN");
}

std::int64_t NsysFile::rows(const std::string& insert) { return sql_->exec(insert); }

void NsysFile::finish() {
  sql_->exec("COMMIT");
  sql_.reset();
  file_.finish();
}

}  // namespace ddpprof::export_
