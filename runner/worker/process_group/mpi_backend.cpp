#include "runner/worker/process_group/mpi_backend.hpp"

#include <ATen/ThreadLocalState.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "runner/worker/mpi/library.hpp"

namespace ddpprof::worker {
namespace {

using std::chrono::milliseconds;

constexpr auto spare = milliseconds(5000);  // added to the timeout of the calls

const char* name_of(ddpprof_mpi_collective collective) {
  switch (collective) {
    case ddpprof_mpi_all_reduce:
      return "all-reduce";
    case ddpprof_mpi_broadcast:
      return "broadcast";
    case ddpprof_mpi_all_gather:
      return "all-gather";
    case ddpprof_mpi_reduce_scatter:
      return "reduce-scatter";
    case ddpprof_mpi_barrier:
      return "barrier";
  }
  return "";
}

[[noreturn]] void refuse(ddpprof_mpi_collective collective, const std::string& why) {
  throw std::invalid_argument(std::string("mpi: ") + name_of(collective) + " " + why);
}

ddpprof_mpi_type type_of(ddpprof_mpi_collective collective, at::ScalarType type) {
  switch (type) {
    case at::kByte:
    case at::kBool:
      return ddpprof_mpi_uint8;
    case at::kChar:
      return ddpprof_mpi_int8;
    case at::kShort:
      return ddpprof_mpi_int16;
    case at::kInt:
      return ddpprof_mpi_int32;
    case at::kLong:
      return ddpprof_mpi_int64;
    case at::kHalf:
      return ddpprof_mpi_half;
    case at::kBFloat16:
      return ddpprof_mpi_bfloat16;
    case at::kFloat:
      return ddpprof_mpi_float;
    case at::kDouble:
      return ddpprof_mpi_double;
    default:
      refuse(collective, std::string("of ") + at::toString(type) + " tensors: expected whole or floating numbers");
  }
}

ddpprof_mpi_operation operation_of(ddpprof_mpi_collective collective, const c10d::ReduceOp& operation) {
  switch (operation) {
    case c10d::ReduceOp::SUM:
      return ddpprof_mpi_sum;
    case c10d::ReduceOp::PRODUCT:
      return ddpprof_mpi_product;
    case c10d::ReduceOp::MIN:
      return ddpprof_mpi_minimum;
    case c10d::ReduceOp::MAX:
      return ddpprof_mpi_maximum;
    default:
      refuse(collective, "with that operation: expected sum, product, minimum or maximum");
  }
}

const at::Tensor& only(ddpprof_mpi_collective collective, const std::vector<at::Tensor>& tensors) {
  if (tensors.size() != 1)
    refuse(collective, "of " + std::to_string(tensors.size()) + " tensors at once: expected one");
  return tensors.front();
}

void check(ddpprof_mpi_collective collective, const at::Tensor& tensor) {
  if (!tensor.device().is_cpu()) refuse(collective, "of a tensor on " + tensor.device().str() + ": expected cpu");
  if (tensor.layout() != at::kStrided || !tensor.is_contiguous())
    refuse(collective, "of a tensor that is not dense and contiguous");
  if (tensor.numel() > std::numeric_limits<int>::max())
    refuse(collective, "of " + std::to_string(tensor.numel()) + " elements: MPI counts up to 2147483647");
}

void check_parts(ddpprof_mpi_collective collective, const at::Tensor& whole, const at::Tensor& part, int size) {
  check(collective, whole);
  check(collective, part);
  if (whole.scalar_type() != part.scalar_type() || whole.numel() != part.numel() * size)
    refuse(collective, "between " + std::to_string(whole.numel()) + " " + at::toString(whole.scalar_type()) + " and " +
                           std::to_string(part.numel()) + " " + at::toString(part.scalar_type()) + " elements on " +
                           std::to_string(size) + " ranks");
}

class MpiWork : public c10d::Work {
 public:
  MpiWork(int rank, c10d::OpType type, std::vector<at::Tensor> outputs, milliseconds longest)
      : Work(rank, type),
        outputs_(std::move(outputs)),
        longest_(longest),
        future_(c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()))) {}

