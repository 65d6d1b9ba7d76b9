// Which process and thread of an Nsight-shaped export each shard's events belong to, on which clock.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/export/nsys/nsys_file.hpp"

namespace ddpprof::export_ {

// A serialised id (Nsight Systems' documentation, "Serialized process and thread identifiers"): 8 bits of the machine,
// 8 of the virtual machine, 24 of the process, 24 of the thread. Machines are numbered from 0, their virtual machine
// from 1.
std::int64_t global_process(std::int64_t host, std::int64_t pid);

// Numbers of threads that are none of the operating system's (whose numbers are below 2^22): where ranges lie that are
// made from tables.
inline constexpr std::int64_t made_thread = 0x400000;
inline constexpr std::int64_t gradient_thread = made_thread + 2;
inline constexpr std::int64_t collective_thread = made_thread + 10;
inline constexpr std::int64_t replica_thread = made_thread + 1000;  // + replica
inline constexpr std::int64_t loader_thread = made_thread + 50000;  // + thread of the data loader
inline constexpr std::int64_t strange_process = 0x600000;  // + shard: a pid that is unknown, taken or too large
inline constexpr std::int64_t strange_thread = 0x800000;   // + index: a tid that is negative or too large

// Makes the temporary tables place (a shard: global_pid, host, name, and its clock) and thread_of (shard, tid
// -> global_tid). `ranges` of a place is 1 where raw ranges of its process are in the database.
//
// Shards of one host with one pid are one process with several devices where raw events were kept and only one of them
// has the host's; otherwise they are different processes whose numbers are alike, as in containers, and the later ones
// get another number. So do pids that are unknown or take more than 24 bits.
void make_places(NsysFile&, std::int64_t measurement);

// Sets base_ns, rank 0's clock at the measurement's first event, from which times are counted. Returns it.
std::int64_t set_base(NsysFile&);

// SQL of a time of `column` on the export's clock: as the view aligned_step has it, less base_ns. Needs place as p.
std::string on_clock(const std::string& column);
// SQL of what restores the column: NULL where on_clock() can be taken back, else the column itself.
std::string as_recorded(const std::string& column);

}  // namespace ddpprof::export_
