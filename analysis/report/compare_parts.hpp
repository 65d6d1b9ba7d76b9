// What the tables of a comparison are put together from. Internal to the report library; callers use compare.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/build.hpp"
#include "analysis/report/compare.hpp"

namespace ddpprof::report {

// A configuration that both files measured: equal in model, strategy, N, batch and accumulation; where a file has
// several such, those that are alike in most of the rest.
struct Pair {
  const Configuration* a = nullptr;
  const Configuration* b = nullptr;
  std::string about;  // "ddp N=4", with the batch or the model where that is not enough
};

struct Paired {
  std::vector<Pair> both;  // in the order of A
  std::vector<const Configuration*> only_a, only_b;
};
Paired pair_up(const Source& a, const Source& b);

struct Difference {
  const Pair* pair = nullptr;
  std::string what;                      // step, compute, …
  double a_s = 0, b_s = 0;               // medians
  std::optional<stats::Interval> ratio;  // B / A; none where some steps have nothing of it
  std::string verdict, why;
  double of_step() const;  // (B - A) / A's step
};

// Every time of every pair that is not zero in both files: different ones first, the largest part of a step on top,
// then what cannot be told, then where no difference shows.
std::vector<Difference> differences(const Paired&);

Table compare_answer_table(const Paired&, const std::vector<Difference>&);
Table compare_time_table(const std::vector<Difference>&);
Table compare_throughput_table(const std::vector<Difference>&);
Table only_in_one_table(const Paired&);

// What else differs between the two (compare_runs.cpp).
Table compare_files_table(const Source& a, const std::string& path_a, const Source& b, const std::string& path_b);
Table compare_settings_table(const Source& a, const Source& b, const Paired&, const std::vector<KeyDifference>&);
Table compare_notices_table(const Source& a, const Source& b);

// Fits (compare_fits.cpp).
Table compare_fits_table(const Source& a, const Source& b);
Table compare_parameters_table(const Source& a, const Source& b);

// Cells of a table's row by column name; monostate when there is no such column.
Cell cell_of(const Table&, const Row&, const std::string& column);
std::string text_of(const Table&, const Row&, const std::string& column);

}  // namespace ddpprof::report
