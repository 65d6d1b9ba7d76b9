// The members of a Chrome export that hold rows of tables: what stands before the events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/export/chrome_format.hpp"
#include "analysis/import/own/table_loader.hpp"

namespace ddpprof::import {

class ChromeMembers {
 public:
  explicit ChromeMembers(store::Database& database) : database_(database) {}

  // `key`: as written; `json`: its value. Members of other names are passed over. Throws OwnExportError.
  void take(std::string_view key, std::string_view json, const Place&);

  bool marked() const { return marked_; }
  std::int64_t base_ns() const { return base_ns_; }
  // How many rows of each table were loaded, and how many the file says it has; none: its end was not reached.
  const std::map<std::string, std::int64_t>& loaded() const { return loaded_; }
  const std::optional<std::map<std::string, std::int64_t>>& told() const { return told_; }

 private:
  void marker(const export_::Json&, const Place&);
  void rows(const export_::Json&, const Place&);

  store::Database& database_;
  bool first_ = true, marked_ = false;
  std::int64_t base_ns_ = 0;
  std::unique_ptr<TableLoader> loader_;
  std::string columns_;            // of the loader, as written
  std::deque<std::string> texts_;  // long ones of the row that follows
  bool text_open_ = false;
  std::map<std::string, std::int64_t> loaded_;
  std::optional<std::map<std::string, std::int64_t>> told_;
};

}  // namespace ddpprof::import
