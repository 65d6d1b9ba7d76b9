#include "gui/window/glossary.hpp"

#include "analysis/report/core/columns.hpp"

namespace ddpprof::gui {
namespace {

struct Entry {
  const char *word, *meaning;
};

// As docs/reference/report and the headers of simulator/ define them.
constexpr Entry entries[] = {
    {"algbw",
     "A collective's bytes / its time (in the tables of steps: / its transfer), as nccl-tests defines it. Compares "
     "calls of one size at one N; see busbw."},
    {"all-reduce",
     "The collective that leaves the sum of all ranks' data on every rank; DDP adds its gradients with it."},
    {"bandwidth (as a term)",
     "What all-reduces take in proportion to their bytes; beside latency, which each takes whatever its size."},
    {"batch per worker",
     "Samples of one worker in one forward pass. Global batch = N × batch per worker × accumulation."},
    {"binding term",
     "The term without which the step would be shortest: compute, sharing, latency, bandwidth, skew, input or copies."},
    {"bucket",
     "Gradients that DDP reduces with one all-reduce, launched when the last of them is ready. bucket_cap_mb caps its "
     "size: 25 MiB in PyTorch, the first bucket 1 MiB."},
    {"busbw",
     "algbw × 2(N − 1) / N for an all-reduce, as nccl-tests defines it: the bytes that a rank must really send, / the "
     "time, so that different N compare with each other and with a link's speed."},
    {"communication", "The time in which a collective is in flight (the union, where several are)."},
    {"communication overhead", "Exposed communication / step."},
    {"compute",
     "The time in which a rank's kernels (on a GPU) or its forward and backward threads (on a CPU) are busy. As a term "
     "of a prediction: a rank's own, without what sharing cores adds."},
    {"copies",
     "What DataParallel's device 0 copies: parameters and inputs to the replicas, outputs and gradients back."},
    {"critical batch",
     "The global batch B_crit at which training takes twice the fewest optimizer steps and twice the fewest examples: "
     "steps ~ 1 + B_crit / B, examples ~ 1 + B / B_crit (McCandlish et al. 2018). Well above it a larger batch saves "
     "hardly any steps."},
    {"DataParallel (DP)",
     "One process, a thread and a replica of the model a device; device 0 copies, gathers and updates. N is its number "
     "of devices."},
    {"DDP",
     "DistributedDataParallel: a process a rank, each with the whole model; gradients are all-reduced by buckets while "
     "backward runs."},
    {"efficiency",
     "Weak: throughput(N) / (N × throughput(1)), at the same batch per worker. Strong: T(1) / (N × T(N)), T being the "
     "step, at the same global batch. The pages show the weak one; of a change over one worker without it, so that a "
     "change may bring it above 100 %."},
    {"exposed communication",
     "Communication less what is overlapped: what makes the step longer. Predictions give skew apart from it; the knee "
     "counts both."},
    {"held-out error",
     "How far a form of the all-reduce's cost, fitted to the smaller N alone, is off at the largest measured N: the "
     "median of e^|ln(fitted / measured)| − 1."},
    {"input (data wait)", "From the training thread's asking for a batch until it has it."},
    {"interval",
     "Of a measured time: the 95 % interval of its median, with whole repeats drawn first where there are several. Of "
     "a prediction: what that share of the Monte Carlo's draws lie in, 90 % unless asked otherwise."},
    {"κ (kappa)", "Global batch / the batch that the base rate was tuned for."},
    {"knee",
     "The smallest N looked at, from 2 on, at which exposed communication, skew included, takes more than 10, 25 and "
     "50 % of the step; above 50 % the step is communication-bound."},
    {"latency (as a term)", "What all-reduces take whatever their size: per call, and growing with N."},
    {"learning-rate warm-up",
     "The first steps, over which the rate rises evenly from the base rate to the target. Not the warm-up steps of a "
     "measurement, which are run and not counted."},
    {"linear scaling rule",
     "Rate = κ × base rate, with warm-up (Goyal et al. 2017). Shown for SGD with momentum and global batches up to "
     "8192."},
    {"optimizer step",
     "What ends in one update of the parameters; with accumulation, several forward and backward passes."},
    {"overlapped communication",
     "The time in which a collective is in flight while compute is busy: the intersection of the two. Other tools "
     "count otherwise: DDP's own Logger gives an upper bound."},
    {"rank", "One process of the job, counted from 0."},
    {"residual", "Fitted / measured − 1."},
    {"sharing", "What ranks that share a machine's cores add to each other's compute."},
    {"skew",
     "A collective's duration less its shortest over the ranks: the wait for slower ranks. Of a step, the union of its "
     "collectives' waits."},
    {"speedup",
     "throughput(N) / throughput(1), each strategy against its own N = 1; a changed curve is over one worker without "
     "the change. Of a change at one N (what if, which knob helps most): throughput with it / without it."},
    {"square-root rule",
     "Rate = √κ × base rate; the usual rule for Adam, with 1 − β and ε scaled along (Malladi et al. 2022)."},
    {"step",
     "From one optimizer step's end to the next one's: the mean over the ranks, then the median over the measured "
     "steps."},
    {"straggler",
     "A rank that, beyond chance, is waited for at a cost of 1 % of the step or more, or whose compute is 2 % or more "
     "longer than the others' median."},
    {"throughput", "Samples of a step, all ranks together / the step: samples/s."},
    {"transfer", "A collective's shortest duration over the ranks: what it takes without waiting for anybody."},
    {"world size, N", "How many workers train together: DDP's ranks, DataParallel's devices."},
};

}  // namespace

report::Table glossary_table() {
  report::Table table;
  table.name = "glossary";
  table.title = "Glossary";
  table.columns = {report::text("word", "word"), report::prose("meaning", "what it means")};
  for (const Entry& entry : entries) table.rows.push_back({std::string(entry.word), std::string(entry.meaning)});
  return table;
}

}  // namespace ddpprof::gui
