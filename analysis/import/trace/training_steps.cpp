#include "analysis/import/trace/training_steps.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "analysis/import/trace/backwards.hpp"
#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {
namespace {

void sort(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
}

// Returns the spans that are not inside another one. Optimizers and wrapped modules nest.
std::vector<Span> outermost(std::vector<Span> spans) {
  sort(spans);
  std::vector<Span> result;
  for (const Span& span : spans)
    if (result.empty() || span.start_ns >= result.back().end_ns) result.push_back(span);
  return result;
}

HostStep step_of(std::int64_t number, std::string name, Span time) {
  HostStep step;
  step.number = number;
  step.name = std::move(name);
  step.time = time;
  return step;
}

// If steps are not annotated, they are bounded by the ends of optimizer steps or the starts of forwards.
void from_bounds(const std::vector<std::int64_t>& bounds, HostSteps& found) {
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i) - 1;
    found.steps.push_back(step_of(number, "step " + std::to_string(number), {bounds[i - 1], bounds[i]}));
  }
}

using Gradients = std::pair<std::int64_t, std::int64_t>;  // how many, and their elements

// The gradients between each two optimizer steps.
std::vector<Gradients> gradients_between(const std::vector<std::int64_t>& bounds_ns,
                                         const std::vector<GradientMark>& gradients) {
  std::vector<Gradients> between;
  auto next = gradients.begin();
  const auto before = [](const GradientMark& mark, std::int64_t time_ns) { return mark.ready_ns < time_ns; };
  for (std::size_t i = 0; i < bounds_ns.size(); ++i) {
    const auto end = std::lower_bound(next, gradients.end(), bounds_ns[i], before);
    if (i > 0) {
      Gradients& sum = between.emplace_back();
      for (; next != end; ++next) {
        ++sum.first;
        sum.second = sum_of(sum.second, next->numel);
      }
    }
    next = end;
  }
  return between;
}

// Optimizers that step in turn (a GAN, an actor and a critic, one optimizer for the embeddings) reduce other gradients
// between each two of their steps. Returns the number of optimizer steps of one step: the shortest period of the
// gradients between the bounds that is repeated at least once; 0 if there is none.
std::size_t period_of(const std::vector<Gradients>& between) {
  constexpr std::size_t most = 8;
  for (std::size_t period = 1; period <= most && 2 * period <= between.size(); ++period) {
    bool repeats = true;
    for (std::size_t i = period; i < between.size(); ++i) repeats = repeats && between[i] == between[i - period];
    if (repeats) return period;
  }
  return 0;
}

// Returns true if several of these sets of gradients are at least twice as large as several others: those of two models.
bool of_two_sizes(std::vector<Gradients> between) {
  std::erase(between, Gradients{0, 0});
  if (between.size() < 4) return false;
  const bool sized = std::ranges::all_of(between, [](const Gradients& one) { return one.second > 0; });
  std::vector<std::int64_t> sizes;
  for (const Gradients& one : between) sizes.push_back(sized ? one.second : one.first);
  std::ranges::sort(sizes);
  return sizes[sizes.size() - 2] / 2 >= sizes[1];
}

HostSteps bounds_of(RankTrace& rank, const std::vector<Span>& optimizers, const std::vector<Span>& forwards) {
  HostSteps found;
  if (!rank.steps.empty()) {
    found.source = StepSource::annotations;
    std::stable_sort(rank.steps.begin(), rank.steps.end(),
                     [](const StepMark& a, const StepMark& b) { return a.time.start_ns < b.time.start_ns; });
    // Rounded times of neighbours may overlap by a microsecond.
    const auto overlap_by_rounding = [](const Span& step, const Span& next) {
      constexpr std::int64_t most_ns = 1000, least_part = 100;
      const std::int64_t overlap_ns = step.end_ns - next.start_ns;
      const std::int64_t shorter_ns = std::min(step.end_ns - step.start_ns, next.end_ns - next.start_ns);
      return overlap_ns > 0 && overlap_ns <= std::min(most_ns, shorter_ns / least_part);
    };
    for (const StepMark& mark : rank.steps) {
      if (!found.steps.empty() && overlap_by_rounding(found.steps.back().time, mark.time))
        found.steps.back().time.end_ns = mark.time.start_ns;
      if (!found.steps.empty() && mark.time.start_ns < found.steps.back().time.end_ns)
        ++found.left_out;
      else
        found.steps.push_back(step_of(mark.number, mark.name, mark.time));
    }
    return found;
  }
  std::vector<std::int64_t> bounds;
  if (optimizers.size() >= 2) {
    found.source = StepSource::optimizers;
    for (const Span& span : optimizers) bounds.push_back(span.end_ns);
    const std::vector<Gradients> between = gradients_between(bounds, rank.gradients);
    const std::size_t period = period_of(between), in_turn = std::max<std::size_t>(1, period);
    found.optimizers_in_turn = static_cast<std::int64_t>(in_turn);
    found.optimizers_mixed = period == 0 && of_two_sizes(between);
    std::vector<std::int64_t> whole;  // iterations of all optimizers
    for (std::size_t i = 0; i < bounds.size(); i += in_turn) whole.push_back(bounds[i]);
    bounds = std::move(whole);
  } else if (forwards.size() >= 2) {
    found.source = StepSource::forwards;
    for (const Span& span : forwards) bounds.push_back(span.start_ns);
  }
  from_bounds(bounds, found);
  return found;
}

