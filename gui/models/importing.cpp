#include "gui/models/importing.hpp"

#include <QDir>
#include <QTemporaryDir>
#include <algorithm>
#include <stdexcept>
#include <system_error>

#include "analysis/import/files/import_files.hpp"
#include "analysis/import/load/inputs.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::gui {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_of(const OpenRequest& request) {
  std::vector<std::string> names;
  for (const fs::path& path : request.paths) names.push_back(path.string());
  return names;
}

// "trace.json.gz" -> "trace"
std::string short_name(fs::path path) {
  if (!path.has_filename()) path = path.parent_path();
  path = path.filename();
  for (const char* end : {".gz", ".zst", ".json", ".pt.trace", ".sqlite", ".csv", ".log", ".txt", ".ddps"})
    if (path.string().ends_with(end) && path.string().size() > std::string_view(end).size())
      path = path.string().substr(0, path.string().size() - std::string_view(end).size());
  return path.string();
}

std::shared_ptr<const OpenedFile> import_and_open(const OpenRequest& request, const std::function<bool()>& stop,
                                                  const std::shared_ptr<import::ImportProgress>& progress) {
  const import::InputFiles files = import::sort_inputs(names_of(request));
  const auto folder = std::make_shared<QTemporaryDir>(QDir::tempPath() + "/ddpprof-import-XXXXXX");
  if (!folder->isValid())
    throw std::runtime_error("cannot make a folder for the imported database in " + QDir::tempPath().toStdString() +
                             ": " + folder->errorString().toStdString() + "; free space, or set TMPDIR");
  const fs::path path = fs::path(folder->path().toStdString()) / (short_name(request.paths.front()) + ".db");
  {
    store::Database database = store::Database::create(path);
    import::ImportOptions options;
    options.progress = progress;
    options.temporary_folder = folder->path().toStdString();
    import::import_files(database, files, options, {});
    database.finish_load();
    if (stop && stop()) return nullptr;
    import::fit_imports(database);
  }
  const std::shared_ptr<const OpenedFile> opened = open_file(path, stop, request.logs);
  if (!opened) return nullptr;
  auto imported = std::make_shared<OpenedFile>(*opened);
  imported->imported_from = request.paths;
  imported->temporary = folder;
  return imported;
}

}  // namespace

bool needs_import(const OpenRequest& request) {
  if (request.paths.size() != 1) return true;
  const fs::path& path = request.paths.front();
  std::error_code error;
  if (fs::is_directory(path, error)) return true;
  const import::FileKind kind = import::kind_of(path);
  return kind != import::FileKind::ours && kind != import::FileKind::unreadable;
}

std::shared_ptr<const OpenedFile> open_files(const OpenRequest& request, const std::function<bool()>& stop,
                                             const std::shared_ptr<import::ImportProgress>& progress) {
  if (!needs_import(request)) return open_file(request.paths.front(), stop, request.logs);
  try {
    return import_and_open(request, stop, progress);
  } catch (const import::ImportStopped&) {
    return nullptr;
  } catch (const UserError& error) {
    throw std::runtime_error(error.text());
  }
}

std::uint64_t bytes_to_read(const OpenRequest& request) {
  std::uint64_t bytes = 0;
  try {
    for (const fs::path& file : import::expand_inputs(names_of(request))) {
      std::error_code error;
      const std::uintmax_t size = fs::file_size(file, error);
      if (!error) bytes += size;
    }
  } catch (const import::ImportError&) {
    return 0;
  }
  return bytes;
}

void save_imported(const OpenedFile& file, const fs::path& target) {
  file.check_unchanged();
  std::error_code error;
  fs::copy_file(file.path, target, fs::copy_options::overwrite_existing, error);
  if (error)
    throw std::runtime_error(target.string() + " cannot be written: " + error.message() +
                             "; choose another folder, or free space");
}

}  // namespace ddpprof::gui
