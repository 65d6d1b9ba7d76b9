// Numbers with their units, as the statuses and notes of this room print them.
#pragma once

#include <cstdint>
#include <string>

namespace ddpprof::fit {

// Three significant figures without an exponent between 0.0001 and ten million.
std::string number_text(double);
std::string percent(double share);           // "3.2 %"
std::string time_text(double seconds);       // "30 µs", "1.5 ms"
std::string rate_text(double bytes_per_s);   // "1.0 GB/s"
std::string bytes_text(std::int64_t bytes);  // "44 B", "25 MiB"

}  // namespace ddpprof::fit