  bool wait(milliseconds timeout) override {
    // The base class would wait forever if MPI's thread does not return.
    return Work::wait(timeout == kNoTimeout ? longest_ : timeout);
  }
  std::vector<at::Tensor> result() override { return outputs_; }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }

  // The future first, as in Gloo: after waiting for the work, the future is complete.
  void done() {
    future_->markCompleted(c10::IValue(outputs_));
    finish();
  }
  void failed(const std::string& why) {
    const auto error = std::make_exception_ptr(std::runtime_error("mpi: " + why));
    future_->setError(error);
    finish(error);
  }

 private:
  const std::vector<at::Tensor> outputs_;
  const milliseconds longest_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
};

}  // namespace

// One requested operation and its data. `after` runs on the thread that calls MPI, after MPI is done.
struct MpiBackend::Job {
  ddpprof_mpi_call what{};
  c10d::OpType type = c10d::OpType::UNKNOWN;
  std::int64_t bytes = 0;
  std::vector<at::Tensor> used;     // kept until the operation is done
  std::vector<at::Tensor> outputs;  // of the work
  std::function<void()> after;

  static Job in_place(ddpprof_mpi_collective collective, c10d::OpType type, const at::Tensor& tensor) {
    Job job;
    job.what.collective = collective;
    job.what.type = type_of(collective, tensor.scalar_type());
    job.what.output = tensor.data_ptr();
    job.what.count = static_cast<int>(tensor.numel());
    job.type = type;
    job.bytes = static_cast<std::int64_t>(tensor.nbytes());
    job.used = job.outputs = {tensor};
    return job;
  }
  static Job between(ddpprof_mpi_collective collective, c10d::OpType type, const at::Tensor& input,
                     const at::Tensor& output, std::int64_t count) {
    Job job = in_place(collective, type, output);
    job.what.input = input.data_ptr();
    job.what.count = static_cast<int>(count);
    job.bytes = static_cast<std::int64_t>(std::max(input.nbytes(), output.nbytes()));
    job.used.push_back(input);
    return job;
  }
};

namespace {

template <typename Job>
class MpiCall : public mpi::Call {
 public:
  MpiCall(Job job, c10::intrusive_ptr<MpiWork> work) : job_(std::move(job)), work_(std::move(work)) {}

  const ddpprof_mpi_call& what() const override { return job_.what; }
  std::string describe() const override {
    return name_of(job_.what.collective) +
           (job_.bytes > 0 ? " of " + std::to_string(job_.bytes) + " bytes" : std::string());
  }
  // Like Gloo's threads: with the state of the requesting thread, in a record function, so that profilers record it.
  void begin() override {
    const at::ThreadLocalStateGuard state(state_);
    recorded_ = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
    if (recorded_->isActive()) recorded_->before("mpi");
  }
  void end(const std::string& failure) override {
    if (ended_.exchange(true)) return;
    if (!failure.empty()) {
      work_->failed(failure);  // possibly on another thread than the one that began it: then the record stays open
      return;
    }
    try {
      if (job_.after) job_.after();
    } catch (const std::exception& error) {
      work_->failed(describe() + ": " + error.what());
      return;
    }
    {
      const at::ThreadLocalStateGuard state(state_);
      work_->done();
    }
    recorded_.reset();
  }

 private:
  const Job job_;
  const c10::intrusive_ptr<MpiWork> work_;
  const at::ThreadLocalState state_;
  std::unique_ptr<at::RecordFunction> recorded_;
  std::atomic<bool> ended_{false};
};

}  // namespace

MpiBackend::MpiBackend(int rank, int size, milliseconds timeout, milliseconds start_timeout)
    : Backend(rank, size), timeout_(timeout), progress_(mpi::load(), timeout) {
  const mpi::Place place = progress_.enter(start_timeout);
  if (place.rank == rank && place.size == size) return;
  const std::string why = "mpi: MPI counts this process as rank " + std::to_string(place.rank) + " of " +
                          std::to_string(place.size) + ", the run as rank " + std::to_string(rank) + " of " +
                          std::to_string(size) + ": start the ranks with mpirun -np " + std::to_string(size);
  progress_.abandon(why);
  throw std::runtime_error(why);
}

void MpiBackend::shutdown() {
  try {
    progress_.leave();
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(std::string("mpi: ") + error.what());
  }
}

