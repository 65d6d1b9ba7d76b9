// The tables. A table must come after the tables that it refers to.
#include <array>

#include "tracer/store/schema/schema.hpp"

namespace ddpprof::store {
namespace {

constexpr std::array meta_columns = {
    Column{"key", "TEXT PRIMARY KEY", "", "what: format, program_version, created_utc"},
    Column{"value", "TEXT NOT NULL", "", "its value"},
};

constexpr std::array scenario_columns = {
    Column{"id", "INTEGER PRIMARY KEY", "", ""},
    Column{"name", "TEXT NOT NULL", "", "the scenario's name"},
    Column{"path", "TEXT NOT NULL", "", "the file's name from the command line, without its folder"},
    Column{"source", "TEXT NOT NULL", "", "the YAML text as read"},
    Column{"resolved", "TEXT NOT NULL", "",
           "the scenario with every default filled in and every --set applied, as YAML"},
};

constexpr std::array measurement_columns = {
    Column{"id", "INTEGER PRIMARY KEY", "", ""},
    Column{"scenario_id", "INTEGER REFERENCES scenario(id)", "", "NULL for bench-comm and imports"},
    Column{"kind", "TEXT NOT NULL", "", "train, bench-comm or import"},
    Column{"strategy", "TEXT NOT NULL", "",
           "ddp or dp; of imports also fsdp, of tables of step times also hsdp and zero1 to zero3, and without "
           "predictions "
           "sharded or other; none for bench-comm"},
    Column{"world_size", "INTEGER NOT NULL", "workers", "N: ranks of DDP, replicas of DataParallel"},
    Column{"repeat", "INTEGER NOT NULL", "", "0-based repetition of the same configuration"},
    Column{"backend", "TEXT NOT NULL", "",
           "gloo, mpi, nccl, threads (DataParallel on a CPU), or unknown (a table of step times)"},
    Column{"device", "TEXT NOT NULL", "", "cpu, cuda, or unknown (a table of step times)"},
    Column{"model", "TEXT NOT NULL", "", "the model as the scenario names it, e.g. resnet18 or mlp-784-10-10-10"},
    Column{"parameter_count", "INTEGER NOT NULL", "", "trained scalars"},
    Column{"parameter_bytes", "INTEGER NOT NULL", "bytes", "size of all gradients"},
    Column{"batch_per_worker", "INTEGER NOT NULL", "samples", "one micro-batch on one worker; 0: unknown (import)"},
    Column{"accumulation", "INTEGER NOT NULL", "micro-batches", "micro-batches per optimizer step"},
    Column{"precision", "TEXT NOT NULL", "", "fp32, bf16, or recorded (an import)"},
    Column{"threads_per_rank", "INTEGER NOT NULL", "threads", "intra-op threads of one rank or replica; 0: unknown"},
    Column{"cores", "INTEGER NOT NULL", "cores", "cores this process may use on the host; 0: unknown"},
    Column{"oversubscription", "REAL NOT NULL", "",
           "compute threads of all local ranks / cores; above 1 ranks share cores"},
    Column{"nodes", "INTEGER NOT NULL", "hosts", "distinct hosts"},
    Column{"versions", "TEXT NOT NULL", "",
           "JSON: ddpprof, torch, cuda, nccl, compiler; processor and gpu, the machine's models, where ddpprof run "
           "measured"},
    Column{"options", "TEXT NOT NULL", "",
           "JSON: bucket caps, gradient_as_bucket_view, optimizer, learning rate, seed; sync, if it is not every_step; "
           "started_by and job of ranks that another launcher started; run: which run of ddpprof run -- COMMAND"},
    Column{"started_utc_ns", "INTEGER NOT NULL", "ns", "since 1970, CLOCK_REALTIME"},
    Column{"wall_ns", "INTEGER NOT NULL", "ns", "launch to last exit"},
    Column{"status", "TEXT NOT NULL", "", "ok, failed or partial"},
    Column{"message", "TEXT NOT NULL", "", "the reason if it is not ok"},
    Column{
        "machines", "INTEGER", "",
        "distinct pools of processors: containers of one machine are several hosts and one pool; NULL: one per host"},
};

constexpr std::array shard_columns = {
    Column{"id", "INTEGER PRIMARY KEY", "", ""},
    Column{"measurement_id", "INTEGER NOT NULL REFERENCES measurement(id)", "", ""},
    Column{"rank", "INTEGER NOT NULL", "", "global rank; 0 for DataParallel's one process"},
    Column{"host", "TEXT NOT NULL", "", ""},
    Column{"boot_id", "TEXT NOT NULL", "", "equal ids share one monotonic clock"},
    Column{"pid", "INTEGER NOT NULL", "", ""},
    Column{"process", "TEXT NOT NULL", "", "the process's name"},
    Column{"closed", "INTEGER NOT NULL", "", "1 if the process ended regularly"},
    Column{"clock_reference", "TEXT NOT NULL", "", "same-clock, exchange or unknown: how the offset was found"},
    Column{"clock_offset_ns", "INTEGER NOT NULL", "ns", "rank 0's time minus this shard's time, at clock_at_ns"},
    Column{"clock_drift_ppb", "REAL NOT NULL", "ppb", "change of the offset per second after clock_at_ns"},
    Column{"clock_at_ns", "INTEGER NOT NULL", "ns", "this shard's time at which clock_offset_ns holds"},
    Column{"clock_uncertainty_ns", "INTEGER", "ns",
           "half the smallest round trip, and where no drift is known 100 ppm of the time from there to the shard's "
           "farthest event; 0 on one host; NULL when unknown"},
    Column{"measured_offset_ns", "INTEGER", "ns", "the result of the exchange, also if the clock is shared"},
    Column{"raw_kept", "INTEGER NOT NULL", "", "1 if the shard's raw events are in this file"},
};

constexpr std::array host_condition_columns = {
    Column{"measurement_id", "INTEGER NOT NULL REFERENCES measurement(id)", "", ""},
    Column{"host", "TEXT NOT NULL", "", ""},
    Column{"ranks", "INTEGER NOT NULL", "", "processes of this measurement on the host"},
    Column{"window_ns", "INTEGER NOT NULL", "ns",
           "from before the last three warm-up steps to the last measured step's end"},
    Column{"cpus", "INTEGER", "", "processors online; the shares below refer to them"},
    Column{"ranks_share", "REAL", "", "processor time of the ranks"},
    Column{"others_share", "REAL", "",
           "user and system time of all other processes; NULL if the window has too few ticks"},
    Column{"interrupt_share", "REAL", "", "interrupts and softirqs: the work of the network, of all processes"},
    Column{"steal_share", "REAL", "", "time that the hypervisor gave to other virtual machines"},
    Column{"frequency_begin_hz", "REAL", "Hz", "of the fastest processor at the start of the window"},
    Column{"frequency_end_hz", "REAL", "Hz", "of the fastest processor at the end of the window"},
    Column{"load_begin", "REAL", "", "load average of the minute before the window's start"},
    Column{"load_end", "REAL", "", "load average of the minute before the window's end"},
    Column{"thermal_throttles", "INTEGER", "", "how often a core or package was slowed because of its temperature"},
    Column{"quota_throttled_ns", "INTEGER", "ns", "time for which the cgroup's quota stopped its threads"},
    Column{"voluntary_switches", "INTEGER", "", "context switches of the ranks' threads because they waited"},
    Column{"involuntary_switches", "INTEGER", "",
           "context switches of the ranks' threads because another thread got the core"},
    Column{"major_faults", "INTEGER", "", "pages of the ranks that were read from a disk"},
};

constexpr std::array memory_columns = {
    Column{"measurement_id", "INTEGER NOT NULL REFERENCES measurement(id)", "", ""},
    Column{"rank", "INTEGER NOT NULL", "", "global rank; 0 for DataParallel's one process"},
    Column{
        "device", "INTEGER NOT NULL", "",
        "0: DDP's own device, or DataParallel's root and its first replica; 1 …: its other replicas; -1: the process "
        "as a whole"},
    Column{"held_bytes", "INTEGER", "bytes", "tensors after the last measured step; NULL for the process"},
    Column{"peak_bytes", "INTEGER NOT NULL", "bytes",
           "tensors: the maximum during the measured steps; process: the largest resident size"},
};

constexpr std::array parameter_columns = {
    Column{"measurement_id", "INTEGER NOT NULL REFERENCES measurement(id)", "", ""},
    Column{"parameter", "INTEGER NOT NULL", "", "registration order"},
    Column{"name", "TEXT NOT NULL", "", ""},
    Column{"numel", "INTEGER NOT NULL", "", "scalars"},
    Column{"bytes", "INTEGER NOT NULL", "bytes", "of its gradient"},
};

constexpr std::array bucket_columns = {
    Column{"measurement_id", "INTEGER NOT NULL REFERENCES measurement(id)", "", ""},
    Column{"generation", "INTEGER NOT NULL", "", "0: first iteration, 1: rebuilt in ready order"},
    Column{"bucket", "INTEGER NOT NULL", "", "launch order"},
    Column{"position", "INTEGER NOT NULL", "", "place inside the bucket"},
    Column{"parameter", "INTEGER NOT NULL", "", "registration order"},
};

constexpr std::array step_columns = {
    Column{"id", "INTEGER PRIMARY KEY", "", ""},
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"step", "INTEGER NOT NULL", "", "0-based over the whole process"},
    Column{"kind", "TEXT NOT NULL", "",
           "warmup, measured, unwrapped (without the DDP wrapper) or untraced (timed without the profiler: it has no "
           "parts)"},
    Column{"samples", "INTEGER NOT NULL", "samples", "trained on by this rank (all replicas for dp)"},
    Column{"start_ns", "INTEGER NOT NULL", "ns", "this shard's clock"},
    Column{"duration_ns", "INTEGER NOT NULL", "ns",
           "step time on this rank; steps follow each other within microseconds"},
    Column{"data_wait_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"host_to_device_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"buffers_ns", "INTEGER NOT NULL", "ns", "buffer broadcast"},
    Column{"forward_ns", "INTEGER NOT NULL", "ns", "host time; on a GPU the time to launch it, not to compute it"},
    Column{"backward_ns", "INTEGER NOT NULL", "ns",
           "host time until the last wait and copy back; on a GPU the time to launch"},
    Column{"optimizer_ns", "INTEGER NOT NULL", "ns", "host time; on a GPU the time to launch"},
    Column{"copy_ns", "INTEGER NOT NULL", "ns", "dp: replicate + scatter + gather + reduce"},
    Column{"compute_ns", "INTEGER NOT NULL", "ns",
           "union of the intervals in which the compute threads (or kernels) are busy"},
    Column{"communication_ns", "INTEGER NOT NULL", "ns", "union of the intervals in which a collective is in flight"},
    Column{"overlapped_ns", "INTEGER NOT NULL", "ns", "communication that intersects compute"},
    Column{"exposed_ns", "INTEGER NOT NULL", "ns", "communication minus compute"},
    Column{"skew_ns", "INTEGER NOT NULL", "ns",
           "waiting for slower ranks: union over its collectives of [start, start + skew_ns], inside the step"},
    Column{"loss", "REAL", "", "NULL: not recorded or not a number (see diagnostic loss_not_finite)"},
    Column{"learning_rate", "REAL", "", "that the optimizer used; NULL: not recorded"},
    Column{
        "local_gradient_sqr", "REAL", "",
        "squared norm of this rank's own gradient before the all-reduce; on one rank the mean over its micro-batches; "
        "NULL: not measured in this step"},
    Column{"gradient_sqr", "REAL", "", "squared norm of the gradient that the optimizer used; NULL: not measured"},
    Column{
        "device_idle_ns", "INTEGER", "ns",
        "the device waits for the host's launches: no kernel, copy or collective runs, the step does not wait for data, "
        "and (in imports) the next kernel had not been launched before; NULL: no kernel was recorded, as on a CPU"},
};

constexpr std::array phase_columns = {
    Column{"step_id", "INTEGER NOT NULL REFERENCES step(id)", "", ""},
    Column{"name", "TEXT NOT NULL", "", "forward, backward, optimizer, data_wait, load_batch, replicate, …"},
    Column{"lane", "INTEGER NOT NULL", "",
           "0: the step's own thread; 1 + replica for DataParallel's threads, −1 − thread for the data loader's"},
    Column{"start_ns", "INTEGER NOT NULL", "ns", "since the step's start"},
    Column{"duration_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"bytes", "INTEGER", "bytes", "copied bytes; NULL: not a copy"},
};

constexpr std::array grad_ready_columns = {
    Column{"step_id", "INTEGER NOT NULL REFERENCES step(id)", "", ""},
    Column{"parameter", "INTEGER NOT NULL", "", "registration order"},
    Column{"ready_ns", "INTEGER NOT NULL", "ns", "since the step's start; in the last micro-batch"},
};

constexpr std::array collective_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"step_id", "INTEGER REFERENCES step(id)", "", "NULL outside a step"},
    Column{"communicator", "INTEGER NOT NULL", "",
           "hash of the group's name, as a signed 64-bit number; equal on every rank"},
    Column{"sequence", "INTEGER NOT NULL", "",
           "0-based per communicator, equal on every rank; numbers from NCCL count each function separately, and bits "
           "from "
           "48 on have the function (0: all-reduce)"},
    Column{"op", "TEXT NOT NULL", "",
           "all_reduce, broadcast, all_gather, reduce_scatter, barrier, send, receive, all_to_all, other"},
    Column{"bucket", "INTEGER NOT NULL", "", "DDP's bucket; -1: not a bucket"},
    Column{"bytes", "INTEGER NOT NULL", "bytes", ""},
    Column{"ready_ns", "INTEGER", "ns", "the bucket's last gradient, this shard's clock; NULL without one"},
    Column{"launch_ns", "INTEGER NOT NULL", "ns",
           "handed to the backend, this shard's clock; equal to start_ns if its mark is lost"},
    Column{"start_ns", "INTEGER", "ns", "start of the backend's thread or of the kernel; NULL: never started"},
    Column{"end_ns", "INTEGER", "ns", "end of the backend's thread or of the kernel; NULL: never ended"},
    Column{"transfer_ns", "INTEGER", "ns", "minimum of end - start over the ranks"},
    Column{"skew_ns", "INTEGER", "ns",
           "end - start - transfer_ns: waiting for slower ranks, assumed to be at the start"},
    Column{"datatype", "TEXT", "", "of its elements, in NCCL's terms, e.g. float32; NULL: unknown"},
    Column{"algorithm", "TEXT", "", "NCCL's choice: RING, TREE, NVLS, …; NULL: unknown"},
    Column{"protocol", "TEXT", "", "NCCL's choice: LL, LL128, SIMPLE; NULL: unknown"},
    Column{"channels", "INTEGER", "", "number that NCCL used; NULL: unknown"},
    Column{"peer", "INTEGER", "",
           "rank in the group to which a send goes, or from which a receive comes; NULL: unknown"},
    Column{"asynchronous", "INTEGER", "", "1: the call returned without waiting; 0: it waited; NULL: unknown"},
    Column{
        "largest_split", "REAL", "",
        "of an all-to-all with parts of different sizes: the largest part / the mean; NULL: equal parts, or unknown"},
};

