// The collectives of DDP over MPI, as a c10d backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runner/worker/mpi/progress.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// CPU tensors, dense and contiguous, of at most 2^31 - 1 elements; sum, product, minimum and maximum. Everything else
// is refused with std::invalid_argument. One a process: MPI is begun once. docs/design/mpi-backend.md.
class MpiBackend : public c10d::Backend {
 public:
  // The job that mpirun made must have `size` ranks and call this one `rank`. Throws mpi::LibraryError, and
  // std::runtime_error where MPI does not start within `start_timeout` or counts ranks otherwise.
  MpiBackend(int rank, int size, std::chrono::milliseconds timeout, std::chrono::milliseconds start_timeout);

  const std::string getBackendName() const override { return "mpi"; }
  void setSequenceNumberForGroup() override {}
  void abort() override { progress_.abandon("the process group was aborted"); }
  // Every rank's last call; without it this rank's end is a failure to MPI. Throws std::runtime_error when the ranks do
  // not leave their job together.
  void shutdown() override;

  using Tensors = std::vector<at::Tensor>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;
  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
  WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
  WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                         const c10d::ReduceScatterOptions& options) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& options) override;
  WorkPtr barrier(const c10d::BarrierOptions& options) override;

 private:
  struct Job;
  WorkPtr ask(Job);

  const std::chrono::milliseconds timeout_;
  mpi::Progress progress_;
};

}  // namespace ddpprof::worker
