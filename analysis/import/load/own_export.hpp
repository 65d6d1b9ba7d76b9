// Recognizes what `ddpprof export` wrote. Exports are for other programs: they are not imported again.
#pragma once

#include <filesystem>

namespace ddpprof::import {

// Returns true for a folder of CSV tables, a Chrome trace (plain or compressed) and an SQLite file in Nsight Systems'
// shape if ddpprof exported it. Returns false for a path that cannot be read.
bool is_own_export(const std::filesystem::path& path);

// The part of is_own_export() that checks for an SQLite file in Nsight Systems' shape.
bool is_own_nsys_export(const std::filesystem::path& path);

}  // namespace ddpprof::import