constexpr std::array process_group_columns = {
    Column{"measurement_id", "INTEGER NOT NULL REFERENCES measurement(id)", "", ""},
    Column{"communicator", "INTEGER NOT NULL", "", "as in collective"},
    Column{"name", "TEXT NOT NULL", "", "as recorded; empty: not recorded"},
    Column{"description", "TEXT NOT NULL", "",
           "PyTorch's group_desc: default_pg, mesh_dp_shard, mesh_tp, …; empty: not recorded"},
    Column{"size", "INTEGER", "ranks", "NULL: unknown"},
    Column{"ranks", "TEXT NOT NULL", "", "JSON list of its ranks in the job; empty: not recorded"},
};

constexpr std::array sharded_unit_columns = {
    Column{"measurement_id", "INTEGER NOT NULL REFERENCES measurement(id)", "", ""},
    Column{"unit", "INTEGER NOT NULL", "", "in order of the first forward; the root is 0"},
    Column{"name", "TEXT NOT NULL", "", "of the unit's module, of FSDP1 unit 1, unit 2, …; empty: the root"},
    Column{"root", "INTEGER NOT NULL", "", "1: the module around all units"},
    Column{"parameters", "INTEGER", "", "trained scalars of the whole unit; NULL: not recorded"},
    Column{"gathered_bytes", "INTEGER NOT NULL", "bytes",
           "the whole buffer of one all-gather, padded to equal parts; 0: none, or not recorded"},
    Column{"gathered_element_bytes", "INTEGER", "bytes", "NULL: not recorded"},
    Column{"scattered_bytes", "INTEGER NOT NULL", "bytes",
           "the whole buffer of one reduce-scatter, padded to equal parts; 0: none, or not recorded"},
    Column{"scattered_element_bytes", "INTEGER", "bytes", "NULL: not recorded"},
    Column{"ranks", "INTEGER", "ranks", "among which the unit is sharded; NULL: not recorded"},
    Column{"gathers_again", "INTEGER", "",
           "1: the backward gathers the parameters a second time (reshard_after_forward); 0: it does not; NULL: "
           "unknown"},
    Column{"scatters_by_all_reduce", "INTEGER NOT NULL", "",
           "1: the backend executes the reduce-scatter as an all-reduce, as Gloo does"},
};

