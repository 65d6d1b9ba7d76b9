// Takes a measurement out of a database whole, as if it had never been loaded.
#pragma once

#include <cstdint>

#include "tracer/store/database.hpp"

namespace ddpprof::store {

// One transaction. Every row that refers to the measurement, to its shards or to their steps goes with it, and names
// that nobody else uses. Throws DatabaseError.
void remove_measurement(Database&, std::int64_t measurement_id);

}  // namespace ddpprof::store
