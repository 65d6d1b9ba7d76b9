// Removes a measurement from a database, as if it had never been loaded.
#pragma once

#include <cstdint>

#include "tracer/store/database.hpp"

namespace ddpprof::store {

// Removes, in one transaction, every row that refers to the measurement, to its shards or to their steps, and the
// strings that only those rows use. Throws DatabaseError.
void remove_measurement(Database&, std::int64_t measurement_id);

}  // namespace ddpprof::store