constexpr std::array sharded_work_columns = {
    Column{"step_id", "INTEGER NOT NULL REFERENCES step(id)", "", ""},
    Column{"unit", "INTEGER NOT NULL", "", "as in sharded_unit"},
    Column{"action", "TEXT NOT NULL", "",
           "all_gather, reduce_scatter, all_reduce (over replicas of the shards), compute, or copy (into and out of "
           "the buffers of collectives, and FSDP's other work)"},
    Column{"pass", "TEXT NOT NULL", "", "forward or backward; recomputed forwards are backward"},
    Column{"micro_batch", "INTEGER NOT NULL", "", "0-based in the step"},
    Column{"launch_ns", "INTEGER", "ns", "of a collective: since the step's start; NULL: compute and copy"},
    Column{"start_ns", "INTEGER NOT NULL", "ns", "since the step's start; of compute and copy the first begin"},
    Column{"end_ns", "INTEGER NOT NULL", "ns", "since the step's start; of compute and copy the last end"},
    Column{"busy_ns", "INTEGER", "ns", "of compute and copy: the union of the intervals; NULL: a collective"},
    Column{"bytes", "INTEGER", "bytes", "of a collective: its whole buffer; NULL: compute and copy"},
    Column{"exposed_ns", "INTEGER", "ns", "of a collective: the rank does not compute meanwhile"},
    Column{"hidden_by", "INTEGER", "", "the unit whose work hides most of the collective; NULL: none"},
    Column{"prefetched", "INTEGER", "", "1: gathered while another unit runs; NULL: compute and copy"},
    Column{"communicator", "INTEGER", "", "as in collective"},
    Column{"sequence", "INTEGER", "", "as in collective"},
};

