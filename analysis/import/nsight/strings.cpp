#include "analysis/import/nsight/strings.hpp"

#include <SQLiteCpp/Exception.h>
#include <SQLiteCpp/Statement.h>

#include <array>

namespace ddpprof::import {

struct Strings::Lookup {
  SQLite::Statement statement;
};

Strings::Strings(NsightFile& file) {
  if (file.is_key("StringIds", "id") && file.has("StringIds", "value"))
    lookup_ = std::make_unique<Lookup>(Lookup{{file.sql(), "SELECT value FROM StringIds WHERE id = ?"}});
  else
    load_all(file);
}

Strings::~Strings() = default;

// Without a key each lookup would read the whole table.
void Strings::load_all(NsightFile& file) {
  static constexpr std::array<std::string_view, 2> columns{"id", "value"};
  Scan scan(file, "StringIds", columns);
  while (scan.next())
    if (const auto id = scan.integer(0); id && !scan.is_null(1)) kept_.emplace(*id, std::string(scan.text(1)));
}

const std::string* Strings::find(std::int64_t id) {
  auto found = kept_.find(id);
  if (found == kept_.end()) {
    if (!lookup_) return nullptr;
    if (kept_.size() >= most_kept) kept_.clear();
    std::optional<std::string> text;
    try {
      SQLite::Statement& statement = lookup_->statement;
      statement.reset();
      statement.bind(1, id);
      if (statement.executeStep() && !statement.getColumn(0).isNull()) text = statement.getColumn(0).getString();
    } catch (const SQLite::Exception&) {
      // A damaged page: the text counts as missing.
    }
    found = kept_.emplace(id, std::move(text)).first;
  }
  return found->second ? &*found->second : nullptr;
}

}  // namespace ddpprof::import
