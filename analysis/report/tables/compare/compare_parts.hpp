// What the tables of a comparison are put together from. Internal to the report library; callers use compare.hpp.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/tables/compare/compare.hpp"
#include "analysis/report/tables/source.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::report {

// A configuration that both files measured: equal in model, strategy, N, batch and accumulation; where a file has
// several such, those that are alike in most of the rest, the most alike of all first. Imports are compared whatever
// their models are called, and where one does not say its batch; those without a step with each other.
struct Pair {
  const metrics::Configuration* a = nullptr;
  const metrics::Configuration* b = nullptr;
  std::string about;    // "ddp N=4", with the model, the batch, the cores… where that is not enough
  double step_a_s = 0;  // A's median step; of imports without steps how long A's devices were traced
  std::string despite;  // in what they differ and are compared all the same; "" mostly

  bool has_steps() const { return !a->measured.empty(); }
};

struct Paired {
  std::vector<Pair> both;  // in the order of A
  std::vector<const metrics::Configuration*> only_a, only_b;
};
Paired pair_up(const Source& a, const Source& b);

// Two runs of the same thing may differ by so much; where a file has one repeat, less is not called a difference, and
// an interval wider than this does not show that there is none.
inline constexpr double run_to_run = 0.10;
// A time that some steps lack has no ratio: it must lie within so much of a step for "no difference shown".
inline constexpr double negligible_of_step = 0.01;

// Why nothing of it could be judged.
inline constexpr const char* took_no_time = "its time is 0 in every step of both files";

struct KernelDifference;

using Samples = std::vector<std::vector<double>>;  // in seconds a step, by repeat

struct Difference {
  const Pair* pair = nullptr;
  std::string what;                      // step, compute, …
  double a_s = 0, b_s = 0;               // medians; means of work that most steps of a file lack
  std::optional<stats::Interval> ratio;  // B / A; none where some steps have nothing of it
  std::string verdict, why;
  double of_step() const;  // (B - A) / A's step
};

// A time's samples of A and of B, in seconds a step, by repeat; none where both medians are 0 (compare_judge.cpp).
std::optional<Difference> judged(const Pair&, std::string what, const Samples& in_a, const Samples& in_b);

// As above, of what a device did: of 3 to 5 steps, where order statistics reach no 95 %, the interval is Student's of
// the difference of mean logarithms (Welch's and Satterthwaite's degrees of freedom), as durations on a device scatter
// little and by chance. Of more than 200 steps in a repeat neighbours are taken together, by their median. Of work that
// most steps of a file lack everything is of means, as a median does not see it: of every so many steps together where
// it comes at equal distances (judged_by_cycle), else by the interval of B - A (mean_difference_interval). None where
// neither file has any time of it.
std::optional<Difference> judged_work(const Pair&, std::string what, const Samples& in_a, const Samples& in_b);

// Verdict and why of what one file alone, A or B, has: different where each of its steps has it, at least 3 in each
// file.
std::pair<std::string, std::string> judged_only(const Samples& with, const Samples& without, const std::string& file);

std::vector<double> joined(const Samples&);

// Of work that most steps lack (compare_means.cpp).
double mean_of(const Samples&);        // of a step, in seconds; 0 without steps
bool lacking_in_most(const Samples&);  // some steps have it, the median one does not
// mean(B) - mean(A) in seconds: a bootstrap of repeats first and steps within them next, widened as
// stats::clustered_difference_interval is. Both must have a sample.
stats::Interval mean_difference_interval(const Samples& in_b, const Samples& in_a);
// As judged_work, of the means of each period, of work that each file has at equal distances of steps, three times or
// more; none where a file has it otherwise.
std::optional<Difference> judged_by_cycle(const Pair&, const std::string& what, const Samples& in_a,
                                          const Samples& in_b);

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

Table compare_answer_table(const Source& a, const Source& b, const Paired&, const std::vector<Difference>&,
                           const std::vector<KernelDifference>&);
Table compare_time_table(const std::vector<Difference>&);
Table compare_throughput_table(const std::vector<Difference>&);
Table only_in_one_table(const Paired&);

// What the devices ran, or the hosts of traces without devices (compare_kernels.cpp).
std::vector<KernelDifference> kernel_differences(const Source& a, const Source& b, const Paired&,
                                                 const std::function<bool()>& stopped);
Table compare_kernels_table(const std::vector<KernelDifference>&);
// "gemm (grid 2, block 128) +1.0 ms a step (10 %), …": those that differ for sure and most; "" where none does.
std::string kernels_sentence(const std::vector<KernelDifference>&, const Pair&);

// Collectives by operation and size (compare_collectives.cpp).
Table compare_collectives_table(const Source& a, const Source& b, const Paired&, const std::function<bool()>& stopped);

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