constexpr std::array device_time_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"name", "TEXT NOT NULL", "", "the window: an annotation of the host such as ProfilerStep#4, or all"},
    Column{"start_ns", "INTEGER NOT NULL", "ns",
           "this shard's clock; for all: the first device event, for others the start of the annotation"},
    Column{"span_ns", "INTEGER NOT NULL", "ns", "the window's length; for all: until the last end of a device event"},
    Column{"compute_ns", "INTEGER NOT NULL", "ns", "union of the kernels that do not belong to collectives"},
    Column{"communication_ns", "INTEGER NOT NULL", "ns", "union of the kernels of collectives"},
    Column{"memory_ns", "INTEGER NOT NULL", "ns", "union of copies and memsets"},
    Column{"overlapped_ns", "INTEGER NOT NULL", "ns", "communication that intersects compute"},
    Column{"busy_ns", "INTEGER NOT NULL", "ns",
           "union of compute, communication and memory; the device was idle for the rest of span_ns"},
    Column{"kernels", "INTEGER NOT NULL", "", "kernels that start in the window, without those of collectives"},
    Column{"collective_kernels", "INTEGER NOT NULL", "", "kernels of collectives that start in the window"},
    Column{"copies", "INTEGER NOT NULL", "", "copies and memsets that start in the window"},
};

