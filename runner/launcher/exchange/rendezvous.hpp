// The rendezvous before training: each rank registers with rank 0, which compares the registrations and decides whether
// the run can start.
//
// Pure: runner/worker transports registrations and the decision through a c10d store.
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
  std::string nonce;     // differs between two processes even with the same rank, host and pid
  std::string version;   // of program and LibTorch: "ddpprof 0.1.0, torch 2.11.0"
  std::string strategy;  // "ddp", "bench-comm"
  std::string devices;   // device and backend: "cuda over nccl", "cpu over gloo"
  std::string scenario;  // as YAML, with all defaults filled in
  std::string address;   // the address to which the other ranks will connect; "": unknown
  std::string network;   // identifies its network namespace, which its loopback address reaches; "": unknown

  bool operator==(const Registration&) const = default;
};

std::string to_text(const Registration&);                              // JSON
std::optional<Registration> registration_from_text(std::string_view);  // nullopt: the text is not a registration
std::string process_of(const Registration&);                           // "process 71 on gpu03"
std::string name_of(const Registration&);                              // "rank 1 (process 71 on gpu03)"
std::string ranks_text(
    const std::vector<std::string>& all);  // "a, b and c"; of more than nine, the first eight and "and 5 more"

// Returns 16 random hexadecimal digits.
std::string draw_nonce();

// Returns the first difference of two scenarios in YAML, for example "measure.steps: 10 and 20", or "". A key that only
// one of them has is "absent" in the other.
std::string first_difference(const std::string& yaml, const std::string& other);

struct Decision {
  bool ok = false;
  std::string run;                      // if ok: the name of this run, equal on every rank
  std::map<int, std::string> accepted;  // if ok: the nonce of each rank's process
  std::string message;                  // if not ok: the error
};
std::string to_text(const Decision&);
std::optional<Decision> decision_from_text(std::string_view);

// The list of registrations. Rank 0 compares every registration with its own.
class Rendezvous {
 public:
  explicit Rendezvous(Registration own);

  // Adds a registration. Returns "", or the error:
  // - another WORLD_SIZE, version, strategy, device or scenario,
  // - a rank outside of the world size,
  // - a second process with the same rank,
  // - an address that another rank cannot reach.
  // A registration that is already in the list, with the same nonce, is accepted again without effect.
  std::string add(const Registration&);
  bool complete() const { return static_cast<int>(registered_.size()) == own_.world_size; }
  std::vector<int> missing() const;
  // "rank 2 of 4 did not come within 10 s (came: rank 0 (process 70 on gpu03), …)"
  std::string absence(double waited_s) const;
  // The same message for a rank that waits for rank 0 and cannot see the other registrations.
  static std::string absence_of_rank_0(const Registration& own, double waited_s);
  Decision accepted() const;
  // Returns the error for a process that arrives after the rendezvous was completed with `ranks` ranks. `holder`: the
  // registration that has its rank, if any.
  static std::string too_late(const Registration& late, const std::optional<Registration>& holder, std::size_t ranks);

 private:
  std::string unreachable(const Registration&) const;

  Registration own_;
  std::map<int, Registration> registered_;
};

}  // namespace ddpprof::launcher
