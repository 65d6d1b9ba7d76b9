// Reads an Nsight Systems export like the importer, and checks the result.
#pragma once

#include <filesystem>

#include "analysis/import/nsight/nsight_reader.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/rank_checks.hpp"

namespace ddpprof::fuzz {

inline void read_nsight(const std::filesystem::path& path, const Folder& folder) {
  AnyRaw raw;
  try {
    import::NsightFile file(path);
    import::NsightReader reader(file, {.folder = folder.path()}, &raw, 0);
    reader.read();
    for (const auto& rank : reader.ranks()) conclude(rank->trace);
    for (const import::Note& note : reader.notes())
      require(!note.code.empty() && note.count > 0, "a note says how often");
    require(reader.refused_events() >= 0, "a count is not negative");
  } catch (const import::NotAnExport&) {
  }
}

}  // namespace ddpprof::fuzz
