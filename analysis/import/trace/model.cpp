#include "analysis/import/trace/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "analysis/import/trace/checked.hpp"
#include "analysis/import/trace/last_backward.hpp"

namespace ddpprof::import {
namespace {

using ingest::Severity;

// One step's gradients and buckets.
struct StepView {
  const HostStep* step = nullptr;
  std::span<const GradientMark> gradients;  // of the last backward
  std::vector<const Collective*> buckets;   // all-reduces of gradients, in order of launch
};

std::vector<StepView> views_of(const RankTrace& rank, const std::vector<const HostStep*>& steps,
                               const std::vector<Collective>& collectives) {
  std::vector<StepView> views;
  for (const HostStep* step : steps) {
    StepView view;
    view.step = step;
    view.gradients = gradients_of_last_backward(*step, rank.gradients);
    for (const Collective& collective : in_last_backward(*step, collectives))
      if (collective.gradient) view.buckets.push_back(&collective);
    views.push_back(std::move(view));
  }
  return views;
}

class Model {
 public:
  Model(const RankTrace& rank, const std::vector<const HostStep*>& steps, const std::vector<Collective>& collectives,
        const TrainingOptions& options, const Moments& at)
      : rank_(rank),
        collectives_(collectives),
        options_(options),
        at_(at),
        views_(views_of(rank, steps, collectives)) {}

  ModelFacts run() {
    for (const StepView& view : views_)
      for (std::size_t b = 0; b < view.buckets.size(); ++b) bucket_of_[view.buckets[b]] = static_cast<std::int32_t>(b);
    if (const StepView* first = first_with_shapes(); first && parameters_from(*first))
      gradients_by_shape();
    else if (collectives_.empty())
      gradients_by_size();
    else
      buckets_as_parameters();
    if (accumulated_.elements > 0) {
      facts_.parameter_bytes = accumulated_.bytes;
      facts_.parameter_count = accumulated_.elements;
    }
    add_collectives();
    report_missing_buckets();
    facts_.sizes_assumed = !assumed_.empty();
    return std::move(facts_);
  }

 private:
  void note(Severity severity, std::string code, std::int64_t count, std::string message, std::string advice) {
    facts_.notes.push_back({severity, std::move(code), count, std::move(message), std::move(advice)});
  }

  // Steps without buckets in which the host called all-reduces, but no kernel of them was recorded.
  std::int64_t steps_with_lost_kernels() const {
    std::vector<std::int64_t> calls_ns, launches_ns;
    for (const CollectiveCall& call : rank_.calls)
      if (call.outer && call.op == CollectiveOp::all_reduce) calls_ns.push_back(call.time.start_ns);
    for (const Collective& one : collectives_) launches_ns.push_back(one.launch_ns);
    std::ranges::sort(calls_ns);
    std::ranges::sort(launches_ns);
    const auto any_inside = [](const std::vector<std::int64_t>& sorted_ns, const Span& time) {
      const auto first = std::ranges::lower_bound(sorted_ns, time.start_ns);
      return first != sorted_ns.end() && *first < time.end_ns;
    };
    return std::ranges::count_if(views_, [&](const StepView& view) {
      const Span& time = view.step->time;
      return view.buckets.empty() && any_inside(calls_ns, time) && !any_inside(launches_ns, time);
    });
  }

  void report_missing_buckets() {
    std::int64_t with = 0, without = 0, between = 0;  // between: a later step reduces; the last step may be cut off
    for (const StepView& view : views_) {
      if (!view.buckets.empty()) between = without;
      (view.buckets.empty() ? without : with) += 1;
    }
    const std::int64_t lost = without > 0 ? steps_with_lost_kernels() : 0;
    if (with > 0 && lost > 0)
      note(Severity::warning, "collective_kernels_lost", lost,
           fmt::format("steps whose all-reduces were called, but none of whose kernels was recorded, besides {} with "
                       "kernels: the profiler lost them, often at its start",
                       with),
           "use more warm-up steps in the profiler's schedule (torch.profiler.schedule(warmup=…)); the medians include "
           "these steps");
    else if (with > 0 && (between > 0 || without > 1))
      note(Severity::warning, "steps_without_reduction", std::max(between, without),
           fmt::format("steps that reduce no gradients, besides {} that do: with gradient accumulation, each "
                       "micro-batch was annotated as a step, so step time, throughput and prediction are those of a "
                       "mixture",
                       with),
           "call prof.step() once per optimizer step; medians over both kinds of steps describe neither kind");
    if (with == 0 && without > 0 && !collectives_.empty())
      note(Severity::warning, "no_gradient_buckets", static_cast<std::int64_t>(collectives_.size()),
           "collectives were recorded, but none of them reduces gradients in a backward",
           "sharded training (FSDP, ZeRO) and replayed CUDA graphs are reported, not predicted; for DDP, also record "
           "the host's operations (ProfilerActivity.CPU), or annotate forward and backward");
  }

