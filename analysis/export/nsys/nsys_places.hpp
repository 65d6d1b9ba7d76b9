// Assigns each shard's events to a process, a thread and a clock of an Nsight-format export.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/export/nsys/nsys_file.hpp"

namespace ddpprof::export_ {

// Returns a serialised id (Nsight Systems' documentation, "Serialized process and thread identifiers"): 8 bits of the
// machine, 8 of the virtual machine, 24 of the process, 24 of the thread. Machines are numbered from 0, their virtual
// machine from 1.
std::int64_t global_process(std::int64_t host, std::int64_t pid);

// Thread numbers for ranges made from tables. The operating system's numbers are below 2^22, so they differ from these.
inline constexpr std::int64_t made_thread = 0x400000;
inline constexpr std::int64_t gradient_thread = made_thread + 2;
inline constexpr std::int64_t collective_thread = made_thread + 10;
inline constexpr std::int64_t replica_thread = made_thread + 1000;  // + replica
inline constexpr std::int64_t loader_thread = made_thread + 50000;  // + thread of the data loader
inline constexpr std::int64_t strange_process = 0x600000;  // + shard: the pid is unknown, already used or too large
inline constexpr std::int64_t strange_thread = 0x800000;   // + index: the tid is negative or too large

// Creates the temporary tables place (per shard: global_pid, host, name, and its clock) and thread_of (shard, tid ->
// global_tid). `ranges` of a place is 1 if raw ranges of its process are in the database.
//
// Shards of one host with equal pids are one process with several devices if raw events were kept and only one of the
// shards has the host's events. Otherwise they are different processes with equal numbers, as in containers, and the
// later ones get another number. The same holds for pids that are unknown or need more than 24 bits.
void make_places(NsysFile&, std::int64_t measurement);

// Sets base_ns, the time of the measurement's first event on rank 0's clock, from which times are counted. Returns it.
std::int64_t set_base(NsysFile&);

// Returns SQL for the time of `column` on the export's clock: as in the view aligned_step, minus base_ns. Requires
// place as p.
std::string on_clock(const std::string& column);
// Returns SQL that restores the column: NULL if on_clock() can be inverted, otherwise the column itself.
std::string as_recorded(const std::string& column);

}  // namespace ddpprof::export_