MpiBackend::WorkPtr MpiBackend::ask(Job job) {
  auto work = c10::make_intrusive<MpiWork>(getRank(), job.type, job.outputs, timeout_ + spare);
  progress_.ask(std::make_shared<MpiCall<Job>>(std::move(job), work));
  return work;
}

MpiBackend::WorkPtr MpiBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  constexpr auto collective = ddpprof_mpi_broadcast;
  const at::Tensor& tensor = only(collective, tensors);
  check(collective, tensor);
  if (options.rootRank < 0 || options.rootRank >= getSize())
    refuse(collective, "from rank " + std::to_string(options.rootRank) + " of " + std::to_string(getSize()));
  Job job = Job::in_place(collective, c10d::OpType::BROADCAST, tensor);
  job.what.root = static_cast<int>(options.rootRank);
  return ask(std::move(job));
}

MpiBackend::WorkPtr MpiBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  constexpr auto collective = ddpprof_mpi_all_reduce;
  const at::Tensor& tensor = only(collective, tensors);
  check(collective, tensor);
  Job job = Job::in_place(collective, c10d::OpType::ALLREDUCE, tensor);
  job.what.operation = operation_of(collective, options.reduceOp);
  return ask(std::move(job));
}

MpiBackend::WorkPtr MpiBackend::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions&) {
  constexpr auto collective = ddpprof_mpi_all_gather;
  check_parts(collective, output, input, getSize());
  return ask(Job::between(collective, c10d::OpType::_ALLGATHER_BASE, input, output, input.numel()));
}

MpiBackend::WorkPtr MpiBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions&) {
  constexpr auto collective = ddpprof_mpi_all_gather;
  const at::Tensor& input = only(collective, inputs);
  check(collective, input);
  if (outputs.size() != 1 || outputs.front().size() != static_cast<std::size_t>(getSize()))
    refuse(collective, "into another number of tensors than the " + std::to_string(getSize()) + " ranks'");
  for (const at::Tensor& output : outputs.front())
    if (!output.device().is_cpu() || output.scalar_type() != input.scalar_type() || output.numel() != input.numel())
      refuse(collective, "into a tensor of another device, type or size than the input's");
  // MPI writes the parts of the ranks one after another.
  const at::Tensor flat = at::empty({getSize() * input.numel()}, input.options());
  check(collective, flat);
  Job job = Job::between(collective, c10d::OpType::ALLGATHER, input, flat, input.numel());
  job.outputs = outputs.front();
  job.after = [flat, into = outputs.front(), count = input.numel()] {
    for (std::size_t i = 0; i < into.size(); ++i)
      at::Tensor(into[i]).copy_(flat.narrow(0, static_cast<std::int64_t>(i) * count, count).view(into[i].sizes()));
  };
  return ask(std::move(job));
}

MpiBackend::WorkPtr MpiBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                     const c10d::ReduceScatterOptions& options) {
  constexpr auto collective = ddpprof_mpi_reduce_scatter;
  check_parts(collective, input, output, getSize());
  Job job = Job::between(collective, c10d::OpType::_REDUCE_SCATTER_BASE, input, output, output.numel());
  job.what.operation = operation_of(collective, options.reduceOp);
  return ask(std::move(job));
}

MpiBackend::WorkPtr MpiBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                               const c10d::ReduceScatterOptions& options) {
  constexpr auto collective = ddpprof_mpi_reduce_scatter;
  at::Tensor output = only(collective, outputs);
  if (inputs.size() != 1 || inputs.front().size() != static_cast<std::size_t>(getSize()))
    refuse(collective, "of another number of tensors than the " + std::to_string(getSize()) + " ranks'");
  Tensors parts;
  for (const at::Tensor& input : inputs.front()) {
    if (!input.device().is_cpu() || input.scalar_type() != output.scalar_type() || input.numel() != output.numel())
      refuse(collective, "of a tensor of another device, type or size than the output's");
    parts.push_back(input.reshape({-1}));
  }
  at::Tensor flat = at::cat(parts);
  return _reduce_scatter_base(output, flat, options);
}

MpiBackend::WorkPtr MpiBackend::barrier(const c10d::BarrierOptions&) {
  Job job;
  job.what.collective = ddpprof_mpi_barrier;
  job.type = c10d::OpType::BARRIER;
  return ask(std::move(job));
}

}  // namespace ddpprof::worker