// If prof.step() was called once per micro-batch, only every k-th annotated step has an optimizer's step. Joins k
// annotated steps to one step. Leaves the steps as they are if k is not the same throughout.
void join_micro_batches(const std::vector<Span>& optimizers, HostSteps& found) {
  if (found.source != StepSource::annotations) return;
  std::vector<std::size_t> updates;  // annotated steps in which an optimizer's step begins
  std::size_t next = 0;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    const Span& time = found.steps[i].time;
    while (next < optimizers.size() && optimizers[next].start_ns < time.start_ns) ++next;
    if (next < optimizers.size() && optimizers[next].start_ns < time.end_ns) updates.push_back(i);
  }
  if (updates.size() < 2) return;
  const std::size_t count = updates[1] - updates[0];
  for (std::size_t i = 1; i < updates.size(); ++i)
    if (updates[i] - updates[i - 1] != count) return;
  if (count < 2) return;
  std::vector<HostStep> joined;
  for (const std::size_t last : updates) {
    if (last + 1 < count) continue;
    const HostStep &from = found.steps[last + 1 - count], &to = found.steps[last];
    joined.push_back(step_of(to.number, from.name + " to " + to.name, {from.time.start_ns, to.time.end_ns}));
  }
  found.cut += static_cast<std::int64_t>(found.steps.size() - joined.size() * count);
  found.micro_batches = static_cast<std::int64_t>(count);
  found.steps = std::move(joined);
}

// Annotated steps of several models: an actor's and a critic's, with prof.step() after each of them.
void find_mixed_annotations(const std::vector<GradientMark>& gradients, HostSteps& found) {
  if (found.source != StepSource::annotations) return;
  std::vector<Gradients> of_steps;
  for (const HostStep& step : found.steps)
    of_steps.push_back(gradients_between({step.time.start_ns, step.time.end_ns}, gradients).front());
  found.optimizers_mixed = period_of(of_steps) > 1 || of_two_sizes(std::move(of_steps));
}

// Steps are kept only if recorded completely: half a step is too short, and a step over a pause too long.
void leave_out_cut(const std::vector<Span>& kept, HostSteps& found) {
  if (kept.empty()) return;
  found.cut += static_cast<std::int64_t>(std::erase_if(found.steps, [&](const HostStep& step) {
    return std::none_of(kept.begin(), kept.end(), [&](const Span& window) {
      return step.time.start_ns >= window.start_ns && step.time.end_ns <= window.end_ns;
    });
  }));
}

// After a complete cycle of its schedule, torch.profiler annotates no further step. If training ends inside a cycle,
// the last annotation has no work. It is left out.
void leave_out_empty_end(HostSteps& found) {
  if (found.source != StepSource::annotations || found.steps.size() < 2) return;
  const HostStep &last = found.steps.back(), &before = found.steps[found.steps.size() - 2];
  found.cycle_unfinished =
      last.passes.empty() && last.optimizers.empty() && !before.passes.empty() && !before.optimizers.empty();
  if (found.cycle_unfinished) found.steps.pop_back();
}

HostStep* step_at(std::vector<HostStep>& steps, std::int64_t time_ns) {
  const auto after = std::upper_bound(steps.begin(), steps.end(), time_ns,
                                      [](std::int64_t t, const HostStep& step) { return t < step.time.start_ns; });
  if (after == steps.begin()) return nullptr;
  HostStep& step = *std::prev(after);
  return time_ns < step.time.end_ns ? &step : nullptr;
}

}  // namespace

