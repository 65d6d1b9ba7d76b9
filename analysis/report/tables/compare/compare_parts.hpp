// Parts of the comparison. Internal to this folder; callers use compare.hpp.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/report/tables/compare/compare.hpp"
#include "analysis/report/tables/source.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::report {

// A configuration that both files measured: equal in model, strategy, N, batch and accumulation. If a file has several
// of them, the pairs with the most equal other properties are chosen, the most similar pair first. Imports are compared
// even if the names of their models differ or one has no batch. Imports without steps are only compared with each
// other.
//
// If only one file has steps that were timed without the profiler, its configuration is a copy without these steps: the
// traced steps of both files are compared, which contain the profiler's cost alike.
struct Pair {
  const metrics::Configuration* a = nullptr;
  const metrics::Configuration* b = nullptr;
  std::string about;    // "ddp N=4", with the model, the batch, the cores, … if needed to be unique
  double step_a_s = 0;  // A's median step; for imports without steps, the traced time of A's devices
  std::string despite;  // properties that differ although they are compared; usually ""
  std::shared_ptr<const metrics::Configuration> traced = nullptr;  // the copy

  bool has_steps() const { return !a->measured.empty(); }
};

struct Paired {
  std::vector<Pair> both;  // in the order of A
  std::vector<const metrics::Configuration*> only_a, only_b;
};
// The property in which the two configurations of a pair may differ.
enum class Differing { nothing, workers, batch, accumulation };
Paired pair_up(const Source& a, const Source& b, Differing differing = Differing::nothing);

// Relative difference that two runs of the same configuration may have. If a file has one repeat, a smaller difference
// is not reported, and a wider interval cannot show that there is no difference.
inline constexpr double run_to_run = 0.10;
// Times that are 0 in some steps have no ratio: for "no difference shown" the interval must lie within this
// share of a step.
inline constexpr double negligible_of_step = 0.01;

// Reason if nothing could be judged.
inline constexpr const char* took_no_time = "its time is 0 in every step of both files";

struct KernelDifference;

using Samples = std::vector<std::vector<double>>;  // seconds per step, by repeat

struct Difference {
  const Pair* pair = nullptr;
  std::string what;                      // step, compute, …
  double a_s = 0, b_s = 0;               // medians; means if most steps of a file have a time of 0
  std::optional<stats::Interval> ratio;  // B / A; empty if the time is 0 in some steps
  std::string verdict, why;
  double of_step() const;  // (B - A) / A's step
};

// Compares the samples of a time in A and B. Returns nothing if both medians are 0 (compare_judge.cpp).
std::optional<Difference> judged(const Pair&, std::string what, const Samples& in_a, const Samples& in_b);

// Sets verdict and reason from `ratio`, which must not be empty, and the number of repeats of each file.
void judge_ratio(Difference&, std::size_t repeats_a, std::size_t repeats_b);

// Like `judged`, for work of devices:
// - With 3 to 5 steps, order statistics cannot reach 95 %. The interval is then Student's for the difference of mean
//   logarithms (Welch-Satterthwaite degrees of freedom), because durations on a device vary little and randomly.
// - With more than 200 steps in a repeat, the medians of blocks of neighbouring steps are used.
// - If most steps of a file lack this work, the median is 0 and means are used: means of whole periods if the work is
//   periodic (judged_by_cycle), otherwise the interval of B - A (mean_difference_interval).
// Returns nothing if neither file has any time of it.
std::optional<Difference> judged_work(const Pair&, std::string what, const Samples& in_a, const Samples& in_b);

// Returns verdict and reason for work that only one file (A or B) has: different if each of its steps has it and both
// files have at least 3 steps.
std::pair<std::string, std::string> judged_only(const Samples& with, const Samples& without, const std::string& file);

std::vector<double> joined(const Samples&);

// For work that most steps lack (compare_means.cpp).
double mean_of(const Samples&);        // mean of a step in seconds; 0 without steps
bool lacking_in_most(const Samples&);  // some steps have it, but the median is 0
// Interval of mean(B) - mean(A) in seconds: a bootstrap of repeats and of steps within them, widened as in
// stats::clustered_difference_interval. Both must have samples.
stats::Interval mean_difference_interval(const Samples& in_b, const Samples& in_a);

inline constexpr std::size_t resamples = 1000;
// Interval of B - A around `mid` from deviations of resampled estimates of B and of A, of equal number. The deviations
// of a file with n > 1 repeats are widened by sqrt(n / (n - 1)), and the interval for few repeats as in
// stats::clustered_difference_interval.
stats::Interval drawn_interval(double mid, std::vector<double> of_b, std::vector<double> of_a, std::size_t repeats_b,
                               std::size_t repeats_a, std::size_t fewest_samples);
// Like judged_work with the mean of each period, for work that is periodic in both files with three or more periods.
// Returns nothing if it is not periodic.
std::optional<Difference> judged_by_cycle(const Pair&, const std::string& what, const Samples& in_a,
                                          const Samples& in_b);

// Returns all times of all pairs that are not zero in both files: first `different`, then `cannot tell`, then `no
// difference shown`; in each group sorted by the share of a step. Empty if `stopped` returns true.
std::vector<Difference> differences(const Paired&, const std::function<bool()>& stopped);

// Calls `read`; database errors name the file of `source`.
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

// The difference of the step by term, in parts that add up to it (compare_waterfall.cpp).
bool in_waterfall(const Source& a, const Source& b, const Pair&);  // both files recorded the parts of its steps
Table compare_waterfall_table(const Source& a, const Source& b, const Paired&, const std::function<bool()>& stopped);

// Work of the devices, or of the hosts for traces without devices (compare_kernels.cpp).
std::vector<KernelDifference> kernel_differences(const Source& a, const Source& b, const Paired&,
                                                 const std::function<bool()>& stopped);
Table compare_kernels_table(const std::vector<KernelDifference>&);
// Returns the largest significant differences: "gemm (grid 2, block 128) +1.0 ms a step (10 %), …"; "" if there are
// none.
std::string kernels_sentence(const std::vector<KernelDifference>&, const Pair&);

// Collectives by operation and size (compare_collectives.cpp).
Table compare_collectives_table(const Source& a, const Source& b, const Paired&, const std::function<bool()>& stopped);

// Other differences between the files (compare_runs.cpp).
Table compare_files_table(const Source& a, const std::string& path_a, const Source& b, const std::string& path_b);
Table compare_settings_table(const Source& a, const Source& b, const Paired&, const std::vector<KeyDifference>&);
Table compare_notices_table(const Source& a, const Source& b);

// Fits (compare_fits.cpp).
Table compare_fits_table(const Source& a, const Source& b);
Table compare_parameters_table(const Source& a, const Source& b);

std::string signed_time(double seconds);  // "+5.1 ms", "−12 µs"

// Returns the cell of a row by column name, an unknown cell (monostate) if the column does not exist. cell_of() of
// core/table.hpp throws in that case.
Cell cell_or_unknown(const Table&, const Row&, const std::string& column);
std::string text_of(const Table&, const Row&, const std::string& column);

}  // namespace ddpprof::report
