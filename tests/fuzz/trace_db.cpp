// Trace databases as bytes: a copy of a valid database that was damaged, cut, or has a journal is refused, or gives the
// same rows as the original. A damaged copy with new seals may give any rows, but must not crash the reader.
#include <SQLiteCpp/Exception.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "analysis/import/tables/tables.hpp"
#include "tests/fuzz/all_rows.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/files/seal.hpp"

using namespace ddpprof;

namespace {

constexpr std::size_t page_bytes = 4096;

struct Sound {
  std::string bytes, rows;
  std::size_t pages() const { return bytes.size() / page_bytes; }
  std::string page(std::size_t number) const { return bytes.substr((number - 1) * page_bytes, page_bytes); }
};

Sound make_sound(const fuzz::Folder& folder) {
  const std::filesystem::path path = folder.path() / "sound.db";
  std::vector<fit::StepRow> steps;
  for (int i = 0; i < 60; ++i) {
    fit::StepRow row;
    row.workers = 1 << i % 6;
    row.nodes = 1 + i % 2;
    row.batch_per_worker = 32;
    row.step_s = 0.1 + 0.001 * i;
    steps.push_back(row);
  }
  Sound sound;
  {
    store::Database database = store::Database::create(path);
    import::import_step_table(database, steps, "fuzz");
    database.finish_load();
    sound.rows = fuzz::all_rows(database);
  }
  std::ifstream file(path, std::ios::binary);
  sound.bytes.assign(std::istreambuf_iterator<char>(file), {});
  fuzz::require(sound.bytes.size() % page_bytes == 0 && sound.pages() > 20, "the sound database has pages");
  return sound;
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  std::size_t number(int bytes) {
    std::size_t value = 0;
    for (; bytes > 0; --bytes) value = value << 8 | byte();
    return value;
  }
  std::string_view take(std::size_t count) {
    count = std::min(count, left_);
    const std::string_view taken = fuzz::text_of(data_, count);
    data_ += count;
    left_ -= count;
    return taken;
  }

 private:
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  const std::uint8_t* data_;
  std::size_t left_;
};

// One byte selects the change; its numbers follow, highest byte first.
void damage(std::string& bytes, const Sound& sound, Input& input) {
  const std::size_t kind = input.number(1) % 6;
  const auto page_at = [&] { return input.number(1) % sound.pages() * page_bytes; };
  const std::size_t at = kind < 3 ? input.number(3) % (bytes.size() + 1) : 0;
  switch (kind) {
    case 0: {
      const std::string_view with = input.take(input.number(1));
      bytes.replace(at, std::min(with.size(), bytes.size() - at), with);
      break;
    }
    case 1: {
      const auto bits = static_cast<char>(input.number(1));
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ bits);
      break;
    }
    case 2:
      bytes.resize(at);
      break;
    case 3: {
      const std::size_t from = page_at(), to = page_at();
      if (std::max(from, to) + page_bytes <= bytes.size()) bytes.replace(to, page_bytes, bytes, from, page_bytes);
      break;
    }
    case 4:
      if (const std::size_t to = page_at(); to + page_bytes <= bytes.size())
        bytes.replace(to, page_bytes, std::string(page_bytes, '\0'));
      break;
    default:
      bytes += input.take(input.number(1));
  }
}

void seal_again(std::string& bytes) {
  for (std::size_t at = 0; at + page_bytes <= bytes.size(); at += page_bytes)
    store::seal({reinterpret_cast<unsigned char*>(bytes.data()) + at, page_bytes}, at / page_bytes + 1);
}

void append_number(std::string& text, std::size_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(number >> shift);
}

// The state after a killed load, which SQLite rolls back: https://www.sqlite.org/fileformat.html, section 3.
std::string journal(const Sound& sound, Input& input) {
  constexpr std::size_t nonce = 0x1234, sector_bytes = 512;
  std::string records;
  const std::size_t initial_pages = input.number(1) % (sound.pages() + 4);
  std::size_t count = 0;
  for (; !input.empty(); ++count) {
    const std::size_t number = 1 + input.number(1) % (sound.pages() + 2);
    const std::size_t from = 1 + input.number(1) % sound.pages();
    std::string page = sound.page(input.number(1) % 2 == 0 ? std::min(number, sound.pages()) : from);
    const std::size_t at = input.number(2);
    page[at % page_bytes] = static_cast<char>(page[at % page_bytes] ^ static_cast<char>(input.number(1)));
    std::size_t sum = nonce;
    for (std::size_t i = page_bytes - 200; i > 0 && i < page_bytes; i -= 200)
      sum += static_cast<unsigned char>(page[i]);
    append_number(records, number);
    records += page;
    append_number(records, sum);
  }
  std::string text = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
  for (const std::size_t number : {count, nonce, initial_pages, sector_bytes, page_bytes}) append_number(text, number);
  text.resize(sector_bytes, '\0');
  return text + records;
}

// Returns the rows of all tables, read in two ways; "" if the file is refused.
std::string answer(const std::filesystem::path& path) {
  const auto refuse = [&](const store::DatabaseError& error) {
    using enum store::ErrorKind;
    fuzz::require(error.kind() == corrupt || error.kind() == not_sqlite || error.kind() == foreign,
                  std::string("damage is called damage: ") + error.what());
    fuzz::require(std::string_view(error.what()).find(path.string()) != std::string_view::npos,
                  "a refusal names the file");
    return "";
  };
  try {
    store::Database database = store::Database::open_read(path);
    const std::string rows = fuzz::all_rows(database);
    database.check();
    return rows;
  } catch (const store::DatabaseError& error) {
    return refuse(error);
  } catch (const SQLite::Exception& error) {
    return refuse(store::translate(error, path));
  }
}

}  // namespace

// The first byte: "j" a journal, "b" a journal and damage (the next byte is the number of damages), "e" damage and an
// empty journal, "s" damage with new seals, otherwise only damage.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Folder folder;
  static const Sound& sound = *new Sound(make_sound(folder));
  if (size == 0) return 0;
  Input input(data + 1, size - 1);
  std::string bytes = sound.bytes;
  std::filesystem::remove(folder.path() / "run.db-journal");
  if (data[0] == 'j') {
    folder.file("run.db-journal", journal(sound, input));
  } else if (data[0] == 'b') {
    for (std::size_t left = input.number(1) % 8; left > 0; --left) damage(bytes, sound, input);
    folder.file("run.db-journal", journal(sound, input));
  } else {
    if (data[0] == 'e') folder.file("run.db-journal", "");
    while (!input.empty()) damage(bytes, sound, input);
    if (data[0] == 's') seal_again(bytes);
  }
  const auto path = folder.file("run.db", bytes);
  if (data[0] == 's') {
    try {
      store::Database database = store::Database::open_read(path);
      database.check();
      fuzz::all_rows(database);
    } catch (const store::DatabaseError&) {
    } catch (const SQLite::Exception& error) {
      store::translate(error, path);
    }
    return 0;
  }
  const std::string rows = answer(path);
  fuzz::require(rows.empty() || rows == sound.rows, "who is not refused answers as the sound one");
  return 0;
}
