// Reads a CSV file after RFC 4180 record by record, in bounded memory, and keeps what was quoted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "analysis/import/own/error.hpp"

namespace ddpprof::import {

struct CsvField {
  std::string text;     // quotes undone
  bool quoted = false;  // an empty field that was not is no value
};

// Records end with CR LF, or LF where an editor wrote them; a byte order mark at the front is passed over.
class CsvReader {
 public:
  explicit CsvReader(std::filesystem::path file);  // throws OwnExportError where it cannot be opened

  // The next record; none: the end. Throws OwnExportError where the text is no CSV, or ends within a record.
  bool next(std::vector<CsvField>& record);

  Place place() const { return {name_, "line", record_line_}; }  // where the last record begins

 private:
  int get();  // the next byte; -1: the end
  int peek();
  bool fill();
  [[noreturn]] void fail(const std::string& what) const;

  std::string name_;
  std::ifstream stream_;
  std::vector<char> buffer_;
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t line_ = 1, record_line_ = 1;
};

}  // namespace ddpprof::import
