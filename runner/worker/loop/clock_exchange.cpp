#include "runner/worker/loop/clock_exchange.hpp"

#include "runner/worker/annotate.hpp"
#include "runner/worker/status.hpp"

namespace ddpprof::worker {
namespace {

constexpr int tag = 7001;

void send(c10d::ProcessGroup& group, std::vector<at::Tensor>& message, int rank) {
  group.send(message, rank, tag)->wait();
}
void receive(c10d::ProcessGroup& group, std::vector<at::Tensor>& message, int rank) {
  group.recv(message, rank, tag)->wait();
}

}  // namespace

std::vector<vocabulary::ClockSample> exchange_clocks(c10d::ProcessGroup& control) {
  std::vector<vocabulary::ClockSample> samples;
  status::set(status::Activity::clock_exchange);
  std::vector<at::Tensor> message{torch::zeros({1}, torch::kLong)};
  auto* value = message.front().mutable_data_ptr<std::int64_t>();
  if (control.getRank() == 0) {
    for (int peer = 1; peer < control.getSize(); ++peer)
      for (int i = 0; i < clock_exchanges; ++i) {
        receive(control, message, peer);
        *value = monotonic_ns();
        send(control, message, peer);
      }
    return samples;
  }
  for (int i = 0; i < clock_exchanges; ++i) {
    const std::int64_t begin = monotonic_ns();
    send(control, message, 0);
    receive(control, message, 0);
    const std::int64_t end = monotonic_ns();
    samples.push_back({begin + (end - begin) / 2, *value, end - begin});
    annotate::clock_sample(samples.back());
  }
  return samples;
}

}  // namespace ddpprof::worker
