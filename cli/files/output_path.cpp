#include "cli/files/output_path.hpp"

#include <array>
#include <fstream>
#include <string_view>

#include "analysis/import/load/own_export.hpp"
#include "cli/subcommand.hpp"

namespace ddpprof::cli {
namespace {

namespace fs = std::filesystem;

bool is_database(const fs::path& path) {
  constexpr std::string_view magic = "SQLite format 3";
  std::array<char, magic.size()> head{};
  std::ifstream file(path, std::ios::binary);
  return file.read(head.data(), head.size()) && std::string_view(head.data(), head.size()) == magic;
}

}  // namespace

void check_output_path(const std::string& option, const fs::path& path, OutputKind kind, const fs::path& database) {
  if (path.empty()) return;
  const bool folder = kind == OutputKind::folder;
  const std::string wrong = option + ": " + path.string();
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(fs::absolute(path), error);
  const fs::path own = fs::weakly_canonical(fs::absolute(database), error);
  for (const char* part : {"", "-journal", "-wal", "-shm", ".d"}) {
    fs::path taken = own;
    taken += part;
    if (whole == taken) throw Failure(ExitCode::usage, wrong + " is the database itself", "", "give another path");
  }
  if (fs::exists(path) && fs::is_directory(path) != folder) {
    throw Failure(ExitCode::usage, wrong + (folder ? " is a file" : " is a folder"), folder ? "a folder" : "a file",
                  "give another path");
  }
  if (!folder && is_database(path)) {
    if (kind != OutputKind::nsys || !import::is_own_nsys_export(path))
      throw Failure(ExitCode::usage, wrong + " is a database and is not replaced", "", "give another path");
    // SQLite would apply the journal to the new file.
    for (const char* part : {"-journal", "-wal"})
      if (fs::exists(path.string() + part))
        throw Failure(ExitCode::usage, wrong + " has a journal: another program writes it, or was ended while writing",
                      "", "close the other program, or give another path");
  }
  if (const fs::path parent = path.parent_path(); !parent.empty() && !fs::is_directory(parent)) {
    throw Failure(ExitCode::usage, option + ": " + parent.string() + " is not a folder", "an existing folder",
                  "make it first");
  }
}

}  // namespace ddpprof::cli
