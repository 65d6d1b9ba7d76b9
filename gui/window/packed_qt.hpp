// The Qt that is packed with the program in its Python wheel: its plugins, and fonts for machines without fonts.
#pragma once

#include <filesystem>

namespace ddpprof::gui {

// Returns the folder of the running program.
std::filesystem::path program_folder();

// If `folder` has the plugins of a packed Qt, Qt loads only these: plugins of another Qt do not fit. On a machine
// without /etc/fonts, the folder's fonts are used, unless FONTCONFIG_FILE or FONTCONFIG_PATH name others. Does nothing
// otherwise. To be called before the QApplication is made.
void use_packed_qt(const std::filesystem::path& folder);

}  // namespace ddpprof::gui
