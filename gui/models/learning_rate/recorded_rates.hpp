// The page Learning rate of a file without a scenario: the recorded rate, what the user states beside it, and the
// answer of `ddpprof lr`.
#pragma once

#include <array>
#include <string>

#include "gui/models/learning_rate/schedules.hpp"

namespace ddpprof::gui {

// The numbers that the user can state, in the order of the form.
enum class RateField { base, base_batch, batch, accumulation, samples, epochs, warmup };
inline constexpr std::array every_rate_field = {RateField::base,         RateField::base_batch, RateField::batch,
                                                RateField::accumulation, RateField::samples,    RateField::epochs,
                                                RateField::warmup};

// Writes the number of the text to the field; an empty text clears it. Returns what was expected if the text is wrong:
// then nothing is written. Otherwise returns "".
std::string read_field(scenario_queries::GivenRate&, RateField, const std::string& text);

// What an empty field stands for: "0.01 (recorded)", "5 (assumed)", "not known".
std::string unstated_text(const scenario_queries::RateQuestion& recorded, RateField);
std::string unstated_optimizer(const scenario_queries::RateQuestion& recorded);

// Returns the question of the file with the given values and the measured noise scale. Throws std::invalid_argument if
// the base batch is too large. `file.recorded_rate` must not be empty.
RateInputs recorded_inputs(const OpenedFile& file, const scenario_queries::GivenRate&);

// What the page shows of the inputs. It never throws: if the inputs have no rate, `text` has the reason.
struct RecordedRates {
  bool rates = false;  // the base rate and the optimizer are known. Otherwise of the tables only `choice` is filled
  bool steps = false;  // … and the steps of the training
  std::string text;    // the rate at inputs.workers, or its factor; then what is assumed and what is missing
  std::string limits;  // as limits_text(); empty without rates
  std::string command;  // that prints the same tables
  RateTables tables;
};
RecordedRates recorded_rates(const OpenedFile& file, const RateInputs&, const scenario_queries::GivenRate&);

}  // namespace ddpprof::gui
