#include "analysis/import/own/csv_reader.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace ddpprof::import {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 18;

}  // namespace

CsvReader::CsvReader(std::filesystem::path file)
    : name_(file.string()), stream_(file, std::ios::binary), buffer_(buffer_bytes) {
  if (!stream_)
    throw OwnExportError(name_ + ": cannot be opened: " + std::strerror(errno) + " (expected a table of a CSV export)");
  constexpr char mark[] = "\xEF\xBB\xBF";
  if (fill() && filled_ >= 3 && std::memcmp(buffer_.data(), mark, 3) == 0) at_ = 3;
}

bool CsvReader::fill() {
  if (at_ < filled_) return true;
  stream_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  at_ = 0;
  filled_ = static_cast<std::size_t>(stream_.gcount());
  if (stream_.bad()) throw OwnExportError(name_ + ": cannot be read: " + std::strerror(errno));
  return filled_ > 0;
}

int CsvReader::get() { return fill() ? static_cast<unsigned char>(buffer_[at_++]) : -1; }
int CsvReader::peek() { return fill() ? static_cast<unsigned char>(buffer_[at_]) : -1; }

void CsvReader::fail(const std::string& what) const { throw OwnExportError(Place{name_, "line", line_}.text() + what); }

bool CsvReader::next(std::vector<CsvField>& record) {
  record_line_ = line_;
  if (peek() < 0) return false;
  // Fields are used again, so that their memory is.
  std::size_t count = 0;
  const auto begin_field = [&]() -> CsvField& {
    if (count == record.size()) record.emplace_back();
    CsvField& field = record[count++];
    field.text.clear();
    field.quoted = false;
    return field;
  };
  for (CsvField* field = &begin_field();;) {
    int c = get();
    if (c == '"' && field->text.empty() && !field->quoted) {
      field->quoted = true;
      for (c = get();; c = get()) {
        if (c < 0)
          fail("the file ends within quotes that were opened in the record of line " + std::to_string(record_line_) +
               "; it was cut short or edited: export the database again");
        if (c == '\n') ++line_;
        if (c == '"') {
          if (peek() != '"') break;
          get();
        }
        field->text += static_cast<char>(c);
      }
      c = get();
      if (c >= 0 && c != ',' && c != '\n' && !(c == '\r' && peek() == '\n'))
        fail("text after a closing quote (expected a comma or the line's end)");
    }
    if (c < 0) fail("the file ends within a line; it was cut short or edited: export the database again");
    if (c == '\r' && peek() == '\n') c = get();
    if (c == '\n') {
      ++line_;
      record.resize(count);
      return true;
    }
    if (c == ',') {
      field = &begin_field();
      continue;
    }
    if (c == '"' || c == '\r')
      fail(c == '"' ? "a quote within a field that has none at its begin" : "a carriage return outside of quotes");
    field->text += static_cast<char>(c);
  }
}

}  // namespace ddpprof::import
