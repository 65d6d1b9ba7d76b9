// The state of all controls of the scaling page, and the prediction that they ask for.
//
// measured_knobs is the state as measured; a knob that equals it is not a change. The changes are written as options of
// `ddpprof predict --what-if` and parsed again, so that window and command line ask the same question.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/opened_file.hpp"
#include "gui/models/selection.hpp"

namespace ddpprof::gui::whatif {

inline constexpr std::int64_t most_workers = 4096;

enum class KnobId {
  workers,
  strategy,
  gpus_per_node,
  inter_node,
  dedicated,
  bandwidth,
  latency,
  bucket_cap,
  sixteen_bit,
  overlap,
  batch,
  accumulation,
  compute,
  host,
  servers,
};

struct Knobs {
  std::int64_t workers = 8;      // N
  std::string strategy = "ddp";  // ddp or dp; zero1, zero2, zero3, ps and async-ps are simulated from the steps of ddp
  std::int64_t gpus_per_node = 0;                        // fit::PredictOptions::gpus_per_node
  std::string inter_node{collective::NodeLinks::usual};  // text of fit::PredictOptions::inter_node
  bool dedicated = false;                                // true: every rank has as many cores as one rank has at N = 1
  double bandwidth = 1.0, latency = 1.0, compute = 1.0;  // factors on the fitted values
  double host = 1.0;                                     // factor on the speed of the host's launches
  bool has_host = false;                                 // the device waits for launches; never on a CPU
  bool has_cores = true;                                 // ranks compute on the host's cores, which they may share
  double bucket_cap_mb = 25.0;
  std::string sixteen_bit;  // "", compression=fp16, compression=bf16, precision=fp16, precision=bf16
  bool overlap = true;
  std::int64_t batch = 0;  // samples of one micro-batch of one worker; 0: unknown
  std::int64_t accumulation = 1;
  std::int64_t servers = 1;  // parameter servers

  bool operator==(const Knobs&) const = default;
  std::string base_strategy() const { return strategy == "dp" ? "dp" : "ddp"; }
};

// Returns the knobs as measured, for a measured strategy. N is the largest N that the file predicts, as in the table
// what_helps; without stored predictions the largest N that the scenario asks to predict, and at least 64.
Knobs measured_knobs(const OpenedFile&, const std::string& strategy);
// Returns the strategy shown first: ddp if it was measured, otherwise dp.
std::string first_strategy(const OpenedFile&);

bool differs(const Knobs&, const Knobs& measured, KnobId);
void reset(Knobs&, const Knobs& measured, KnobId);

// Returns KEY=VALUE for every change; empty if nothing was changed. N, ranks per host and cores are not changes: they
// describe the machine.
std::vector<std::string> what_if_items(const Knobs&, const Knobs& measured);
fit::WhatIf what_if(const Knobs&, const Knobs& measured);
// Returns the change without the parts that do not apply to one worker: links, and strategies that divide work between
// workers.
fit::WhatIf for_one_worker(const fit::WhatIf&);

// Returns the file's options with the machine that the knobs describe.
fit::PredictOptions predict_options(const OpenedFile&, const Knobs&);

// Returns the ranks per host that 0 (automatic) stands for; nullopt if all ranks are on one host, or without
// ddp and FSDP.
std::optional<std::int64_t> automatic_gpus_per_node(const OpenedFile&);
// Returns a chosen number as text: "4 GPUs per node".
std::string gpus_per_node_text(std::int64_t gpus_per_node);

// Returns N, machine and logs of the links, if they differ from those of the file's own predictions. `knobs` of a file
// with models.
std::optional<PredictionChoice> prediction_choice(const OpenedFile&, const Knobs&);

// The same question as a shell command: "ddpprof predict run.db --workers 1,2,64 --what-if bandwidth=2x".
std::string command_line(const OpenedFile&, const Knobs&, const Knobs& measured,
                         const std::vector<std::int64_t>& workers);

}  // namespace ddpprof::gui::whatif
