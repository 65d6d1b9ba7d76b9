// Checks of memory, shared memory, disk and limits.
#include <fmt/format.h>

#include "runner/doctor/checks.hpp"
#include "runner/measure/plan.hpp"

namespace ddpprof::doctor {
namespace {

constexpr const char* memory_area = "memory and limits";
constexpr std::int64_t mebibyte = std::int64_t{1} << 20, gibibyte = std::int64_t{1} << 30;

std::string limit_text(std::int64_t limit) { return limit < 0 ? "unlimited" : std::to_string(limit); }

void memory(const Facts& facts, Checks& checks) {
  Check check{memory_area, "memory", "", Verdict::good, ""};
  const auto& found = facts.memory;
  check.found = found.available_bytes ? gibibytes(*found.available_bytes) + " available"
                                      : "available: " + unreadable(found.available_bytes.why);
  if (found.total_bytes) check.found += " of " + gibibytes(*found.total_bytes);
  if (found.limit_bytes) {
    check.found += ", cgroup limit " + gibibytes(*found.limit_bytes);
    if (found.limit_free_bytes) check.found += " with " + gibibytes(*found.limit_free_bytes) + " left";
  } else {
    check.found += ", no cgroup limit";
  }
  if ((found.available_bytes || found.limit_free_bytes) && found.usable_bytes() < 2 * measure::bare_rank_bytes) {
    check.verdict = Verdict::bad;
    check.advice = fmt::format("a rank needs {} without its model: end other programs, or raise the limit",
                               gibibytes(measure::bare_rank_bytes));
  }
  checks.push_back(check);

  checks.push_back(
      judge(memory_area, "swap in use", found.swap_used_bytes, gibibytes, [](std::int64_t used) -> Judgement {
        if (used <= 64 * mebibyte) return {};
        return {Verdict::note,
                "a rank that reads swapped pages from a disk is the slowest one: swapoff -a while measuring"};
      }));
  checks.push_back(judge(
      memory_area, "/dev/shm", facts.shared_memory,
      [](const host::Space& space) { return gibibytes(space.free_bytes) + " free of " + gibibytes(space.size_bytes); },
      [](const host::Space& space) -> Judgement {
        if (space.free_bytes >= gibibyte) return {};
        return {Verdict::note,
                "too little for NCCL between GPUs of one host and for Python's data loaders (a container's default is "
                "64 MiB): docker run --shm-size=8g or --ipc=host"};
      },
      "NCCL between GPUs of one host and Python's data loaders need it; ddpprof's own ranks do not"));
}

void disk(const Facts& facts, Checks& checks) {
  Check check{memory_area, "disk for databases", "", Verdict::good, ""};
  const std::string& folder = facts.database_folder;
  if (!facts.disk) {
    check.found = unreadable(facts.disk.why);
    check.verdict = Verdict::bad;
    check.advice = "give an existing folder with --folder";
  } else {
    check.found = fmt::format("{} free in {}", gibibytes(facts.disk->free_bytes), folder);
    if (facts.disk->free_bytes < 100 * mebibyte) {
      check.verdict = Verdict::bad;
      check.advice =
          "shards and database of a run need tens to hundreds of MiB: free space, or write to another disk (--out)";
    } else if (facts.disk->free_bytes < 2 * gibibyte) {
      check.verdict = Verdict::note;
      check.advice = "enough for a few runs; output.raw: none makes databases small";
    }
    if (!facts.folder_writable) {
      check.found += ", not writable";
      check.verdict = Verdict::bad;
      check.advice = "write to another folder (--out), or change the permissions";
    }
  }
  checks.push_back(check);
}

void limits(const Facts& facts, Checks& checks) {
  Check files{memory_area, "open files (ulimit -n)", limit_text(facts.limits.open_files), Verdict::good, ""};
  if (facts.limits.open_files >= 0 && facts.limits.open_files < 1024) {
    files.verdict = facts.limits.open_files < 128 ? Verdict::bad : Verdict::note;
    files.advice = "every rank has a connection to every other rank and a few hundred open files: ulimit -n 4096";
  }
  checks.push_back(files);
  const bool remote_memory = !facts.fabric.empty() || facts.driver.devices > 0;
  Check locked{memory_area, "locked memory (ulimit -l)",
               facts.limits.locked_bytes < 0 ? "unlimited" : gibibytes(facts.limits.locked_bytes), Verdict::good, ""};
  if (remote_memory && facts.limits.locked_bytes >= 0 && facts.limits.locked_bytes < gibibyte) {
    locked.verdict = Verdict::note;
    locked.advice = "NCCL over InfiniBand registers its buffers: ulimit -l unlimited";
  }
  checks.push_back(locked);
  Check core{memory_area, "core files (ulimit -c)",
             facts.limits.core_bytes < 0 ? "unlimited" : gibibytes(facts.limits.core_bytes), Verdict::good, ""};
  if (facts.limits.core_bytes == 0) core.found = "none: a rank that crashes leaves only its log and its trace";
  checks.push_back(core);
}

}  // namespace

void check_memory(const Facts& facts, Checks& checks) {
  memory(facts, checks);
  disk(facts, checks);
  limits(facts, checks);
}

}  // namespace ddpprof::doctor
