// Values for SQLite's tables from the bytes of an input.
#pragma once

#include <SQLiteCpp/Statement.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/fuzz/fuzz_target.hpp"

namespace ddpprof::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::string_view take(std::size_t count) {
    count = std::min(count, left_);
    const std::string_view taken = text_of(data_, count);
    data_ += count;
    left_ -= count;
    return taken;
  }
  std::int64_t whole(std::size_t width) {
    std::int64_t value = 0;
    const std::string_view bytes = take(width);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

// One byte selects the kind of value; its bytes follow.
inline void bind(SQLite::Statement& insert, int at, Bytes& bytes) {
  switch (const std::uint8_t kind = bytes.byte(); kind % 8) {
    case 0:
      break;  // NULL
    case 1:
      insert.bind(at, static_cast<std::int64_t>(bytes.byte()));
      break;
    case 2:
      insert.bind(at, bytes.whole(2) * 1000);
      break;
    case 3:
      insert.bind(at, bytes.whole(8));
      break;
    case 4:
      insert.bind(at, (std::int64_t{kind >> 3} + 1) << 24);  // a process, serialised
      break;
    case 5: {
      const std::string_view blob = bytes.take(bytes.byte());
      insert.bind(at, blob.data(), static_cast<int>(blob.size()));
      break;
    }
    case 6:
      insert.bind(at, static_cast<double>(bytes.whole(4)) / 7);
      break;
    default: {
      const std::string_view text = bytes.take(bytes.byte());
      insert.bind(at, std::string(text));
    }
  }
}

}  // namespace ddpprof::fuzz