constexpr std::array kernel_summary_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"name_id", "INTEGER NOT NULL REFERENCES string(id)", "", "as recorded"},
    Column{"kind", "TEXT NOT NULL", "", "compute, communication, copy or set"},
    Column{"count", "INTEGER NOT NULL", "", ""},
    Column{"total_ns", "INTEGER NOT NULL", "ns", "sum of the durations; simultaneous ones count separately"},
    Column{"minimum_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"maximum_ns", "INTEGER NOT NULL", "ns", ""},
};

constexpr std::array comm_point_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"op", "TEXT NOT NULL", "", "all_reduce; of nccl-tests also all_gather, reduce_scatter and all_to_all"},
    Column{"bytes", "INTEGER NOT NULL", "bytes",
           "of nccl-tests: its size, for all_gather and reduce_scatter the whole vector"},
    Column{"iteration", "INTEGER NOT NULL", "", ""},
    Column{"duration_ns", "INTEGER NOT NULL", "ns", "call to completion on this rank"},
    Column{"processor_ns", "INTEGER", "ns", "processor time of all threads of the rank meanwhile; NULL: not measured"},
};

constexpr std::array fit_columns = {
    Column{"id", "INTEGER PRIMARY KEY", "", ""},
    Column{"name", "TEXT NOT NULL", "", "all_reduce, compute, data_parallel"},
    Column{"strategy", "TEXT NOT NULL", "", "ddp or dp"},
    Column{"form", "TEXT NOT NULL", "", "the model's form, e.g. ring or gloo-segmented-ring"},
    Column{"usable", "INTEGER NOT NULL", "", "1 if predictions may use it"},
    Column{"status", "TEXT NOT NULL", "", "whether it converged, and why it is usable or not"},
    Column{"points", "INTEGER NOT NULL", "", "number of measured points"},
    Column{"median_relative_error", "REAL NOT NULL", "", "median |residual| / measured"},
    Column{
        "parameters", "TEXT NOT NULL", "",
        "JSON: name -> {value, unit, standard_error, state, at_bound, identified, fixed}; state: fitted, assumed (the "
        "data did not narrow the prior), fixed or at bound; no standard_error for the last two"},
    Column{"covariance", "TEXT NOT NULL", "",
           "JSON: row-major matrix in the parameters' order; of logarithms for parameters that are always positive; of "
           "the "
           "values for exponents"},
    Column{"residuals", "TEXT NOT NULL", "", "JSON: per point {workers, bytes, measured_s, fitted_s}"},
};