std::int64_t HostStep::collectives_until_ns() const {
  if (passes.empty()) return time.start_ns;
  const Span& backward = passes.back().backward;
  for (const Span& optimizer : optimizers) {
    if (optimizer.start_ns >= backward.end_ns) return optimizer.start_ns;
    if (runs_inside(optimizer, backward)) return backward_is_whole ? backward.end_ns : optimizer.end_ns;
  }
  return time.end_ns;
}

bool runs_inside(const Span& optimizer, const Span& backward) {
  return optimizer.start_ns <= backward.start_ns && backward.end_ns <= optimizer.end_ns;
}

std::int64_t updates_of(const HostStep& step) {
  std::int64_t updates = 1;
  for (std::size_t k = 1; k < step.passes.size(); ++k)
    updates += std::ranges::any_of(step.optimizers, [&](const Span& optimizer) {
      // Its end decides: a step with a closure begins before the backward that it runs.
      return optimizer.end_ns >= step.passes[k - 1].backward.end_ns &&
             optimizer.end_ns <= step.passes[k].backward.start_ns;
    });
  return updates;
}

std::int64_t evaluations_again(const HostStep& step) {
  std::int64_t again = 0;
  for (const Span& optimizer : step.optimizers) {
    const std::int64_t inside =
        std::ranges::count_if(step.passes, [&](const Pass& pass) { return runs_inside(optimizer, pass.backward); });
    again += std::max<std::int64_t>(0, inside - 1);
  }
  return again;
}

UsualPasses usual_passes(const std::vector<const HostStep*>& steps) {
  std::map<std::int64_t, std::int64_t> counts;
  std::int64_t with_any = 0;
  for (const HostStep* step : steps)
    if (step->has_backward()) {
      ++counts[static_cast<std::int64_t>(step->passes.size())];
      ++with_any;
    }
  std::pair<std::int64_t, std::int64_t> usual{1, 0};
  for (const auto& [passes, count] : counts)
    if (count >= usual.second) usual = {passes, count};
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> kinds;  // of updates and evaluations again
  for (const HostStep* step : steps)
    if (static_cast<std::int64_t>(step->passes.size()) == usual.first)
      ++kinds[{updates_of(*step), evaluations_again(*step)}];
  std::pair<std::int64_t, std::int64_t> kind{1, 0};
  std::int64_t most = 0;
  for (const auto& [one, count] : kinds)
    if (count > most) {
      kind = one;
      most = count;
    }
  return {usual.first, with_any - usual.second, kind.first, kind.second};
}

HostSteps find_steps(RankTrace& rank) {
  const std::vector<Span> forwards = outermost(std::move(rank.forwards));
  const std::vector<Span> optimizers = outermost(std::move(rank.optimizers));
  const std::vector<Span> waits = outermost(std::move(rank.data_waits));
  HostSteps found = bounds_of(rank, optimizers, forwards);
  join_micro_batches(optimizers, found);
  leave_out_cut(rank.kept, found);
  find_mixed_annotations(rank.gradients, found);
  const std::vector<Span> backwards =
      rank.backwards.empty() ? find_backwards(rank, forwards, found.steps) : outermost(std::move(rank.backwards));
  for (const Span& wait : waits)
    if (HostStep* step = step_at(found.steps, wait.start_ns)) step->data_waits.push_back(wait);
  for (const Span& optimizer : optimizers)
    if (HostStep* step = step_at(found.steps, optimizer.start_ns)) step->optimizers.push_back(optimizer);
  std::size_t next_forward = 0;
  for (const Span& backward : backwards) {
    HostStep* step = step_at(found.steps, backward.start_ns);
    if (!step) continue;
    // The forward begins at its annotation, otherwise after the work before it in the step.
    std::int64_t begin_ns = step->time.start_ns;
    if (!step->passes.empty()) begin_ns = step->passes.back().backward.end_ns;
    for (const Span& wait : step->data_waits)
      if (wait.end_ns <= backward.start_ns) begin_ns = std::max(begin_ns, wait.end_ns);
    while (next_forward < forwards.size() && forwards[next_forward].start_ns < begin_ns) ++next_forward;
    if (next_forward < forwards.size() && forwards[next_forward].start_ns < backward.start_ns)
      begin_ns = forwards[next_forward].start_ns;
    step->passes.push_back({{begin_ns, backward.start_ns}, backward});
    step->backward_is_whole = rank.gradient_copies;
  }
  leave_out_empty_end(found);
  return found;
}

}  // namespace ddpprof::import
