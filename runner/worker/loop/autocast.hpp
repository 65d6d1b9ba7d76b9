// Mixed precision within a scope, like Python's torch.autocast.
#pragma once

#include <ATen/autocast_mode.h>

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// The state is thread-local: every thread that computes a forward needs its own object.
class Autocast {
 public:
  Autocast(bool on, torch::Device device) : on_(on), type_(device.type()) {
    if (!on_) return;
    was_enabled_ = at::autocast::is_autocast_enabled(type_);
    was_type_ = at::autocast::get_autocast_dtype(type_);
    at::autocast::set_autocast_enabled(type_, true);
    at::autocast::set_autocast_dtype(type_, torch::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!on_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(type_, was_enabled_);
    at::autocast::set_autocast_dtype(type_, was_type_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool on_;
  at::DeviceType type_;
  bool was_enabled_ = false;
  at::ScalarType was_type_ = torch::kBFloat16;
};

}  // namespace ddpprof::worker
