#include "gui/models/strategies/strategy_tables.hpp"

#include <cmath>

#include "analysis/report/core/columns.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::gui {
namespace {

using report::Cell;
using units::format_quantity;

// The general facts come from PyTorch's documentation. The table's note has the addresses.
constexpr const char* dp_docs = "PyTorch: DataParallel";
constexpr const char* ddp_docs = "PyTorch: Distributed DataParallel";
constexpr const char* ddp_notes = "PyTorch notes: DDP";
constexpr const char* cuda_notes = "PyTorch notes: CUDA";
constexpr const char* tutorial = "PyTorch tutorial: DDP";
constexpr const char* addresses =
    "Sources, on docs.pytorch.org: docs/stable/generated/torch.nn.DataParallel.html, "
    "docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html, docs/stable/notes/ddp.html, "
    "docs/stable/notes/cuda.html#cuda-nn-ddp-instead, tutorials/intermediate/ddp_tutorial.html.";

std::string of_step(const store::PredictionRow& row, double part_s) {
  return format_quantity(part_s, "s") + " (" + units::percent(part_s / row.step_s, 3) + ")";
}

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

Cell known(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

std::string tag(const Side& side) { return side.measured ? "measured" : "simulated"; }

std::string parts_tag(const Side& side) {
  return side.measured && side.parts_simulated ? "measured, parts simulated" : tag(side);
}

std::string processes(const Comparison& all, const Side& side) {
  if (!side.in_file) return "";
  if (side.strategy == "dp") return "1 process, " + counted(all.workers, "replica", "replica threads");
  return counted(all.workers, "process", "processes") + (side.backend.empty() ? "" : ", " + side.backend);
}

std::string at_work(const Side& side) {
  if (!side.row) return "";
  std::string text = "computing " + units::percent(side.parts.compute_s / side.row->step_s, 3) + " of a step of " +
                     format_quantity(side.row->step_s, "s") + " (" + parts_tag(side) + ")";
  if (side.parts.host_s > 0.0)
    text += "; waiting for the host's launches " + units::percent(side.parts.host_s / side.row->step_s, 3);
  if (side.parts.other_s > 0.1 * side.row->step_s)
    text += "; input, buffers and gaps " + units::percent(side.parts.other_s / side.row->step_s, 3);
  return text;
}

std::string synchronisation(const Comparison& all, const Side& side) {
  if (!side.row) return "";
  const store::PredictionRow& row = *side.row;
  if (all.workers == 1) return "none: one worker";
  const TimeParts& parts = side.parts;
  if (side.strategy == "dp") return "copies: " + of_step(row, parts.exposed_s);
  const double waiting_s = parts.exposed_s + parts.skew_s;
  std::string text = "exposed: " + of_step(row, waiting_s);
  if (parts.skew_s > 0.0) text += ", including waiting for slower ranks: " + format_quantity(parts.skew_s, "s");
  if (parts.skew_s > 0.0 && side.waits_estimated) text += " (estimated: not all ranks were imported)";
  if (parts.hidden_s > 0.0)
    text += "; hidden: " + units::percent(parts.hidden_s / (parts.hidden_s + waiting_s), 3) + " of all communication";
  return text;
}

std::string machines(const Side& side) {
  if (!side.in_file) return "";
  return side.strategy == "dp" ? "1 host" : "measured on " + counted(side.hosts, "host", "hosts");
}

std::string scaling(const Comparison& all, const Side& side) {
  if (!side.row) return "";
  std::string text = "weak efficiency " + units::percent(side.row->efficiency, 3) +
                     " at N = " + std::to_string(all.workers) + " (" + tag(side) + ")";
  if (side.row->throughput > 0.0) text += ", " + format_quantity(side.row->throughput, "samples/s", 4);
  if (side.half_efficient_up_to)
    text += "; at least 50 % up to N = " + std::to_string(*side.half_efficient_up_to);
  else
    text += "; below 50 % from N = 2 on";
  return text;
}

std::string memory(const Side& side) {
  if (!side.memory.device_0_bytes) return side.memory.source;
  std::string text = format_quantity(*side.memory.device_0_bytes, "B");
  if (side.memory.others_bytes) text += ", other devices " + format_quantity(*side.memory.others_bytes, "B");
  return text + " (" + side.memory.source + ")";
}

std::string traffic(const Side& side) {
  if (!side.traffic.sent_bytes || !side.traffic.received_bytes) return side.traffic.source;
  return "sends " + format_quantity(*side.traffic.sent_bytes, "B") + ", receives " +
         format_quantity(*side.traffic.received_bytes, "B");
}

bool apart(const store::PredictionRow& faster, const store::PredictionRow& slower) {
  return faster.step_high_s < slower.step_low_s;
}

std::string ahead(const Comparison& all) {
  if (!all.both_predicted) return "";
  const std::int64_t near = all.near_measured();
  const std::string here = all.shares_cores ? " On these cores, " : " ";
  const std::string measured =
      " (predicted from N ≤ " + std::to_string(std::min(all.dp.largest_measured, all.ddp.largest_measured)) + ")";
  if (!all.ddp_ahead_from || *all.ddp_ahead_from > near)
    return near <= all.workers ? ""
                               : here + "DataParallel stays faster at least up to N = " + std::to_string(near) +
                                     measured + "; larger N are too far from the measured ones to tell.";
  if (*all.ddp_ahead_from <= all.workers) return "";
  return here + "DDP is faster from N = " + std::to_string(*all.ddp_ahead_from) + " on" + measured + ".";
}

std::string gil_of(const Side& side, const char* in_cpp) {
  if (!side.in_file) return "";
  return side.imported ? "not recorded in the trace" : in_cpp;
}

}  // namespace

std::string recommendation(const Comparison& all) {
  const std::string at = "at N = " + std::to_string(all.workers);
  if (!all.dp.row && !all.ddp.row) return "Cannot compare: " + all.ddp.why_not + ".";
  if (!all.dp.row || !all.ddp.row) {
    const Side& known_side = all.dp.row ? all.dp : all.ddp;
    const Side& other = all.dp.row ? all.ddp : all.dp;
    return "Only " + std::string(known_side.strategy == "dp" ? "DataParallel" : "DDP") + " has data " + at + ": " +
           other.why_not + ". PyTorch recommends DDP.";
  }
  const store::PredictionRow& dp = *all.dp.row;
  const store::PredictionRow& ddp = *all.ddp.row;
  const bool measured = all.dp.measured && all.ddp.measured;
  const std::string how = measured ? " (measured)" : " (simulated)";
  // If the samples of a step were not recorded, the same number is assumed for both.
  const double ratio =
      ddp.throughput > 0.0 && dp.throughput > 0.0 ? ddp.throughput / dp.throughput : dp.step_s / ddp.step_s;
  const auto times = [](double value) { return units::format_significant(value, 3) + " times "; };
  const std::string no_lock =
      all.dp.imported ? "" : " Python's DataParallel is slower than this one, because of its GIL.";
  if (all.workers == 1)
    return "One worker exchanges nothing: the throughput of DDP is " + times(ratio) + "that of the model alone" + how +
           ".";
  if (ratio >= 1.0 && apart(ddp, dp))
    return "DDP has " + times(ratio) + "the throughput of DataParallel " + at + how + "." + no_lock;
  if (ratio < 1.0 && apart(dp, ddp))
    return "DataParallel has " + times(1.0 / ratio) + "the throughput of DDP " + at + how + "." + ahead(all) + no_lock;
  return "No clear difference " + at + ": DDP has " + times(ratio) + "the throughput of DataParallel" + how +
         ", but the intervals of the steps overlap. PyTorch recommends DDP." + no_lock;
}

report::Table comparison_table(const Comparison& all) {
  report::Table table;
  table.name = "strategies";
  table.title = "DataParallel and DDP at N = " + std::to_string(all.workers);
  table.note =
      "General properties with their source, and the results of this file. " +
      std::string(all.dp.imported || all.ddp.imported ? ""
                                                      : "Both strategies are measured in C++, without Python's GIL. ") +
      addresses;
  table.columns = {report::text("aspect", "aspect"),       report::prose("dp", "DataParallel"),
                   report::prose("dp_here", "this file"),  report::prose("ddp", "DDP"),
                   report::prose("ddp_here", "this file"), report::prose("source", "source")};
  table.key_columns = 1;
  const auto add = [&](const char* aspect, const char* dp, const std::string& dp_here, const char* ddp,
                       const std::string& ddp_here, const std::string& source) {
    table.rows.push_back(
        {std::string(aspect), std::string(dp), known(dp_here), std::string(ddp), known(ddp_here), known(source)});
  };
  add("process model", "one process with one thread per replica", processes(all, all.dp), "one process per rank",
      processes(all, all.ddp), cuda_notes);
  add("Python's GIL", "all replica threads share one interpreter lock",
      gil_of(all.dp, "not used (C++); Python's DataParallel is slower"), "each process has its own interpreter",
      gil_of(all.ddp, "not used (C++)"), cuda_notes);
  add("GPU (or core) utilisation", "all devices wait while device 0 copies, gathers and runs the optimizer",
      at_work(all.dp), "all devices compute at the same time; they wait for all-reduces that backward does not hide",
      at_work(all.ddp), ddp_notes);
  add("synchronisation", "each step copies from device 0 and back, without overlap", synchronisation(all, all.dp),
      "gradient buckets are all-reduced while backward runs", synchronisation(all, all.ddp), ddp_notes);
  add("several machines", "no", machines(all.dp), "yes", machines(all.ddp), tutorial);
  add("scaling", "device 0 sends to and receives from every replica in turn", scaling(all, all.dp),
      "every rank exchanges the same amount of data", scaling(all, all.ddp), ddp_docs);
  add("memory of device 0", "its replica, the optimizer state, the whole batch and all outputs", memory(all.dp),
      "the same as on every rank: model, gradients, optimizer state and buckets", memory(all.ddp), dp_docs);
  add("traffic of the busiest device per step", "grows with N", traffic(all.dp),
      "less than twice the gradients in each direction at any N", traffic(all.ddp), all.ddp.traffic.source);
  add("recommendation", "not recommended, even on one machine", "", "recommended for one and for several machines",
      recommendation(all), dp_docs);
  return table;
}

report::Table time_table(const Comparison& all) {
  report::Table table;
  table.name = "strategy_times";
  table.title = "Where the step goes at N = " + std::to_string(all.workers);
  table.note =
      "The parts add up to the step. Measured: median step × the mean share of each part, as printed by ddpprof "
      "predict. Simulated: the parts of the first lane. Exposed: communication not hidden by compute, without waiting "
      "for slower ranks; for DataParallel, the copies.";
  table.empty = all.ddp.why_not;
  table.columns = {report::text("strategy", "strategy"),
                   report::count("workers", "N", "workers"),
                   report::text("source", "source"),
                   report::seconds("step_s", "step"),
                   report::seconds("compute_s", "compute", "step_s"),
                   report::seconds("exposed_s", "exposed or copies", "step_s"),
                   report::seconds("skew_s", "slower ranks", "step_s"),
                   report::seconds("host_s", "waiting for launches", "step_s"),
                   report::seconds("other_s", "input and other", "step_s"),
                   report::seconds("not_modelled_s", "not modelled", "step_s"),
                   report::share("efficiency", "weak efficiency"),
                   report::quantity("throughput_samples_per_s", "throughput", "samples/s")};
  std::ranges::find(table.columns, std::string_view("host_s"), &report::Column::name)->hide_zero = true;
  table.key_columns = 1;
  for (const Side* side : {&all.dp, &all.ddp}) {
    if (!side->row) continue;
    const store::PredictionRow& row = *side->row;
    const TimeParts& parts = side->parts;
    table.rows.push_back({side->strategy, all.workers, parts_tag(*side), row.step_s, parts.compute_s, parts.exposed_s,
                          parts.skew_s, parts.host_s, parts.other_s, parts.not_modelled_s, row.efficiency,
                          row.throughput > 0.0 ? Cell(row.throughput) : Cell()});
  }
  return table;
}

report::Table device_table(const Comparison& all) {
  report::Table table;
  table.name = "strategy_devices";
  table.title = "Device 0 at N = " + std::to_string(all.workers);
  table.note = "Memory: peak of all tensors. Traffic: bytes that the busiest device sends and receives in one step.";
  table.columns = {report::text("strategy", "strategy"),
                   report::quantity("device0_peak_bytes", "memory of device 0", "B"),
                   report::quantity("others_peak_bytes", "memory of the others", "B"),
                   report::quantity("sent_bytes", "sent", "B"),
                   report::quantity("received_bytes", "received", "B"),
                   report::prose("memory_source", "source of memory"),
                   report::prose("traffic_source", "source of traffic")};
  table.key_columns = 1;
  const auto cell = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(); };
  for (const Side* side : {&all.dp, &all.ddp})
    table.rows.push_back({side->strategy, cell(side->memory.device_0_bytes), cell(side->memory.others_bytes),
                          cell(side->traffic.sent_bytes), cell(side->traffic.received_bytes),
                          known(side->memory.source), known(side->traffic.source)});
  return table;
}

}  // namespace ddpprof::gui
