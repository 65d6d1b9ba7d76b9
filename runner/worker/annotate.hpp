// Annotates the worker's steps through NVTX in the words of tracer/format/vocabulary.hpp; free of LibTorch.
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
bool attached();  // true when a tool listens and annotation is not paused

// Until resumed no range is begun and no mark set, as if no tool were attached. For measuring what annotation costs.
void pause(bool paused);

// True when a tool was told: then, and only then, pop() on the same thread.
bool push(Name);
bool push(Name, const vocabulary::StepInfo&);
bool push(Name, const vocabulary::CopyInfo&);
bool push(Name, const vocabulary::ReplicaInfo&);
bool push(Name, const vocabulary::LoadInfo&);
void pop();

// A range on this thread from construction to destruction (or end()).
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
void gradient_norms(double local_sqr, double whole_sqr);  // both marks: squared, before and after the all-reduce
void collective_launch(const vocabulary::CollectiveInfo&);

// A collective in flight: begins and ends on whatever threads run it. 0 when no tool listens.
std::uint64_t collective_begin(const vocabulary::CollectiveInfo&);
void collective_end(std::uint64_t range);

void name_thread(const char* name);  // this thread, in the tool and in /proc

}  // namespace annotate
}  // namespace ddpprof::worker