  const StepView* first_with_shapes() const {
    for (const StepView& view : views_)
      if (!view.gradients.empty() &&
          std::all_of(view.gradients.begin(), view.gradients.end(),
                      [](const GradientMark& mark) { return bytes_of(mark.numel, mark.element_bytes) > 0; }))
        return &view;
    return nullptr;
  }

  // Gradients become ready in about the reverse order of registration, so the reverse of the ready order is used for
  // parameters.
  bool parameters_from(const StepView& view) {
    const std::span<const GradientMark> marks = view.gradients;
    std::int64_t bytes = 0, message_bytes = 0, numel = 0;
    for (const GradientMark& mark : marks) {
      bytes = sum_of(bytes, mark.numel * mark.element_bytes);
      numel = sum_of(numel, mark.numel);
    }
    for (const Collective* bucket : view.buckets) message_bytes = sum_of(message_bytes, bucket->bytes);
    // Compressed gradients have half the size. Any other sum means that the messages do not carry these gradients.
    if (message_bytes > 0 && message_bytes != bytes && 2 * message_bytes != bytes) {
      note(Severity::info, "gradients_unlike_messages", 1,
           fmt::format("gradients of {} bytes were accumulated, but all-reduces in backward have {} bytes", bytes,
                       message_bytes),
           bytes > message_bytes ? "each bucket is used as one parameter, and the model has the accumulated gradients; "
                                   "possible reasons are compressed messages (PowerSGD), or parameters that are not "
                                   "reduced"
                                 : "each bucket is used as one parameter; possible reasons are other collectives in "
                                   "backward, or unused parameters");
      if (bytes > message_bytes) accumulated_ = {bytes, numel};
      return false;
    }
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const GradientMark& mark = marks[marks.size() - 1 - i];
      facts_.parameters.push_back({static_cast<std::int64_t>(i),
                                   fmt::format("parameter {} {}", i, rank_.names.text(mark.shape)), mark.numel,
                                   mark.numel * mark.element_bytes});
    }
    facts_.parameters_known = true;
    facts_.parameter_bytes = bytes;
    facts_.parameter_count = numel;
    if (options_.parameter_bytes && *options_.parameter_bytes != bytes)
      note(Severity::warning, "param_bytes_unused", 1,
           fmt::format("--param-bytes {} is not used: the recorded shapes of the gradients are {} bytes",
                       *options_.parameter_bytes, bytes),
           "leave the option out");
    if (message_bytes == 0 && !view.buckets.empty())
      fill_by_launch(view);
    else
      fill_buckets(view, message_bytes > 0 && 2 * message_bytes == bytes ? 2 : 1);
    return true;
  }

