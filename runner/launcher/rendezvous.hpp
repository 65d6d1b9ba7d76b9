// The roll-call before training: what each rank says of itself, and what is wrong when the ranks do not fit together.
//
// Pure: the registrations travel through a store that runner/worker knows. Rank 0 keeps the list; its decision goes to
// all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::launcher {

struct Registration {
  int rank = 0;
  int world_size = 1;
  std::string host;
  std::int64_t pid = 0;
  std::string nonce;     // this process's own: tells two processes apart that give the same rank, host and pid
  std::string version;   // of program and LibTorch: "ddpprof 0.1.0, torch 2.11.0"
  std::string strategy;  // "ddp", "bench-comm"
  std::string devices;   // what it computes on, and who moves its gradients: "cuda over nccl", "cpu over gloo"
  std::string scenario;  // as YAML, every default filled in
  std::string address;   // its own, where the other ranks will connect to; "": not said
  std::string network;   // names what its loopback reaches: one kernel's network namespace; "": not said

  bool operator==(const Registration&) const = default;
};

std::string to_text(const Registration&);                              // JSON
std::optional<Registration> registration_from_text(std::string_view);  // nullopt: not a registration of ours
std::string process_of(const Registration&);                           // "process 71 on gpu03"
std::string name_of(const Registration&);                              // "rank 1 (process 71 on gpu03)"
std::string ranks_text(const std::vector<std::string>& all);  // "a, b and c"; of many the first eight and how many more

// 16 hexadecimal digits that no other process draws.
std::string draw_nonce();

// Where two scenarios as YAML differ first: "measure.steps: 10 and 20"; "" when they do not. A key that only one has
// reads "absent" in the other.
std::string first_difference(const std::string& yaml, const std::string& other);

struct Decision {
  bool ok = false;
  std::string run;                      // ok: names this run on every rank
  std::map<int, std::string> accepted;  // ok: the nonce of each rank's process
  std::string message;                  // not ok: what is wrong
};
std::string to_text(const Decision&);
std::optional<Decision> decision_from_text(std::string_view);

// The list. Whoever keeps it takes his own registration as the standard that others are held against.
class Rendezvous {
 public:
  explicit Rendezvous(Registration own);

  // Enters an arrival; a registration that is already there, nonce and all, changes nothing. Returns what is wrong with
  // it, or
  // "": another WORLD_SIZE, version, strategy or scenario, a rank beyond the world's size, a rank that came twice, an
  // address that another rank cannot reach.
  std::string enter(const Registration&);
  bool complete() const { return static_cast<int>(came_.size()) == own_.world_size; }
  std::vector<int> missing() const;
  // "rank 2 of 4 did not come within 10 s (came: rank 0 (process 70 on gpu03), …)"
  std::string absence(double waited_s) const;
  // The same of rank 0 alone, said by one that waits for it and does not know who else does.
  static std::string absence_of_rank_0(const Registration& own, double waited_s);
  Decision accepted() const;
  // What to say to one that comes when the roll-call is closed with so many ranks, and its place, if any, is taken.
  static std::string too_late(const Registration& late, const std::optional<Registration>& holder, std::size_t ranks);

 private:
  std::string unreachable(const Registration&) const;

  Registration own_;
  std::map<int, Registration> came_;
};

}  // namespace ddpprof::launcher
