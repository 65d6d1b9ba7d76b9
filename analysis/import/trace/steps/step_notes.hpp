// Notes about a rank's steps: few very long ones, devices that wait for the host, batches that differ.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// `idle_ns`: for each step the time in which the devices waited for launches; empty without devices.
std::vector<Note> notes_on_durations(std::span<const ingest::StepFact> steps, std::span<const std::int64_t> idle_ns);

// The warning that the batches of steps differ.
Note note_on_batches(const RankTrace&);

// Returns the warning about steps that are bounded by the optimizers of several models in no order that repeats.
Note note_on_mixed_optimizers(std::int64_t steps);

}  // namespace ddpprof::import
