// The warnings that change the answer most.
#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/report/answer/answer.hpp"
#include "analysis/report/tables/run/run.hpp"

namespace ddpprof::report {
namespace {

// Codes with the largest and with the smallest effect on the answer, each in order. All other codes are between them.
constexpr auto first_codes = std::to_array<std::string_view>({"steps_without_reduction",
                                                              "several_updates",
                                                              "optimizers_mixed",
                                                              "graphs_as_a_whole",
                                                              "graphs_left_out",
                                                              "world_size_unknown",
                                                              "prediction_none",
                                                              "table_doubtful",
                                                              "no_steps",
                                                              "device_not_recorded",
                                                              "collective_kernels_unknown",
                                                              "kernels_lost",
                                                              "file_damaged",
                                                              "truncated",
                                                              "cycle_unfinished",
                                                              "rank_missing",
                                                              "incomplete_steps",
                                                              "no_backward",
                                                              "samples_unknown",
                                                              "sizes_unknown",
                                                              "sizes_assumed",
                                                              "fit_data_doubtful",
                                                              "prediction_corrected",
                                                              "prediction_too_good",
                                                              "threads_of_one_n",
                                                              "links_not_measured",
                                                              "cores_unknown",
                                                              "device_idle"});
constexpr auto last_codes =
    std::to_array<std::string_view>({"fit_doubtful", "oversubscribed", "drift", "noisy_median", "batch_unknown",
                                     "host_bound", "communication_bound", "outlier_steps"});

constexpr std::size_t most_characters = 210;

// Returns the text up to the last end of a clause within the limit.
std::string shortened(const std::string& text) {
  if (text.size() <= most_characters) return text;
  std::size_t end = std::string::npos;
  for (const std::string_view clause : {"; ", ". ", ": ", ", "}) {
    end = text.rfind(clause, most_characters);
    if (end != std::string::npos && end > most_characters / 3) break;
  }
  if (end == std::string::npos) end = text.rfind(' ', most_characters);
  return text.substr(0, end) + " …";
}

// Returns a smaller number for a larger effect.
std::size_t effect(const std::string& severity, const std::string& code) {
  if (severity == "error") return 0;
  const auto first = static_cast<std::size_t>(std::ranges::find(first_codes, code) - first_codes.begin());
  if (first < first_codes.size()) return 1 + first;
  const auto last = static_cast<std::size_t>(std::ranges::find(last_codes, code) - last_codes.begin());
  return 1 + first_codes.size() + (last < last_codes.size() ? 1 + last : 0);
}

}  // namespace

Table main_warnings_table(const Source& source, std::size_t most) {
  const Table notices = notices_table(source);
  struct Merged {
    std::size_t effect = 0;
    std::string code, where, message;
    std::size_t count = 0;
  };
  std::vector<Merged> all;
  for (const Row& row : notices.rows) {
    const auto cell = [&](std::string_view column) { return std::get<std::string>(cell_of(notices, row, column)); };
    // The answer has the interval itself.
    if (cell("code") == "prediction_uncertain") continue;
    // The reason why a file has no prediction may be a warning of its own, too.
    if (std::ranges::any_of(
            all, [&](const Merged& one) { return one.code != cell("code") && one.message == cell("message"); }))
      continue;
    const auto same = std::ranges::find(all, cell("code"), &Merged::code);
    if (same == all.end()) {
      all.push_back({effect(cell("severity"), cell("code")), cell("code"), cell("about"), cell("message"), 1});
    } else {
      if (("," + same->where + ",").find("," + cell("about") + ",") == std::string::npos)
        same->where += ", " + cell("about");
      ++same->count;
    }
  }
  std::ranges::stable_sort(all, {}, &Merged::effect);
  Table table;
  table.name = "main_warnings";
  table.title = "Warnings that change the answer most";
  table.empty = "No warning.";
  table.columns = {text("about", "about"), prose("message", "what")};
  table.key_columns = 1;
  table.plain = true;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    const std::string message = shortened(all[i].message);
    table.rows.push_back(
        {shortened(all[i].where),
         all[i].count > 1 ? message + " (" + std::to_string(all[i].count) + " such warnings)" : message});
  }
  return table;
}

}  // namespace ddpprof::report
