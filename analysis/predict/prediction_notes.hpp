// The sentences that accompany predictions. They are here and not in analysis/report because predictions are stored in
// the database together with their notes, before a report is made.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "analysis/fit/fit_summary.hpp"
#include "analysis/predict/knees.hpp"
#include "analysis/predict/next_measurement.hpp"
#include "analysis/predict/prediction.hpp"

namespace ddpprof::fit {

class MeasuredJob;

// Returns the assumptions of a prediction at N: sentences separated by "; ".
std::string prediction_note(const Predictor&, std::int64_t workers);
std::string wide_interval_text(const Prediction&);

// Returns the assumption about links between nodes that were not measured. The note of a prediction that needs such
// links begins with it.
std::string links_text(const MeasuredJob&);
// `listed`: the worker counts that need such links, separated by ", ".
Note links_note(const MeasuredJob&, const std::string& listed);
// The same of links inside a node.
std::string inside_links_text();
Note inside_links_note(const MeasuredJob&, const std::string& listed);
// For a link that was named although no predicted N needs one.
Note unused_link_note(const MeasuredJob&);

// Returns what a change of the batch assumes; empty if the measured batches show it.
std::string batch_assumption(const MeasuredJob&, const WhatIf&);

Note communication_bound_note(const Knee&);
// `share`: of the step at this N, in which the device waits for launches. `beyond_measured`: a host-bound N above the
// largest measured one is predicted.
Note host_bound_note(const std::string& strategy, std::int64_t workers, double share, bool beyond_measured);
// `imported`: the data are imports or recordings, so that the job is run outside of ddpprof run. `cores`: the cores of
// the measured ranks, if they are not the usual ones: "on these cores" or "with own cores for each rank".
Note next_measurement_note(const NextMeasurement&, const std::string& strategy, std::int64_t workers, double confidence,
                           bool imported, std::string_view cores);
Note next_batch_note(const NextMeasurement&, const std::string& strategy, std::int64_t workers, double confidence,
                     bool imported);
Note batch_assumed_note(const std::string& strategy, const std::string& assumption);
Note what_if_none_note(const std::string& strategy, const std::string& reason);
Note what_if_none_note(const std::string& strategy, std::int64_t workers, const std::string& reason);
Note uncertain_note(const Prediction&);
Note too_good_note(const Prediction&);
// `listed`: the worker counts, separated by ", ".
Note not_predicted_note(const Models&, const std::string& strategy, const std::string& listed,
                        const std::string& reason);
Note corrected_note(const std::string& strategy, std::int64_t workers, double correction);
// Returns the assumptions of the nccl-tests logs that replace the fitted links.
std::vector<Note> log_notes(const Models&);

}  // namespace ddpprof::fit
