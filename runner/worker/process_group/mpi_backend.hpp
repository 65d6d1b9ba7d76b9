// The collectives of DDP over MPI, as a c10d backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runner/worker/mpi/progress.hpp"
#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// CPU tensors, dense and contiguous, of at most 2^31 - 1 elements; sum, product, minimum and maximum. Anything else
// throws std::invalid_argument. One object per process, since MPI starts only once. See docs/design/mpi-backend.md.
class MpiBackend : public c10d::Backend {
 public:
  // mpirun's job must have `size` ranks, and this process must be `rank`. Throws mpi::LibraryError. Throws
  // std::runtime_error if MPI does not start within `start_timeout` or its ranks differ.
  MpiBackend(int rank, int size, std::chrono::milliseconds timeout, std::chrono::milliseconds start_timeout);

  const std::string getBackendName() const override { return "mpi"; }
  void setSequenceNumberForGroup() override {}
  void abort() override { progress_.abandon("the process group was aborted"); }
  // The last call of every rank. Without it, MPI reports the end of this rank as a failure. Throws std::runtime_error
  // if the ranks do not leave the job together.
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
