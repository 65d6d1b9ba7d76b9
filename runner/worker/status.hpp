// Reports this rank's activity to the launcher, through the memory-mapped page of runner/launcher/status_page.hpp.
#pragma once

#include <cstdint>

#include "runner/launcher/status_page.hpp"

namespace ddpprof::worker::status {

using launcher::Activity;

// Maps the file in DDPPROF_STATUS_FILE. If the variable is not set, the page is in the memory of this process. Throws
// std::runtime_error if the variable is set and the file cannot be mapped.
void open();
bool watched();  // returns true if a launcher reads the page

void set(Activity);  // a few ns: relaxed stores and one clock read
void set(Activity, std::int64_t step);
void set_steps_planned(std::int64_t);

Activity activity();
std::int64_t step();

}  // namespace ddpprof::worker::status
