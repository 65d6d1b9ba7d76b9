// Tells the launcher what this rank is doing, through the memory-mapped page of runner/launcher/status_page.hpp.
#pragma once

#include <cstdint>

#include "runner/launcher/status_page.hpp"

namespace ddpprof::worker::status {

using launcher::Activity;

// Maps the file that DDPPROF_STATUS_FILE names; without it the page lives in memory and only this process reads it.
// Throws std::runtime_error when the variable is set and the file cannot be mapped.
void open();
bool watched();  // a launcher reads the page

void set(Activity);  // a few ns: relaxed stores and one clock read
void set(Activity, std::int64_t step);
void set_steps_planned(std::int64_t);

Activity activity();
std::int64_t step();

}  // namespace ddpprof::worker::status
