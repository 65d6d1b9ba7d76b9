#include "gui/window/packed_qt.hpp"

#include <QCoreApplication>
#include <QString>
#include <QStringList>
#include <system_error>

namespace ddpprof::gui {

namespace fs = std::filesystem;

fs::path program_folder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

void use_packed_qt(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder / "plugins", error)) return;
  QCoreApplication::setLibraryPaths({QString::fromStdString((folder / "plugins").string())});
  if (!fs::exists("/etc/fonts/fonts.conf", error) && !qEnvironmentVariableIsSet("FONTCONFIG_FILE") &&
      !qEnvironmentVariableIsSet("FONTCONFIG_PATH"))
    qputenv("FONTCONFIG_FILE", QByteArray::fromStdString((folder / "fonts.conf").string()));
}

}  // namespace ddpprof::gui