constexpr std::array prediction_columns = {
    Column{"strategy", "TEXT NOT NULL", "", "ddp, dp or fsdp; of tables of step times also hsdp and zero1 to zero3"},
    Column{"world_size", "INTEGER NOT NULL", "workers", ""},
    Column{"gpus_per_node", "INTEGER NOT NULL", "", "ranks per host as asked; 0 = not given"},
    Column{"step_s", "REAL NOT NULL", "s", "predicted median step time"},
    Column{"step_low_s", "REAL NOT NULL", "s", "lower end of the interval"},
    Column{"step_high_s", "REAL NOT NULL", "s", "upper end of the interval"},
    Column{"confidence", "REAL NOT NULL", "", "of the interval, e.g. 0.9"},
    Column{"compute_s", "REAL NOT NULL", "s",
           "forward + backward + optimizer without waiting; if measured, the time of busy computing"},
    Column{"communication_s", "REAL NOT NULL", "s", "all-reduce in flight (dp: copies)"},
    Column{"exposed_s", "REAL NOT NULL", "s", "communication not hidden by compute, without skew_s"},
    Column{"latency_s", "REAL NOT NULL", "s", "the part of communication_s that is latency"},
    Column{"bandwidth_s", "REAL NOT NULL", "s", "the part of communication_s that is bandwidth and reduction"},
    Column{"skew_s", "REAL NOT NULL", "s", "waiting for the slowest rank"},
    Column{"other_s", "REAL NOT NULL", "s", "the rest of the step: data wait, buffers, host to device, gaps"},
    Column{"throughput", "REAL NOT NULL", "samples/s", ""},
    Column{"efficiency", "REAL NOT NULL", "", "throughput(N) / (N * throughput(1)), weak scaling"},
    Column{"bound", "TEXT NOT NULL", "",
           "the binding term: compute, sharing, host, bandwidth, latency, skew, input, copies; of tables of step times "
           "communication"},
    Column{"extrapolation", "REAL NOT NULL", "", "N / largest measured N"},
    Column{"note", "TEXT NOT NULL", "", "assumptions and limits of the prediction"},
    Column{"host_s", "REAL", "s",
           "the device waits for the host's launches; NULL: predicted by a version that counted it as compute"},
};