  // Without message sizes: a bucket is launched when its last gradient is ready, so it has the gradients that became
  // ready since the launch of the bucket before.
  void fill_by_launch(const StepView& view) {
    std::vector<ingest::MemberFact> members;
    std::vector<std::int64_t> bytes(view.buckets.size(), 0);
    const auto count = static_cast<std::int64_t>(view.gradients.size());
    std::size_t bucket = 0;
    for (std::size_t i = 0; i < view.gradients.size(); ++i) {
      const GradientMark& mark = view.gradients[i];
      while (bucket + 1 < bytes.size() && view.buckets[bucket]->launch_ns < mark.ready_ns) ++bucket;
      bytes[bucket] = sum_of(bytes[bucket], mark.numel * mark.element_bytes);
      members.push_back({1, static_cast<std::int64_t>(bucket), count - 1 - static_cast<std::int64_t>(i), INT64_MIN});
    }
    if (std::ranges::find(bytes, 0) != bytes.end()) {
      note(Severity::warning, "sizes_unknown", static_cast<std::int64_t>(bytes.size()),
           "all-reduces without recorded message sizes, and some of them were launched without a new gradient: "
           "bandwidth cannot be separated from latency",
           "profile with torch 2.1 or newer, which records message sizes");
      return;
    }
    assumed_ = std::move(bytes);
    facts_.members = std::move(members);
    note(Severity::info, "sizes_by_gradients", static_cast<std::int64_t>(assumed_.size()),
         "message sizes were not recorded: a bucket has the gradients that became ready before its launch",
         "profile with torch 2.1 or newer, which records them");
  }

  // DDP fills one bucket after the other in ready order, so message sizes give the end of each bucket. `shrink` is how
  // many times smaller a gradient is in a message.
  void fill_buckets(const StepView& view, std::int64_t shrink) {
    std::vector<ingest::MemberFact> members;
    const auto count = static_cast<std::int64_t>(view.gradients.size());
    std::size_t next = 0;
    for (std::size_t b = 0; b < view.buckets.size(); ++b) {
      std::int64_t left = view.buckets[b]->bytes * shrink;
      while (left > 0 && next < view.gradients.size()) {
        left -= view.gradients[next].numel * view.gradients[next].element_bytes;
        members.push_back(
            {1, static_cast<std::int64_t>(b), count - 1 - static_cast<std::int64_t>(next), view.step->time.start_ns});
        ++next;
      }
      if (left != 0) {
        note(Severity::info, "buckets_unlike_gradients", 1,
             "the gradients, in the order in which they were ready, do not fill the buckets that were sent",
             "buckets for other caps are still computed from this order");
        return;
      }
    }
    if (next == view.gradients.size()) facts_.members = std::move(members);
    // The members are valid from the shard's first step on, on its own clock.
    for (ingest::MemberFact& member : facts_.members) member.time_ns = INT64_MIN;
  }

  // In each step, gradients of equal shape are distinguished by their order.
  void gradients_by_shape() {
    std::map<std::uint32_t, std::vector<std::int64_t>> by_shape;
    const StepView& first = *first_with_shapes();
    for (std::size_t i = 0; i < first.gradients.size(); ++i)
      by_shape[first.gradients[i].shape].push_back(static_cast<std::int64_t>(first.gradients.size() - 1 - i));
    for (const StepView& view : views_) {
      std::map<std::uint32_t, std::size_t> used;
      for (const GradientMark& mark : view.gradients) {
        const auto shape = by_shape.find(mark.shape);
        if (shape == by_shape.end()) continue;
        const std::size_t place = used[mark.shape]++;
        if (place >= shape->second.size()) continue;
        facts_.gradients.push_back({shape->second[place], at_.end(mark.ready_ns)});
      }
    }
    order_gradients();
  }

  void order_gradients() {
    std::stable_sort(facts_.gradients.begin(), facts_.gradients.end(),
                     [](const ingest::GradFact& a, const ingest::GradFact& b) { return a.time_ns < b.time_ns; });
  }

