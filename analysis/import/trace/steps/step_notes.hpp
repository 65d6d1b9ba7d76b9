// Notes about a rank's steps: how they were found, few very long ones, devices that wait for the host, batches that
// differ.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/import/trace/training.hpp"

namespace ddpprof::import {

// `idle_ns`: for each step the time in which the devices waited for launches; empty without devices.
std::vector<Note> notes_on_durations(std::span<const ingest::StepFact> steps, std::span<const std::int64_t> idle_ns);

// How the steps were found, and which marks of the host are no steps. `steps`: on the device; `empty_steps`: annotated
// steps without work on it; `advice`: RankTrace::steps_advice.
std::vector<Note> notes_on_steps(const HostSteps&, std::int64_t steps, std::int64_t empty_steps, std::string_view advice);

// The warning that the batches of steps differ.
Note note_on_batches(const RankTrace&);

// The warning that the batch is the number of rows of a matrix product.
Note note_on_rows(const RankTrace&);

}  // namespace ddpprof::import
