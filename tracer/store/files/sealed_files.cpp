#include "tracer/store/files/sealed_files.hpp"

#include <SQLiteCpp/Exception.h>
#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>

#include "tracer/store/files/raw_file.hpp"
#include "tracer/store/files/seal.hpp"

namespace ddpprof::store {
namespace {

// SQLite accesses files through tables of functions (https://www.sqlite.org/vfs.html). This VFS forwards all calls to
// the system's VFS below it, and seals and checks the pages of database files.

constexpr const char* name_of_files = "ddpprof-sealed";
constexpr int begin_sealed_op = 0x44445053;  // "DDPS", above the numbers that SQLite reserves
constexpr std::size_t reserved_at = 20, smallest_page = 512;

struct File : sqlite3_file {
  bool sealed = false;  // according to its first page
  bool ignored = false;
  bool rolls_back = false;  // reads an old journal: its pages have their old seals
  sqlite3_file* below = nullptr;
};

constexpr std::size_t aligned_file_bytes = (sizeof(File) + 15) / 16 * 16;

File& file_of(sqlite3_file* raw) { return *static_cast<File*>(raw); }
sqlite3_vfs* below(sqlite3_vfs* files) { return static_cast<sqlite3_vfs*>(files->pAppData); }

bool are_seals_ignored() {
  const char* seals = std::getenv(seals_variable);
  return seals != nullptr && std::string_view(seals) == "ignore";
}

// Only complete pages are sealed and checked. SQLite also reads the first bytes of the header alone.
bool is_page(int bytes, sqlite3_int64 offset) {
  const auto size = static_cast<std::size_t>(bytes);
  return bytes > 0 && size >= smallest_page && (size & (size - 1)) == 0 && offset % bytes == 0;
}

std::uint64_t number_of(int bytes, sqlite3_int64 offset) { return static_cast<std::uint64_t>(offset / bytes) + 1; }

// Returns the page size from the file's header, as SQLite's first read comes before the size is known.
std::size_t page_size(std::span<const unsigned char> first_page) {
  const std::size_t stored = std::size_t{first_page[16]} << 8 | first_page[17];
  return stored == 1 ? 65536 : stored;
}

// Detects a sealed file whose damaged header reserves no bytes for seals: the checks would otherwise be off.
bool lost_its_mark(std::span<const unsigned char> first_page) {
  if (first_page[reserved_at] != 0) return false;
  const std::unique_ptr<unsigned char[]> copy(new (std::nothrow) unsigned char[first_page.size()]);
  if (!copy) return true;  // without memory the page cannot be checked
  std::memcpy(copy.get(), first_page.data(), first_page.size());
  copy[reserved_at] = static_cast<unsigned char>(seal_bytes);
  return is_sealed({copy.get(), first_page.size()}, 1);
}

bool is_sound(File& file, std::span<const unsigned char> page, sqlite3_int64 offset) {
  if (offset == 0) {
    if (page_size(page) != page.size()) return true;  // SQLite reads it again with the size from the header
    file.sealed = page[reserved_at] == seal_bytes;
    if (!file.sealed) return file.ignored || !lost_its_mark(page);
  }
  return !file.sealed || file.ignored || is_sealed(page, number_of(static_cast<int>(page.size()), offset));
}

int close(sqlite3_file* raw) {
  File& file = file_of(raw);
  const int result = file.below->pMethods->xClose(file.below);
  file.~File();
  return result;
}

int read(sqlite3_file* raw, void* into, int bytes, sqlite3_int64 offset) {
  File& file = file_of(raw);
  const int result = file.below->pMethods->xRead(file.below, into, bytes, offset);
  if (result == SQLITE_IOERR_SHORT_READ && file.sealed && !file.ignored && is_page(bytes, offset)) {
    // SQLite replaces missing bytes by zeros. That is right for a page beyond the end, but wrong for a page that was
    // cut.
    sqlite3_int64 end = 0;
    const int known = file.below->pMethods->xFileSize(file.below, &end);
    if (known != SQLITE_OK) return known;
    return offset < end ? SQLITE_IOERR_DATA : result;
  }
  if (result != SQLITE_OK || !is_page(bytes, offset)) return result;
  const std::span<const unsigned char> page(static_cast<unsigned char*>(into), static_cast<std::size_t>(bytes));
  return is_sound(file, page, offset) ? SQLITE_OK : SQLITE_IOERR_DATA;
}

int write(sqlite3_file* raw, const void* from, int bytes, sqlite3_int64 offset) {
  File& file = file_of(raw);
  if (is_page(bytes, offset)) {
    // The seal is written into SQLite's own copy of the page. SQLite copies that to the journal. Another program, which
    // does not write seals, may copy it from the journal back to the file.
    const std::span<unsigned char> page(static_cast<unsigned char*>(const_cast<void*>(from)),
                                        static_cast<std::size_t>(bytes));
    if (offset == 0 && page_size(page) == page.size()) file.sealed = page[reserved_at] == seal_bytes;
    if (file.sealed && !file.rolls_back) seal(page, number_of(bytes, offset));
  }
  return file.below->pMethods->xWrite(file.below, from, bytes, offset);
}

// Returns a page of a mapped file only if its seal matches. Otherwise SQLite reads the page, and the read reports the
// damage.
int fetch(sqlite3_file* raw, sqlite3_int64 offset, int bytes, void** page) {
  File& file = file_of(raw);
  const int result = file.below->pMethods->xFetch(file.below, offset, bytes, page);
  if (result != SQLITE_OK || *page == nullptr || !is_page(bytes, offset)) return result;
  if (is_sound(file, {static_cast<unsigned char*>(*page), static_cast<std::size_t>(bytes)}, offset)) return SQLITE_OK;
  const int released = file.below->pMethods->xUnfetch(file.below, offset, *page);
  *page = nullptr;
  return released;
}

int unlock(sqlite3_file* raw, int lock) {
  File& file = file_of(raw);
  file.rolls_back = false;  // SQLite has an exclusive lock until the journal is played back
  return file.below->pMethods->xUnlock(file.below, lock);
}

int control(sqlite3_file* raw, int operation, void* argument) {
  File& file = file_of(raw);
  if (operation == begin_sealed_op) {
    file.sealed = true;
    return SQLITE_OK;
  }
  return file.below->pMethods->xFileControl(file.below, operation, argument);
}

int characteristics(sqlite3_file* raw) {
  constexpr int reads_parts_of_pages =
      0x00008000;  // SQLITE_IOCAP_SUBPAGE_READ of SQLite 3.48: parts would not be checked
  return file_of(raw).below->pMethods->xDeviceCharacteristics(file_of(raw).below) & ~reads_parts_of_pages;
}

// Functions that only forward.
template <auto Member, class... Arguments>
int pass(sqlite3_file* raw, Arguments... arguments) {
  sqlite3_file* file = file_of(raw).below;
  return (file->pMethods->*Member)(file, arguments...);
}
void pass_barrier(sqlite3_file* raw) { file_of(raw).below->pMethods->xShmBarrier(file_of(raw).below); }

constexpr sqlite3_io_methods methods_of(int version) {
  using M = sqlite3_io_methods;
  return {version,
          close,
          read,
          write,
          pass<&M::xTruncate, sqlite3_int64>,
          pass<&M::xSync, int>,
          pass<&M::xFileSize, sqlite3_int64*>,
          pass<&M::xLock, int>,
          unlock,
          pass<&M::xCheckReservedLock, int*>,
          control,
          pass<&M::xSectorSize>,
          characteristics,
          pass<&M::xShmMap, int, int, int, void volatile**>,
          pass<&M::xShmLock, int, int, int>,
          pass_barrier,
          pass<&M::xShmUnmap, int>,
          fetch,
          pass<&M::xUnfetch, sqlite3_int64, void*>};
}
// Offers only the functions that the file below has.
constexpr sqlite3_io_methods methods[] = {methods_of(1), methods_of(2), methods_of(3)};

int open(sqlite3_vfs* files, const char* name, sqlite3_file* raw, int flags, int* flags_out) {
  // Journals and temporary files have no pages of their own. SQLite creates a new journal for its own changes. It opens
  // an existing journal only to write its pages back.
  if ((flags & SQLITE_OPEN_MAIN_JOURNAL) != 0 && (flags & SQLITE_OPEN_READWRITE) != 0)
    file_of(sqlite3_database_file_object(name)).rolls_back = (flags & SQLITE_OPEN_CREATE) == 0;
  if ((flags & SQLITE_OPEN_MAIN_DB) == 0) return below(files)->xOpen(below(files), name, raw, flags, flags_out);
  File& file = *new (raw) File;
  file.pMethods = nullptr;
  file.below = reinterpret_cast<sqlite3_file*>(reinterpret_cast<unsigned char*>(raw) + aligned_file_bytes);
  file.below->pMethods = nullptr;
  file.ignored = are_seals_ignored();
  const int result = below(files)->xOpen(below(files), name, file.below, flags, flags_out);
  if (result != SQLITE_OK) {
    if (file.below->pMethods != nullptr) file.below->pMethods->xClose(file.below);
    file.~File();
    return result;
  }
  const int version = file.below->pMethods->iVersion;
  file.pMethods = &methods[version < 1 ? 0 : version > 3 ? 2 : version - 1];
  return SQLITE_OK;
}

template <auto Member, class... Arguments>
auto pass_on(sqlite3_vfs* files, Arguments... arguments) {
  return (below(files)->*Member)(below(files), arguments...);
}

int register_files() {
  sqlite3_vfs* system = sqlite3_vfs_find(nullptr);
  if (system == nullptr) return SQLITE_ERROR;
  using V = sqlite3_vfs;
  static V files = *system;  // SQLite keeps the pointer
  files.pNext = nullptr;
  files.zName = name_of_files;
  files.szOsFile = static_cast<int>(aligned_file_bytes) + system->szOsFile;
  files.pAppData = system;
  files.xOpen = open;
  files.xDelete = pass_on<&V::xDelete, const char*, int>;
  files.xAccess = pass_on<&V::xAccess, const char*, int, int*>;
  files.xFullPathname = pass_on<&V::xFullPathname, const char*, int, char*>;
  files.xDlOpen = pass_on<&V::xDlOpen, const char*>;
  files.xDlError = pass_on<&V::xDlError, int, char*>;
  files.xDlSym = [](V* own, void* library, const char* symbol) {
    return below(own)->xDlSym(below(own), library, symbol);
  };
  files.xDlClose = pass_on<&V::xDlClose, void*>;
  files.xRandomness = pass_on<&V::xRandomness, int, char*>;
  files.xSleep = pass_on<&V::xSleep, int>;
  files.xCurrentTime = pass_on<&V::xCurrentTime, double*>;
  files.xGetLastError = pass_on<&V::xGetLastError, int, char*>;
  if (files.iVersion >= 2) files.xCurrentTimeInt64 = pass_on<&V::xCurrentTimeInt64, sqlite3_int64*>;
  if (files.iVersion > 2) files.iVersion = 2;  // version 3 is for SQLite's own tests
  return sqlite3_vfs_register(&files, /*makeDflt=*/0);
}

}  // namespace

const char* sealed_files() {
  static const int result = [] {
    const int ready = sqlite3_initialize();
    return ready == SQLITE_OK ? register_files() : ready;
  }();
  if (result != SQLITE_OK) throw SQLite::Exception("SQLite refuses to register the sealed file system", result);
  return name_of_files;
}

bool has_sealed_page(const std::filesystem::path& path) {
  if (are_seals_ignored()) return false;
  // SQLite's default page size, which this program does not change. The size in the header may be damaged, too.
  constexpr std::size_t page_bytes = 4096;
  constexpr std::uint64_t looked_at =
      64;  // pages; if all their seals are damaged, SQLite's own checks have to detect it
  const RawFile file(path);
  std::array<unsigned char, page_bytes> page{};
  for (std::uint64_t number = 1; number <= looked_at; ++number) {
    if (file.read(page, (number - 1) * page_bytes) < page.size()) return false;
    if (is_sealed(page, number)) return true;
  }
  return false;
}

void begin_sealed(SQLite::Database& database) {
  int bytes = static_cast<int>(seal_bytes);
  int result = sqlite3_file_control(database.getHandle(), "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
  if (result == SQLITE_OK) {
    result = sqlite3_file_control(database.getHandle(), "main", begin_sealed_op, nullptr);
    if (result == SQLITE_NOTFOUND) result = SQLITE_OK;  // a database in memory has no file
  }
  if (result != SQLITE_OK) throw SQLite::Exception("pages cannot be sealed", result);
}

}  // namespace ddpprof::store
