// What the tables of a comparison are put together from. Internal to the report library; callers use compare.hpp.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/build.hpp"
#include "analysis/report/compare.hpp"
#include "tracer/store/error.hpp"

namespace ddpprof::report {

// A configuration that both files measured: equal in model, strategy, N, batch and accumulation; where a file has
// several such, those that are alike in most of the rest, the most alike of all first.
struct Pair {
  const Configuration* a = nullptr;
  const Configuration* b = nullptr;
  std::string about;    // "ddp N=4", with the model, the batch, the cores… where that is not enough
  double step_a_s = 0;  // A's median step
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

// Every time of every pair that is not zero in both files: different ones first, then what cannot be told, then
// where no difference shows; in each the largest part of a step on top. Empty once `stopped` says so.
std::vector<Difference> differences(const Paired&, const std::function<bool()>& stopped);

// What one of the files reads; its errors name that file.
template <class Read>
auto reading(const Source& source, Read&& read) {
  try {
    return read(source);
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, source.db.getFilename());
  }
}

Table compare_answer_table(const Source& a, const Source& b, const Paired&, const std::vector<Difference>&);
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

std::string signed_time(double seconds);  // "+5.1 ms", "−12 µs"

// Cells of a table's row by column name; monostate when there is no such column.
Cell cell_of(const Table&, const Row&, const std::string& column);
std::string text_of(const Table&, const Row&, const std::string& column);

}  // namespace ddpprof::report