constexpr std::array learning_rate_columns = {
    Column{"world_size", "INTEGER NOT NULL", "workers", ""},
    Column{"rule", "TEXT NOT NULL", "", "none, linear, square root, LARS, LAMB or AdaScale"},
    Column{"global_batch", "INTEGER NOT NULL", "samples", ""},
    Column{"base_lr", "REAL NOT NULL", "", "tuned for the base batch"},
    Column{"target_lr", "REAL NOT NULL", "", "after the warm-up"},
    Column{"warmup_steps", "INTEGER NOT NULL", "steps", ""},
    Column{"note", "TEXT NOT NULL", "", "when the rule may be wrong"},
};

constexpr std::array diagnostic_columns = {
    Column{"measurement_id", "INTEGER REFERENCES measurement(id)", "", "NULL: about the whole file"},
    Column{"rank", "INTEGER", "", "NULL: about all ranks"},
    Column{"severity", "TEXT NOT NULL", "", "info, warning or error"},
    Column{"code", "TEXT NOT NULL", "", "stable name, e.g. shard_full, oversubscribed, unclosed_shard"},
    Column{"count", "INTEGER NOT NULL", "", "how many times, or how many records"},
    Column{"message", "TEXT NOT NULL", "", "what happened"},
    Column{"advice", "TEXT NOT NULL", "", "what to do"},
};

constexpr std::array string_columns = {
    Column{"id", "INTEGER PRIMARY KEY", "", ""},
    Column{"value", "TEXT NOT NULL UNIQUE", "", ""},
};

constexpr std::array thread_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"tid", "INTEGER NOT NULL", "", "the operating system's thread id"},
    Column{"name", "TEXT NOT NULL", "", ""},
};

constexpr std::array range_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"tid", "INTEGER NOT NULL", "", "thread that opened it"},
    Column{"name_id", "INTEGER NOT NULL REFERENCES string(id)", "", ""},
    Column{"domain_id", "INTEGER REFERENCES string(id)", "", "NVTX domain's name, NULL for the default domain"},
    Column{"kind", "INTEGER NOT NULL", "", "0 push/pop, 1 start/end, 2 mark"},
    Column{"depth", "INTEGER NOT NULL", "", "nesting of push/pop on its thread; -1: given by the times (imports)"},
    Column{"start_ns", "INTEGER NOT NULL", "ns", "this shard's clock"},
    Column{"end_ns", "INTEGER", "ns", "NULL: never closed; equal to start_ns for a mark"},
    Column{"payload", "", "", "number, or JSON text of an extended payload, NULL for none"},
};

constexpr std::array kernel_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"name_id", "INTEGER NOT NULL REFERENCES string(id)", "", "mangled"},
    Column{"device", "INTEGER NOT NULL", "", ""},
    Column{"stream", "INTEGER NOT NULL", "", ""},
    Column{"correlation", "INTEGER NOT NULL", "", "matches api_call.correlation of the same shard"},
    Column{"start_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"end_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"grid", "INTEGER NOT NULL", "blocks", ""},
    Column{"block", "INTEGER NOT NULL", "threads", ""},
    Column{"registers_per_thread", "INTEGER NOT NULL", "", ""},
    Column{"shared_bytes", "INTEGER NOT NULL", "bytes", "static and dynamic"},
};

constexpr std::array memcpy_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"kind", "TEXT NOT NULL", "", "host_to_device, device_to_host, device_to_device, peer, memset, …"},
    Column{"device", "INTEGER NOT NULL", "", ""},
    Column{"stream", "INTEGER NOT NULL", "", ""},
    Column{"correlation", "INTEGER NOT NULL", "", ""},
    Column{"start_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"end_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"bytes", "INTEGER NOT NULL", "bytes", ""},
};

