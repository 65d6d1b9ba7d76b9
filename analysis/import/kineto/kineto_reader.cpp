#include "analysis/import/kineto/kineto_reader.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "analysis/import/kineto/shapes.hpp"
#include "analysis/import/trace/backwards.hpp"
#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/collectives/kernel_families.hpp"
#include "analysis/import/trace/sharding/annotations.hpp"
#include "analysis/ingest/host_operations.hpp"

namespace ddpprof::import {
namespace {

// The operation around a launch or a kernel. Older versions of Kineto wrote the correlation in its place.
std::optional<std::int64_t> operation_id(const Event::Arguments& arguments) {
  return arguments.external_id == arguments.correlation ? std::nullopt : arguments.external_id;
}

// record_param_comms also records calls that exchange nothing.
bool exchanges(std::string_view collective) {
  for (const std::string_view other : {"wait", "init", "startCoalescing", "endCoalescing", "start_coalescing",
                                       "end_coalescing", "monitored_barrier", "pointToPoint"})
    if (collective == other) return false;
  return true;
}

// Returns the step of an annotation: 4 for "ProfilerStep#4". "ProfilerStep*" and others have no number.
std::optional<std::int64_t> step_number(std::string_view name) {
  const std::size_t hash = name.find('#');
  if (hash == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + hash + 1, end, number);
  return error == std::errc{} && stop == end && number >= 0 && number < most_steps ? std::optional(number)
                                                                                   : std::nullopt;
}

}  // namespace

KinetoReader::Kind KinetoReader::kind_of(std::string_view category) {
  static const std::map<std::string, Kind, std::less<>> kinds = {
      {"kernel", Kind::kernel},
      {"concurrent_kernel", Kind::kernel},
      {"gpu_memcpy", Kind::copy},
      {"memcpy", Kind::copy},
      {"gpu_memset", Kind::set},
      {"memset", Kind::set},
      {"cuda_runtime", Kind::runtime},
      {"runtime", Kind::runtime},
      {"hip_runtime", Kind::runtime},
      {"xpu_runtime", Kind::runtime},
      {"mtia_runtime", Kind::runtime},
      {"glow_runtime", Kind::runtime},
      {"privateuse1_runtime", Kind::runtime},
      {"privateuse1_driver", Kind::driver},
      {"cuda_driver", Kind::driver},
      {"driver", Kind::driver},
      {"cpu_op", Kind::operation},
      {"operator", Kind::operation},
      {"user_annotation", Kind::annotation},
      {"python_function", Kind::python},
      {"gpu_user_annotation", Kind::ignored},
      {"ac2g", Kind::ignored},
      {"async", Kind::ignored},
      {"async_cpu_to_gpu", Kind::ignored},
      {"async_gpu", Kind::ignored},
      {"fwdbwd", Kind::ignored},
      {"forward_backward", Kind::ignored},
      {"trace", Kind::ignored},
      {"cpu_instant_event", Kind::ignored},
      {"overhead", Kind::ignored},
      {"cuda_sync", Kind::ignored},
      {"cuda_event", Kind::ignored},
      {"python_gc", Kind::ignored},
  };
  const auto found = kinds.find(lower(category));
  return found == kinds.end() ? Kind::unknown : found->second;
}

KinetoReader::Kind KinetoReader::kind(std::string_view category) {
  if (category == last_category_) return last_kind_;
  auto found = kinds_.find(category);
  if (found == kinds_.end()) found = kinds_.emplace(std::string(category), kind_of(category)).first;
  last_category_ = found->first;
  return last_kind_ = found->second;
}

void KinetoReader::refuse(std::string_view why, std::uint64_t offset) {
  Refused& refused = refused_[std::string(why)];
  if (refused.count++ == 0) refused.first_offset = offset;
}

void KinetoReader::damage(std::uint64_t offset, std::string_view what) { refuse(what, offset); }

void KinetoReader::event(const Event& event, std::uint64_t offset) {
  if (event.phase == 'M') {
    metadata(event);
    return;
  }
  if (event.phase == 0) {
    refuse("an event without `ph`", offset);
    return;
  }
  if (event.phase == 'i' && event.name == "[memory]" && allocator_event(event)) return;
  if (event.phase != 'X') {
    ++passed_over_[std::string("ph ") + event.phase];
    return;
  }
  const Kind kind = this->kind(event.category);
  if (kind == Kind::ignored || kind == Kind::unknown) {
    ++passed_over_[event.category.empty() ? "without a category" : std::string(event.category)];
    if (kind == Kind::unknown) unread_event(event);
    return;
  }
  if (!event.start_ns) return refuse("an event without `ts`", offset);
  if (!event.duration_ns) return refuse("an event without `dur`", offset);
  if (event.name.empty()) return refuse("an event without a name", offset);
  if (*event.duration_ns < 0) return refuse("a negative duration", offset);
  Span time{*event.start_ns, 0};
  if (*event.start_ns < 0 || __builtin_add_overflow(*event.start_ns, *event.duration_ns, &time.end_ns) ||
      !sound_time(time.start_ns, time.end_ns))
    return refuse("an impossible time", offset);
  ++taken_;
  offset_ = offset;
  switch (kind) {
    case Kind::kernel:
    case Kind::copy:
    case Kind::set:
      return device_event(event, kind, time);
    case Kind::runtime:
    case Kind::driver:
      return call_event(event, kind, time);
    default:
      return host_event(event, kind, time);
  }
}

void KinetoReader::device_event(const Event& event, Kind kind, Span time) {
  const Event::Arguments& arguments = event.arguments;
  RawSlice raw;
  raw.slice.start_ns = time.start_ns;
  raw.slice.end_ns = time.end_ns;
  // AMD's traces name a kernel event after its launch; the kernel's name is in `args`.
  const std::string_view name = arguments.kernel.empty() ? event.name : arguments.kernel;
  raw.slice.name = rank_.names.intern(name);
  raw.slice.device = short_number(arguments.device ? *arguments.device : number_of(event.pid));
  raw.slice.stream = short_number(arguments.stream ? *arguments.stream : number_of(event.tid));
  raw.slice.work = kind == Kind::copy ? Work::copy : kind == Kind::set ? Work::set : Work::compute;
  if (kind == Kind::kernel && (!arguments.collective.empty() || collective_kernel_.of(raw.slice.name, name)))
    raw.slice.work = Work::communication;
  raw.correlation = arguments.correlation.value_or(-1);
  raw.grid = arguments.grid;
  raw.block = arguments.block;
  raw.registers = size_in(arguments.registers);
  raw.shared_bytes = size_in(arguments.shared_bytes);
  raw.bytes = size_in(arguments.bytes);
  rank_.slices.add(raw.slice, arguments.correlation ? arguments.correlation : arguments.external_id);
  raw_.slice(raw);
  if (raw.slice.work != Work::communication) return;
  CollectiveRun run;
  run.time = time;
  run.op = arguments.collective.empty() ? collective_op_of_kernel(name) : collective_op(arguments.collective);
  run.bytes = message_bytes(arguments);
  run.integral = is_integral(arguments.dtype);
  run.element_bytes = element_bytes(arguments.dtype);
  run.correlation = arguments.correlation;
  run.external_id = operation_id(arguments);
  run.sequence = arguments.collective_sequence;
  run.group = group_of(event);
  run.group_size = group_size(arguments);
  run.stream = raw.slice.stream;
  run.details = details_of(arguments, run.op);
  rank_.runs.push_back(run);
}

void KinetoReader::call_event(const Event& event, Kind kind, Span time) {
  RawCall raw;
  raw.tid = number_of(event.tid);
  raw.correlation = event.arguments.correlation.value_or(event.arguments.external_id.value_or(-1));
  raw.callback = event.arguments.callback.value_or(0);
  raw.start_ns = time.start_ns;
  raw.end_ns = time.end_ns;
  raw.name = rank_.names.intern(event.name);
  raw.driver = kind == Kind::driver;
  if (raw.correlation >= 0)
    rank_.slices.add_call(raw.correlation, {time.start_ns, operation_id(event.arguments).value_or(-1), raw.tid,
                                            kernel_launch_.of(raw.name, event.name) ? raw.name : 0});
  if (device_launch_.of(raw.name, event.name)) count_launch(event.name);
  rank_.saw_host(time.start_ns, time.end_ns);
  raw_.call(raw);
}

void KinetoReader::host_event(const Event& event, Kind kind, Span time) {
  if (annotation_domain_ == 0) {
    operation_domain_ = rank_.names.intern("operation");
    annotation_domain_ = rank_.names.intern("annotation");
    python_domain_ = rank_.names.intern("python");
  }
  RawRange raw;
  raw.tid = number_of(event.tid);
  raw.start_ns = time.start_ns;
  raw.end_ns = time.end_ns;
  raw.name = rank_.names.intern(event.name);
  raw.domain = kind == Kind::annotation ? annotation_domain_
               : kind == Kind::python   ? python_domain_
                                        : operation_domain_;
  rank_.saw_host(time.start_ns, time.end_ns);
  if (rank_.pid == 0) rank_.pid = number_of(event.pid);
  raw_.range(raw);
  if (kind == Kind::python) return;
  mark(event, time);
  // Operations inside of the last one do not change when the host computes.
  const HostOperation& last = last_host_work_;
  if (kind == Kind::operation && rank_.device_launches == 0 && ingest::computes(event.name) &&
      !(raw.tid == last.tid && time.start_ns >= last.time.start_ns && time.end_ns <= last.time.end_ns)) {
    rank_.host_work.push({time, raw.tid});
    // A function written in Python may wait for a collective. Then only the operations inside of it compute.
    if (!ingest::is_backward_function(event.name)) last_host_work_ = {time, raw.tid};
  }
}

void KinetoReader::mark(const Event& event, Span time) {
  const std::string_view name = event.name;
  const Event::Arguments& arguments = event.arguments;
  switch (name.front()) {
    case 'P':
      if (!name.starts_with("ProfilerStep")) break;
      mark_process(event);
      if (const std::optional<std::int64_t> number = step_number(name)) mark_step(event, *number, time);
      rank_.steps.push_back(
          {step_number(name).value_or(static_cast<std::int64_t>(rank_.steps.size())), std::string(name), time});
      return;
    case 'D':
      if (name == "DistributedDataParallel.forward") rank_.forwards.push_back(time);
      if (name == "DataParallel.forward") ++rank_.replicated_forwards;
      break;
    case 'F':
      if (name.starts_with("FullyShardedDataParallel.") || name.starts_with("FSDP::")) ++rank_.sharding_marks;
      if (const std::optional<ShardingAnnotation> annotation = sharding_annotation(name))
        rank_.sharding.push_back({time, number_of(event.tid), annotation->action, rank_.names.intern(annotation->unit),
                                  annotation->nameless});
      break;
    case 'f':
      if (name == "fsdp::chunk_cat")
        if (const std::optional<TensorInput> input = first_input(arguments.input_shapes, arguments.input_types))
          rank_.unit_gradients.push_back({time.start_ns, number_of(event.tid), input->elements});
      break;
    case 'O':
      if (name.starts_with("Optimizer.step")) {
        rank_.optimizers.push_back(time);
        rank_.saw_optimizer(name);
      }
      break;
    case 'e':
      if (name.starts_with("enumerate(DataLoader)")) rank_.data_waits.push_back(time);
      break;
    case 't':
      if (name == "torch::autograd::AccumulateGrad") {
        mark_process(event);
        GradientMark gradient;
        gradient.ready_ns = time.end_ns;
        const std::optional<TensorInput> input = first_input(arguments.input_shapes, arguments.input_types);
        if (input) {
          gradient.numel = input->elements;
          gradient.element_bytes = input->element_bytes;
          gradient.shape = rank_.names.intern(input->shape);
        }
        rank_.gradients.push_back(gradient);
        return;
      }
      if (name == "torch.distributed.ddp.reducer::copy_bucket_to_grad") {  // the end of DDP's backward
        rank_.backward_ops.push(time);
        rank_.gradient_copies = true;
      }
      break;
    case 'a':
      // cudnn_is_acceptable only asks, also on a CPU: LSTM and GRU call it.
      if ((name.starts_with("aten::cudnn_") && name != "aten::cudnn_is_acceptable") || name.starts_with("aten::miopen_"))
        count_launch(name);
      break;
    case 'c':
      if (name.starts_with("c10d::")) return host_call(event, time, CollectiveMark::c10d);
      break;
    case 'r':
      if (name == "record_param_comms") return host_call(event, time, CollectiveMark::record_param_comms);
      break;
    default:
      break;
  }
  const BackendKind backend = annotated_backend(name);
  if (backend == BackendKind::host) return host_run(event, time);
  if (backend == BackendKind::device) return host_call(event, time, CollectiveMark::annotation);
  if (name.starts_with("autograd::engine::evaluate_function") || ingest::is_backward_function(name))
    rank_.backward_ops.push({time.start_ns, time.end_ns});
  if (is_forward_operation(name)) rank_.forward_ops.push({time.start_ns, time.end_ns});
  if (is_matrix_operation(name)) ++rank_.matrix_operations;
  if (name.starts_with("aten::") && !arguments.input_shapes.empty())
    if (const std::optional<std::int64_t> batch = batch_of(name, arguments.input_shapes))
      add_batch(time.start_ns, {*batch, name == "aten::addmm"});
}

KinetoReader::HostMessage KinetoReader::message_of(const Event& event, bool of_run) {
  const Event::Arguments& arguments = event.arguments;
  HostMessage message;
  message.op = collective_op(arguments.collective.empty() ? event.name : arguments.collective);
  message.bytes = message_bytes(arguments);
  message.integral = is_integral(arguments.dtype);
  message.element_bytes = element_bytes(arguments.dtype);
  // The inputs of a backend's run are the tensors of one message.
  std::optional<TensorInput> input = of_run ? all_inputs(arguments.input_shapes, arguments.input_types)
                                            : first_input(arguments.input_shapes, arguments.input_types);
  // An all-gather's first argument is its output, a reduce-scatter's first one is one rank's part. If the other one lists
  // the parts of all ranks, it is a list of lists, whose shapes are not recorded.
  if (!of_run && (message.op == CollectiveOp::all_gather || message.op == CollectiveOp::reduce_scatter)) {
    std::optional<TensorInput> second = input_at(arguments.input_shapes, arguments.input_types, 1);
    if (input && second) {
      if (second->elements > input->elements) std::swap(input, second);
      message.part_bytes = bytes_of(second->elements, second->element_bytes);
    } else if ((input || second) && event.name.starts_with("c10d::")) {
      const TensorInput& part = input ? *input : *second;
      message.part_elements = part.elements;
      message.element_bytes = part.element_bytes;
      message.integral = part.integral;
      return message;
    }
  }
  if (message.bytes == 0 && input) {
    message.elements = input->elements;
    message.element_bytes = input->element_bytes;
    message.bytes = bytes_of(input->elements, input->element_bytes);
    message.integral = message.integral || input->integral;
  }
  return message;
}

void KinetoReader::set_backend(std::string_view annotation) {
  if (rank_.backend.empty()) rank_.backend = std::string(annotation.substr(0, annotation.find(':')));
}

void KinetoReader::host_run(const Event& event, Span time) {
  const HostMessage message = message_of(event, true);
  CollectiveRun run;
  run.time = time;
  run.op = message.op;
  run.bytes = message.bytes;
  run.integral = message.integral;
  run.element_bytes = message.element_bytes;
  run.external_id = event.arguments.external_id;
  run.group = group_of(event);
  run.group_size = group_size(event.arguments);
  run.on_host = true;
  run.tid = number_of(event.tid);
  run.unfinished = event.arguments.unfinished;
  run.details = details_of(event.arguments, run.op);
  rank_.runs.push_back(run);
  mark_process(event);
  set_backend(event.name);
}

void KinetoReader::host_call(const Event& event, Span time, CollectiveMark mark) {
  const Event::Arguments& arguments = event.arguments;
  if (!exchanges(arguments.collective)) return;
  const HostMessage message = message_of(event, false);
  CollectiveCall call;
  call.time = time;
  call.mark = mark;
  call.op = message.op;
  call.bytes = message.bytes;
  call.part_bytes = message.part_bytes;
  call.part_elements = message.part_elements;
  call.element_bytes = message.element_bytes;
  call.elements = message.elements;
  call.integral = message.integral;
  call.tid = number_of(event.tid);
  call.external_id = arguments.external_id;
  call.sequence = arguments.collective_sequence;
  call.group = group_of(event);
  call.group_size = group_size(arguments);
  call.outer = mark == CollectiveMark::c10d;
  call.details = details_of(arguments, call.op);
  rank_.calls.push_back(call);
  mark_process(event);
  if (mark == CollectiveMark::annotation) set_backend(event.name);
}

}  // namespace ddpprof::import
