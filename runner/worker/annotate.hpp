// Annotates the worker's steps through NVTX, with the names of tracer/format/vocabulary.hpp. Does not use LibTorch.
//
// Without a tool (NVTX_INJECTION64_PATH unset) every call returns after one test of a flag.
#pragma once

#include <cstdint>
#include <string>

#include "tracer/format/vocabulary.hpp"

namespace ddpprof::worker {

// CLOCK_MONOTONIC, the clock of every trace.
std::int64_t monotonic_ns();

namespace annotate {

enum class Name : std::uint8_t {
  setup,
  checkpoint,
  step,
  data_wait,
  load_batch,
  host_to_device,
  buffers,
  forward,
  backward,
  optimizer,
  replicate,
  scatter,
  gather,
  reduce,
  replica_forward,
  replica_backward,
  bucket_member,
  grad_ready,
  collective_launch,
  clock_sample,
  loss,
  learning_rate,
  local_gradient_sqr,
  gradient_sqr,
  collective,
  count_
};

// Registers the domain, its strings and its payload schemas; call once before the first annotation.
void initialize();
bool attached();  // returns true if an NVTX tool is attached and annotation is not paused

// While paused, no range is opened and no mark is set, as if no tool were attached. Used to measure the cost of
// annotation.
void pause(bool paused);

// Returns true if a range was opened. Then, and only then, call pop() on the same thread.
bool push(Name);
bool push(Name, const vocabulary::StepInfo&);
bool push(Name, const vocabulary::CopyInfo&);
bool push(Name, const vocabulary::ReplicaInfo&);
bool push(Name, const vocabulary::LoadInfo&);
void pop();

// A range on this thread, from construction to destruction or end().
class Range {
 public:
  explicit Range(Name name) : open_(push(name)) {}
  template <typename Payload>
  Range(Name name, const Payload& payload) : open_(push(name, payload)) {}
  ~Range() { end(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  void end() {
    if (open_) pop();
    open_ = false;
  }

 private:
  bool open_;
};

void parameter(const vocabulary::ParameterInfo&, const std::string& name);
void bucket_member(const vocabulary::BucketMember&);
void grad_ready(std::int64_t parameter_index);
void clock_sample(const vocabulary::ClockSample&);
void loss(double value);
void learning_rate(double value);
void gradient_norms(double local_sqr, double whole_sqr);  // squared norms before and after the all-reduce
void collective_launch(const vocabulary::CollectiveInfo&);

// A collective in flight. It may begin and end on different threads. Returns 0 if no tool is attached.
std::uint64_t collective_begin(const vocabulary::CollectiveInfo&);
void collective_end(std::uint64_t range);

void name_thread(const char* name);  // names this thread in the tool and in /proc

}  // namespace annotate
}  // namespace ddpprof::worker