constexpr std::array api_call_columns = {
    Column{"shard_id", "INTEGER NOT NULL REFERENCES shard(id)", "", ""},
    Column{"domain", "TEXT NOT NULL", "", "runtime or driver"},
    Column{"cbid", "INTEGER NOT NULL", "", "CUPTI callback id of the function; 0: only its name is known"},
    Column{"tid", "INTEGER NOT NULL", "", ""},
    Column{"correlation", "INTEGER NOT NULL", "", ""},
    Column{"start_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"end_ns", "INTEGER NOT NULL", "ns", ""},
    Column{"name_id", "INTEGER REFERENCES string(id)", "", "the function's name (imports); NULL: see cbid"},
};

constexpr std::array all_tables = {
    Table{"meta", "Format and origin of this file.", meta_columns, ""},
    Table{"scenario", "The scenario that was run.", scenario_columns, ""},
    Table{"measurement", "One measured strategy at one world size; one row per repetition.", measurement_columns, ""},
    Table{"shard", "One process's trace, and how its clock relates to rank 0's.", shard_columns, ""},
    Table{"host_condition",
          "The state of one host during a measurement's measured steps. NULL: not readable on that host.",
          host_condition_columns, "PRIMARY KEY (measurement_id, host)"},
    Table{"memory",
          "Memory use of a training on each device: tensors as LibTorch's allocator counts them; on a CPU without the "
          "data set.",
          memory_columns, "PRIMARY KEY (measurement_id, rank, device)"},
    Table{"parameter", "The model's trained parameters.", parameter_columns, "PRIMARY KEY (measurement_id, parameter)"},
    Table{"bucket", "The parameters of each gradient bucket of DDP.", bucket_columns,
          "PRIMARY KEY (measurement_id, generation, bucket, position)"},
    Table{"step", "One training step on one rank, summarised at load.", step_columns, ""},
    Table{"phase", "The phases of a step, in order. Stored for measured and unwrapped steps.", phase_columns, ""},
    Table{"grad_ready", "When each parameter's gradient was ready. Stored for measured steps.", grad_ready_columns, ""},
    Table{"collective", "Each collective on each rank.", collective_columns, ""},
    Table{"process_group", "Groups of ranks that exchanged data. Imports only.", process_group_columns,
          "PRIMARY KEY (measurement_id, communicator)"},
    Table{"sharded_unit",
          "Units of a sharded training (FSDP): modules whose parameters are gathered together. Imports only.",
          sharded_unit_columns, "PRIMARY KEY (measurement_id, unit)"},
    Table{"sharded_work", "What each step of a rank does for each sharded unit. Imports only.", sharded_work_columns,
          ""},
    Table{"device_time", "Activity of one rank's devices in a window of time, summarised at load. Imports only.",
          device_time_columns, "PRIMARY KEY (shard_id, name, start_ns)"},
    Table{"kernel_summary", "Kernels and copies of one rank's devices by name, summarised at load. Imports only.",
          kernel_summary_columns, "PRIMARY KEY (shard_id, name_id, kind)"},
    Table{"comm_point", "bench-comm: one timed collective.", comm_point_columns, ""},
    Table{"fit", "Fitted models.", fit_columns, ""},
    Table{"prediction", "Predictions for N workers.", prediction_columns,
          "PRIMARY KEY (strategy, world_size, gpus_per_node)"},
    Table{"learning_rate", "Learning rate per world size.", learning_rate_columns, "PRIMARY KEY (world_size, rule)"},
    Table{"diagnostic", "What was lost or refused, and what may be wrong.", diagnostic_columns, ""},
    Table{"string", "Each distinct text once.", string_columns, ""},
    Table{"thread", "Names of threads.", thread_columns, ""},
    Table{"range",
          "Raw ranges and marks of the host, of the shards with raw_kept = 1: NVTX, and of imports the profiler's "
          "operations.",
          range_columns, ""},
    Table{"kernel", "Raw GPU kernels (CUPTI).", kernel_columns, ""},
    Table{"memcpy", "Raw GPU copies and memsets (CUPTI).", memcpy_columns, ""},
    Table{"api_call", "Raw CUDA runtime and driver calls (CUPTI).", api_call_columns, ""},
};

}  // namespace

std::span<const Table> tables() { return all_tables; }

}  // namespace ddpprof::store
