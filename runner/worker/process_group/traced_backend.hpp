// A c10d backend that forwards to another backend and annotates every collective: its launch and its execution.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "runner/worker/torch.hpp"
#include "tracer/format/vocabulary.hpp"

namespace ddpprof::worker {

// `collective_launch` is marked on the launching thread. The range `collective` starts when Gloo's worker thread
// starts the work (ProcessGroupGloo runs its profiling handler there, which a RecordFunction callback here receives)
// and ends when that thread completes the work's future. For backends whose work runs on a GPU only launches are
// marked: CUPTI records the execution.
class TracedBackend : public c10d::Backend {
 public:
  // `group_name` must be the same on every rank: its hash is the communicator's name in the trace.
  TracedBackend(c10::intrusive_ptr<c10d::Backend> inner, const std::string& group_name, bool host_work);

  // Between these two calls every all-reduce is a gradient bucket, numbered from 0 in launch order.
  void begin_gradient_buckets();
  void end_gradient_buckets() { in_backward_ = false; }
  // Called with each floating-point bucket before its all-reduce, on the thread that launches it. Work that it enqueues
  // on a device runs before the all-reduce. Empty: not called.
  using BucketWatcher = std::function<void(const at::Tensor&)>;
  void watch_gradient_buckets(BucketWatcher watcher) { bucket_watcher_ = std::move(watcher); }
  // Returns the launch time of the first gradient bucket since begin_gradient_buckets() (CLOCK_MONOTONIC), or 0.
  std::int64_t first_bucket_launch_ns() const { return first_launch_ns_; }

  const std::string getBackendName() const override { return inner_->getBackendName(); }
  c10::intrusive_ptr<Options> getBackendOptions() override { return inner_->getBackendOptions(); }
  void setTimeout(std::chrono::milliseconds timeout) override { inner_->setTimeout(timeout); }
  void setSequenceNumberForGroup() override { inner_->setSequenceNumberForGroup(); }
  uint64_t getSequenceNumberForGroup() override { return inner_->getSequenceNumberForGroup(); }
  bool supportsCoalescing() const override { return inner_->supportsCoalescing(); }
  void startCoalescing() override { inner_->startCoalescing(); }
  c10::intrusive_ptr<c10d::Work> endCoalescing() override { return inner_->endCoalescing(); }
  void setGroupUid(const std::string& uid) override {
    Backend::setGroupUid(uid);
    inner_->setGroupUid(uid);
  }
  void abort() override { inner_->abort(); }
  void shutdown() override { inner_->shutdown(); }

  using Tensors = std::vector<at::Tensor>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;
  // Point-to-point operations are not annotated.
  WorkPtr send(Tensors& tensors, int destination, int tag) override { return inner_->send(tensors, destination, tag); }
  WorkPtr recv(Tensors& tensors, int source, int tag) override { return inner_->recv(tensors, source, tag); }

 private:
  template <typename Launch>
  WorkPtr traced(vocabulary::CollectiveOp op, std::int64_t bytes, Launch&& launch);

  c10::intrusive_ptr<c10d::Backend> inner_;
  const std::uint64_t communicator_;
  const bool host_work_;
  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<bool> in_backward_{false};
  std::atomic<std::int32_t> next_bucket_{0};
  std::atomic<std::int64_t> first_launch_ns_{0};
  BucketWatcher bucket_watcher_;
};

// FNV-1a, 64 bit.
std::uint64_t hash_text(const std::string& text);

}  // namespace ddpprof::worker
