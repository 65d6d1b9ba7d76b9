// Devices by the rules of other tools.
#include "analysis/metrics/overlap_rule.hpp"
#include "analysis/report/core/columns.hpp"
#include "analysis/report/tables/devices/devices.hpp"
#include "simulator/units/units.hpp"

namespace ddpprof::report {

Table hta_table(const Source& source) {
  Table table;
  table.name = "device_time_hta";
  table.title = "Devices by annotated step, by HTA's rule";
  table.note =
      "Calculated as in Holistic Trace Analysis (HTA): microseconds in double precision as read from the trace; "
      "compute includes overlapped communication; non-compute = busy − compute; overlapped share = overlapped / "
      "communication. HTA itself rounds to whole microseconds and leaves out the last step.";
  table.empty =
      "This file has no single device events. Import the trace without --no-raw. Measurements of ddpprof run have no "
      "annotations of a profiler.";
  table.columns = window_columns();
  table.key_columns = window_key_columns;
  append(table, {seconds("compute_s", "compute", "span_s"), seconds("non_compute_s", "non-compute", "span_s"),
                 seconds("idle_s", "idle", "span_s"), seconds("communication_s", "communication", "span_s"),
                 seconds("copies_s", "copies", "span_s"), seconds("overlapped_s", "overlapped", "span_s"),
                 seconds("exposed_s", "exposed", "span_s"), share("overlapped_share", "overlapped share")});
  for (const metrics::HtaTimes& times : metrics::hta_times(source.db)) {
    Row row = window_cells(times.window);
    row.insert(row.end(), {times.span_s, times.compute_s, times.non_compute_s, times.idle_s, times.communication_s,
                           times.copies_s, times.overlapped_s, times.exposed_s, known(times.overlapped_share)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table tensorboard_table(const Source& source) {
  Table table;
  table.name = "device_time_tensorboard";
  table.title = "Devices by annotated step, by the TensorBoard plugin's rule";
  table.note =
      "Definitions of the plugin's distributed view: computation = kernels − overlap, communication = collectives − "
      "overlap, other = rest of the step. Times are unions and intersections of intervals. The plugin itself counts "
      "NCCL kernels as computation if they do not have the id of their annotation, and its figures then differ.";
  table.empty = no_device_events;
  table.columns = window_columns();
  table.key_columns = window_key_columns;
  append(table, {seconds("computation_s", "computation", "span_s"), seconds("overlap_s", "overlap", "span_s"),
                 seconds("communication_s", "communication", "span_s"), seconds("other_s", "other", "span_s")});
  for (const metrics::DeviceWindow& of : metrics::read_device_windows(source.db)) {
    Row row = window_cells(of);
    row.insert(row.end(), {units::ns_to_s(of.span_ns), units::ns_to_s(of.compute_ns - of.overlapped_ns),
                           units::ns_to_s(of.overlapped_ns), units::ns_to_s(of.communication_ns - of.overlapped_ns),
                           units::ns_to_s(of.span_ns - of.compute_ns - of.communication_ns + of.overlapped_ns)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace ddpprof::report
