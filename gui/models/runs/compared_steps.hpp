// A typical step of each of two compared files as lanes, read off the interface thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "simulator/step/lanes.hpp"

namespace ddpprof::gui {

struct ComparedStep {
  std::optional<step::StepLanes> lanes;
  std::string why_not;  // why the step has no lanes
};

struct ComparedSteps {
  ComparedStep a, b;
};

// `configuration`: the index of a configuration of the table compare_waterfall. The first repeat with a typical step is
// used, and its smallest rank. Throws store::DatabaseError if a file cannot be read, std::runtime_error if the files no
// longer have this configuration. Thread-safe.
ComparedSteps read_compared_steps(const std::filesystem::path& a, const std::filesystem::path& b,
                                  std::size_t configuration);

}  // namespace ddpprof::gui
