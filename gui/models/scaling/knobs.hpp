// The state of every control of the scaling page, and what it asks of a prediction.
//
// Knobs in a state of their own are no change: measured_knobs is what was measured. The change is put into the words of
// `ddpprof predict --what-if` and read back from them, so that the window and the command line ask the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/opened_file.hpp"

namespace ddpprof::gui::whatif {

inline constexpr std::int64_t most_workers = 4096;

enum class KnobId {
  workers,
  strategy,
  gpus_per_node,
  dedicated,
  bandwidth,
  latency,
  bucket_cap,
  sixteen_bit,
  overlap,
  batch,
  accumulation,
  compute,
  servers,
};

struct Knobs {
  std::int64_t workers = 8;        // N
  std::string strategy = "ddp";    // ddp, dp; zero1, zero2, zero3, ps, async-ps: simulated from ddp's steps
  std::int64_t gpus_per_node = 0;  // ranks per host; 0: all on one host
  bool dedicated = false;          // every rank has the cores of one rank at N = 1
  double bandwidth = 1.0, latency = 1.0, compute = 1.0;  // so many times the fitted
  double bucket_cap_mb = 25.0;
  std::string sixteen_bit;  // "", compression=fp16, compression=bf16, precision=fp16, precision=bf16
  bool overlap = true;
  std::int64_t batch = 0;  // of one micro-batch on one worker; 0: the file does not say
  std::int64_t accumulation = 1;
  std::int64_t servers = 1;  // parameter servers

  bool operator==(const Knobs&) const = default;
  std::string base_strategy() const { return strategy == "dp" ? "dp" : "ddp"; }
};

// As measured, for a strategy that was; N is the largest that the file's scenario asks to predict.
Knobs measured_knobs(const OpenedFile&, const std::string& strategy);
// The strategy a file opens with: ddp where it was measured, else dp.
std::string first_strategy(const OpenedFile&);

bool differs(const Knobs&, const Knobs& measured, KnobId);
void reset(Knobs&, const Knobs& measured, KnobId);

// KEY=VALUE of everything that is a change; empty where nothing is. N, ranks per host and cores are no change: they say
// which machine is asked about.
std::vector<std::string> what_if_items(const Knobs&, const Knobs& measured);
fit::WhatIf what_if(const Knobs&, const Knobs& measured);
// The change less what one worker has none of: links, and strategies that share between workers.
fit::WhatIf for_one_worker(const fit::WhatIf&);

// The machine asked about, of the file's own options.
fit::PredictOptions predict_options(const OpenedFile&, const Knobs&);

// The same question for a shell: "ddpprof predict run.db --workers 1,2,64 --what-if bandwidth=2x".
std::string command_line(const OpenedFile&, const Knobs&, const Knobs& measured,
                         const std::vector<std::int64_t>& workers);

}  // namespace ddpprof::gui::whatif