  // For a single process, which sends no message that would give sizes: divides --param-bytes into equal parts, one per
  // gradient.
  void gradients_by_size() {
    std::size_t most = 0;
    bool any_backward = false;
    for (const StepView& view : views_) {
      most = std::max(most, view.gradients.size());
      any_backward = any_backward || view.step->has_backward();
    }
    if (!any_backward) return;
    if (!options_.parameter_bytes) {
      note(Severity::warning, "gradients_unknown", 1,
           "the size of the gradients is not recorded, and no collective gives it: the message sizes of more ranks are "
           "unknown",
           "give --param-bytes (4 bytes times the number of parameters), or record shapes (record_shapes=True)");
      return;
    }
    const auto count = static_cast<std::int64_t>(std::max<std::size_t>(1, most));
    std::int64_t left = *options_.parameter_bytes;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t bytes = i + 1 == count ? left : *options_.parameter_bytes / count / 4 * 4;
      left -= bytes;
      facts_.parameters.push_back({i, fmt::format("gradient {}", count - 1 - i), bytes / 4, bytes});
    }
    facts_.parameter_bytes = *options_.parameter_bytes;
    facts_.parameter_count = facts_.parameter_bytes / 4;
    for (const StepView& view : views_) {
      for (std::size_t i = 0; i < view.gradients.size(); ++i)
        facts_.gradients.push_back({count - 1 - static_cast<std::int64_t>(i), at_.end(view.gradients[i].ready_ns)});
      if (most == 0 && view.step->has_backward())
        facts_.gradients.push_back({0, at_.end(view.step->passes.back().backward.end_ns)});
    }
    order_gradients();
    note(
        Severity::warning, "sizes_assumed", count,
        fmt::format(
            "shapes of gradients were not recorded: --param-bytes is divided evenly between the {} gradients of a step",
            count),
        "record shapes (record_shapes=True), which gives every gradient's size");
  }

  // Without shapes, each bucket stands for one parameter, whose gradient is ready when the bucket is launched.
  void buckets_as_parameters() {
    const StepView* most = nullptr;
    for (const StepView& view : views_)
      if (!view.buckets.empty() && (!most || view.buckets.size() > most->buckets.size())) most = &view;
    if (!most) return;
    const std::vector<std::int64_t> bytes = bucket_bytes(*most);
    const auto count = static_cast<std::int64_t>(bytes.size());
    for (std::int64_t i = 0; i < count; ++i) {
      // Registration order is the reverse of ready order, as for parameters.
      const auto bucket = static_cast<std::size_t>(count - 1 - i);
      const std::int64_t size = bytes[bucket], recorded = most->buckets[bucket]->element_bytes;
      const std::int64_t elements = size / (recorded > 0 ? recorded : 4);
      facts_.parameters.push_back({i, fmt::format("bucket {}", count - 1 - i), elements, size});
      facts_.parameter_bytes = sum_of(facts_.parameter_bytes, size);
      facts_.parameter_count = sum_of(facts_.parameter_count, elements);
      facts_.members.push_back({1, count - 1 - i, i, INT64_MIN});
    }
    std::stable_sort(facts_.members.begin(), facts_.members.end(),
                     [](const ingest::MemberFact& a, const ingest::MemberFact& b) { return a.bucket < b.bucket; });
    for (const StepView& view : views_)
      for (std::size_t b = 0; b < view.buckets.size() && b < bytes.size(); ++b)
        facts_.gradients.push_back({count - 1 - static_cast<std::int64_t>(b), at_.end(view.buckets[b]->launch_ns)});
    order_gradients();
    if (facts_.parameter_bytes > 0)
      note(Severity::info, "parameters_by_bucket", count,
           "shapes of parameters were not recorded: each bucket is used as one parameter",
           "other bucket caps can only join these buckets; record_shapes=True gives every parameter");
  }

