#include "runner/measure/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "simulator/units/units.hpp"

namespace ddpprof::measure {

double remaining_s(double configuration_elapsed_s, std::int64_t steps_done, std::int64_t steps_planned,
                   double finished_total_s, std::int64_t finished, std::int64_t waiting) {
  double own = -1;
  if (steps_done > 0 && steps_planned > 0) {
    const auto left = static_cast<double>(std::max<std::int64_t>(0, steps_planned - steps_done));
    own = configuration_elapsed_s / static_cast<double>(steps_done) * left;
  } else if (finished > 0) {
    own = std::max(0.0, finished_total_s / static_cast<double>(finished) - configuration_elapsed_s);
  }
  if (own < 0) return -1;
  const double each = finished > 0 ? finished_total_s / static_cast<double>(finished) : configuration_elapsed_s + own;
  return own + each * static_cast<double>(waiting);
}

ProgressLine::ProgressLine(std::ostream& out, ProgressForm form, std::int64_t configurations)
    : out_(out), form_(form), configurations_(configurations), begun_(Clock::now()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::begin(const Configuration& configuration) {
  current_ = configuration;
  begun_ = Clock::now();
  update("starting", 0, 0);
}

double ProgressLine::remaining_s_now(std::int64_t step, std::int64_t steps_planned) const {
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - begun_).count();
  return remaining_s(elapsed_s, step, steps_planned, finished_total_s_, finished_ - skipped_,
                     configurations_ - finished_ - 1);
}

void ProgressLine::update(const std::string& activity, std::int64_t step, std::int64_t steps_planned) {
  if (form_ == ProgressForm::none) return;
  const double left_s = remaining_s_now(step, steps_planned);
  if (form_ == ProgressForm::json_lines) {
    nlohmann::ordered_json line = {
        {"progress", "measuring"},
        {"configuration", finished_ + 1},
        {"configurations", configurations_},
        {"strategy", to_string(current_.strategy)},
        {"workers", current_.workers},
        {"batch_per_worker",
         current_.batch_per_worker > 0 ? nlohmann::ordered_json(current_.batch_per_worker) : nlohmann::ordered_json()},
        {"repeat", current_.repeat},
        {"activity", activity},
        {"step", std::max<std::int64_t>(0, step)},
        {"steps", steps_planned > 0 ? nlohmann::ordered_json(steps_planned) : nullptr},
        {"remaining_s", left_s < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(left_s)}};
    out_ << line.dump() << '\n' << std::flush;
    return;
  }
  const std::string steps =
      steps_planned > 0 ? fmt::format("step {}/{}", std::max<std::int64_t>(0, step), steps_planned) : activity;
  // Carriage return and "erase to the end of the line".
  out_ << "\r\033[K"
       << fmt::format("[{}/{}] {} N={}{}: {}, ETA {}", finished_ + 1, configurations_, to_string(current_.strategy),
                      current_.workers,
                      current_.batch_per_worker > 0 ? fmt::format(" batch {}", current_.batch_per_worker) : "", steps,
                      left_s < 0 ? "--" : units::clock_text(left_s))
       << std::flush;
  shown_ = true;
}

void ProgressLine::end() {
  finished_total_s_ += std::chrono::duration<double>(Clock::now() - begun_).count();
  ++finished_;
}

void ProgressLine::skip() {
  ++skipped_;
  ++finished_;
}

void ProgressLine::show_fitting() {
  if (form_ != ProgressForm::json_lines) return;
  const nlohmann::ordered_json line = {
      {"progress", "concluding"}, {"configuration", finished_}, {"configurations", configurations_}};
  out_ << line.dump() << '\n' << std::flush;
}

void ProgressLine::clear() {
  if (shown_) out_ << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace ddpprof::measure
