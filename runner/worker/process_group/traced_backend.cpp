#include "runner/worker/process_group/traced_backend.hpp"

#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <memory>
#include <utility>

#include "runner/worker/annotate.hpp"

namespace ddpprof::worker {
namespace {

// Passed with the work to the thread that runs it: Gloo wraps its handlers with the launching thread's
// ThreadLocalState, which has the debug information.
class InFlight : public c10::DebugInfoBase {
 public:
  explicit InFlight(const vocabulary::CollectiveInfo& info) : info_(info) {}

  void begin() {
    if (started_.exchange(true)) return;
    range_ = annotate::collective_begin(info_);
    begun_.store(true, std::memory_order_release);
  }
  void end() {
    if (!begun_.load(std::memory_order_acquire) || ended_.exchange(true)) return;
    annotate::collective_end(range_);
  }

 private:
  const vocabulary::CollectiveInfo info_;
  std::uint64_t range_ = 0;
  std::atomic<bool> started_{false}, begun_{false}, ended_{false};
};

constexpr auto info_kind = c10::DebugInfoKind::TEST_INFO;  // LibTorch does not use this slot

struct InFlightContext : at::ObserverContext {
  explicit InFlightContext(InFlight* work) : in_flight(work) {}
  InFlight* in_flight;  // kept alive by the debug information in the handlers' state
};

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction&) {
  auto* in_flight = static_cast<InFlight*>(c10::ThreadLocalDebugInfo::get(info_kind));
  if (!in_flight) return nullptr;
  in_flight->begin();
  return std::make_unique<InFlightContext>(in_flight);
}

void on_end(const at::RecordFunction&, at::ObserverContext* context) {
  if (context) static_cast<InFlightContext*>(context)->in_flight->end();
}

void watch_user_scopes() {
  static const auto handle =
      at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end).scopes({at::RecordScope::USER_SCOPE}));
  (void)handle;
}

std::int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::int64_t bytes = 0;
  for (const auto& tensor : tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
  return bytes;
}

std::int64_t bytes_of(const std::vector<std::vector<at::Tensor>>& lists) {
  std::int64_t bytes = 0;
  for (const auto& tensors : lists) bytes += bytes_of(tensors);
  return bytes;
}

}  // namespace

std::uint64_t hash_text(const std::string& text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char c : text) hash = (hash ^ c) * 1099511628211ULL;
  return hash;
}

TracedBackend::TracedBackend(c10::intrusive_ptr<c10d::Backend> inner, const std::string& group_name, bool host_work)
    : Backend(inner->getRank(), inner->getSize()),
      inner_(std::move(inner)),
      communicator_(hash_text(group_name)),
      host_work_(host_work) {
  if (host_work_ && annotate::attached()) watch_user_scopes();
}

void TracedBackend::begin_gradient_buckets() {
  next_bucket_ = 0;
  first_launch_ns_ = 0;
  in_backward_ = true;
}

template <typename Launch>
TracedBackend::WorkPtr TracedBackend::traced(vocabulary::CollectiveOp op, std::int64_t bytes, Launch&& launch) {
  const bool gradients = op == vocabulary::CollectiveOp::all_reduce && in_backward_;
  if (gradients && next_bucket_ == 0) first_launch_ns_ = monotonic_ns();
  const vocabulary::CollectiveInfo info{communicator_, sequence_++, bytes, static_cast<std::int32_t>(op),
                                        gradients ? next_bucket_++ : -1};
  if (!annotate::attached()) return launch();
  annotate::collective_launch(info);
  if (!host_work_) return launch();
  auto in_flight = std::make_shared<InFlight>(info);
  const c10::DebugInfoGuard guard(info_kind, in_flight);
  auto work = launch();
  // The future completes before the RecordFunction ends. The first of both ends the range.
  if (const auto future = work->getFuture()) future->addCallback([in_flight](auto&) { in_flight->end(); });
  return work;
}

using Op = vocabulary::CollectiveOp;

TracedBackend::WorkPtr TracedBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  return traced(Op::broadcast, bytes_of(tensors), [&] { return inner_->broadcast(tensors, options); });
}
TracedBackend::WorkPtr TracedBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  // The integer map of used parameters is also all-reduced in backward.
  if (in_backward_ && bucket_watcher_)
    for (const at::Tensor& tensor : tensors)
      if (tensor.is_floating_point()) bucket_watcher_(tensor);
  return traced(Op::all_reduce, bytes_of(tensors), [&] { return inner_->allreduce(tensors, options); });
}
TracedBackend::WorkPtr TracedBackend::allreduce_coalesced(Tensors& tensors,
                                                          const c10d::AllreduceCoalescedOptions& options) {
  return traced(Op::all_reduce, bytes_of(tensors), [&] { return inner_->allreduce_coalesced(tensors, options); });
}
TracedBackend::WorkPtr TracedBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  return traced(Op::other, bytes_of(tensors), [&] { return inner_->reduce(tensors, options); });
}
TracedBackend::WorkPtr TracedBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                                const c10d::AllgatherOptions& options) {
  return traced(Op::all_gather, bytes_of(outputs), [&] { return inner_->allgather(outputs, inputs, options); });
}
TracedBackend::WorkPtr TracedBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                      const c10d::AllgatherOptions& options) {
  return traced(Op::all_gather, static_cast<std::int64_t>(output.nbytes()),
                [&] { return inner_->_allgather_base(output, input, options); });
}
TracedBackend::WorkPtr TracedBackend::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                      const c10d::AllgatherOptions& options) {
  return traced(Op::all_gather, bytes_of(outputs),
                [&] { return inner_->allgather_into_tensor_coalesced(outputs, inputs, options); });
}
TracedBackend::WorkPtr TracedBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                     const c10d::ReduceScatterOptions& options) {
  return traced(Op::reduce_scatter, bytes_of(inputs), [&] { return inner_->reduce_scatter(outputs, inputs, options); });
}
TracedBackend::WorkPtr TracedBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                           const c10d::ReduceScatterOptions& options) {
  return traced(Op::reduce_scatter, static_cast<std::int64_t>(input.nbytes()),
                [&] { return inner_->_reduce_scatter_base(output, input, options); });
}
TracedBackend::WorkPtr TracedBackend::reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                                      const c10d::ReduceScatterOptions& options) {
  return traced(Op::reduce_scatter, bytes_of(inputs),
                [&] { return inner_->reduce_scatter_tensor_coalesced(outputs, inputs, options); });
}
TracedBackend::WorkPtr TracedBackend::barrier(const c10d::BarrierOptions& options) {
  return traced(Op::barrier, 0, [&] { return inner_->barrier(options); });
}

}  // namespace ddpprof::worker