  // Returns recorded sizes, or else parts of --param-bytes in proportion to each bucket's duration on this rank, which
  // mostly grows with its bytes.
  std::vector<std::int64_t> bucket_bytes(const StepView& view) {
    std::vector<std::int64_t> bytes;
    std::int64_t known = 0;
    for (const Collective* bucket : view.buckets) {
      bytes.push_back(bucket->bytes);
      known += bucket->bytes > 0 ? 1 : 0;
    }
    if (known == static_cast<std::int64_t>(bytes.size())) return bytes;
    if (!options_.parameter_bytes) {
      note(Severity::warning, "sizes_unknown", static_cast<std::int64_t>(bytes.size()) - known,
           "all-reduces without recorded message sizes: bandwidth cannot be separated from latency",
           "give --param-bytes (4 bytes times the number of parameters), or profile with torch 2.1 or newer");
      return bytes;
    }
    // The shortest duration is latency, up to the largest plausible latency, so it is not evidence of bytes.
    constexpr double slowest_latency_ns = 20e3;
    std::vector<double> durations_ns;
    for (const Collective* bucket : view.buckets)
      durations_ns.push_back(bucket->run ? static_cast<double>(bucket->run->end_ns - bucket->run->start_ns) : 0.0);
    const double latency_ns = std::min(slowest_latency_ns, *std::min_element(durations_ns.begin(), durations_ns.end()));
    double total_ns = 0.0;
    for (double& duration_ns : durations_ns) total_ns += duration_ns = std::max(1.0, duration_ns - latency_ns);
    std::int64_t left = *options_.parameter_bytes;
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      const double share = durations_ns[b] / total_ns;
      std::int64_t part = static_cast<std::int64_t>(share * static_cast<double>(*options_.parameter_bytes)) / 4 * 4;
      if (b + 1 == bytes.size()) part = left;
      bytes[b] = std::max<std::int64_t>(4, std::min(part, left));
      left -= std::min(left, bytes[b]);
    }
    assumed_ = bytes;
    note(Severity::warning, "sizes_assumed", static_cast<std::int64_t>(bytes.size()),
         "message sizes were not recorded: --param-bytes is divided in proportion to each all-reduce's time beyond the "
         "shortest",
         "profile with torch 2.1 or newer, which records them");
    return bytes;
  }

  void add_collectives() {
    for (const Collective& collective : collectives_) {
      ingest::CollectiveFact fact;
      fact.communicator = collective.communicator;
      fact.sequence = collective.sequence;
      fact.op = static_cast<std::int32_t>(op_of(collective.op));
      fact.bytes = collective.bytes;
      if (const auto bucket = bucket_of_.find(&collective); bucket != bucket_of_.end()) {
        fact.bucket = bucket->second;
        const auto place = static_cast<std::size_t>(bucket->second);
        if (fact.bytes == 0 && place < assumed_.size()) fact.bytes = assumed_[place];
      }
      fact.launch_ns = at_.end(collective.launch_ns);
      if (collective.run) {
        fact.start_ns = collective.run->start_ns;
        fact.end_ns = collective.run->end_ns;
        fact.launch_ns = std::min(*fact.launch_ns, *fact.start_ns);
      }
      fact.host_timed = collective.on_host;
      fact.choice = collective.choice;
      fact.details = collective.details;
      facts_.collectives.push_back(fact);
    }
    std::stable_sort(facts_.collectives.begin(), facts_.collectives.end(),
                     [](const ingest::CollectiveFact& a, const ingest::CollectiveFact& b) {
                       return std::pair(a.communicator, a.sequence) < std::pair(b.communicator, b.sequence);
                     });
  }

  static vocabulary::CollectiveOp op_of(CollectiveOp op) {
    switch (op) {
      case CollectiveOp::all_reduce:
        return vocabulary::CollectiveOp::all_reduce;
      case CollectiveOp::broadcast:
        return vocabulary::CollectiveOp::broadcast;
      case CollectiveOp::all_gather:
        return vocabulary::CollectiveOp::all_gather;
      case CollectiveOp::reduce_scatter:
        return vocabulary::CollectiveOp::reduce_scatter;
      case CollectiveOp::barrier:
        return vocabulary::CollectiveOp::barrier;
      case CollectiveOp::send:
        return vocabulary::CollectiveOp::send;
      case CollectiveOp::receive:
        return vocabulary::CollectiveOp::receive;
      case CollectiveOp::all_to_all:
        return vocabulary::CollectiveOp::all_to_all;
      case CollectiveOp::other:
        break;
    }
    return vocabulary::CollectiveOp::other;
  }

  const RankTrace& rank_;
  const std::vector<Collective>& collectives_;
  const TrainingOptions& options_;
  const Moments& at_;
  std::vector<StepView> views_;
  std::map<const Collective*, std::int32_t> bucket_of_;
  std::vector<std::int64_t> assumed_;
  struct Accumulated {
    std::int64_t bytes = 0, elements = 0;
  };
  Accumulated accumulated_;  // gradients of a step, if its messages have fewer bytes
  ModelFacts facts_;
};

}  // namespace

ModelFacts model_of(const RankTrace& rank, const std::vector<const HostStep*>& steps,
                    const std::vector<Collective>& collectives, const TrainingOptions& options, const Moments& at) {
  return Model(rank, steps, collectives, options, at).run();
}

}  // namespace ddpprof::import
