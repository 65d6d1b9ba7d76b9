#include "runner/worker/conditions.hpp"

#include <chrono>

namespace ddpprof::worker {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

template <class T>
void add_pair(nlohmann::json& target, const char* name, const std::optional<T>& begin, const std::optional<T>& end) {
  if (begin && end) target[name] = {*begin, *end};
}

}  // namespace

ConditionWatch::ConditionWatch(bool for_host)
    : for_host_(for_host),
      begin_(for_host ? host::take_snapshot(host::Host()) : host::Snapshot{}),
      usage_(host::own_usage()),
      begin_ns_(now_ns()) {}

nlohmann::json ConditionWatch::end() const {
  const std::int64_t window_ns = now_ns() - begin_ns_;
  const host::Usage used = host::own_usage() - usage_;
  nlohmann::json found{{"window_ns", window_ns},
                       {"cpu_ns", used.cpu_ns},
                       {"voluntary_switches", used.voluntary_switches},
                       {"involuntary_switches", used.involuntary_switches},
                       {"major_faults", used.major_faults}};
  if (!for_host_) return found;
  const host::Snapshot end = host::take_snapshot(host::Host());
  nlohmann::json machine = nlohmann::json::object();
  if (begin_.times && end.times) {
    const host::CpuTimes spent = *end.times - *begin_.times;
    machine["cpus"] = spent.cpus;
    machine["spent_ns"] = {{"user", spent.user_ns},
                           {"system", spent.system_ns},
                           {"interrupt", spent.interrupt_ns},
                           {"idle", spent.idle_ns},
                           {"steal", spent.steal_ns}};
  }
  add_pair(machine, "frequency_hz", begin_.frequency_hz, end.frequency_hz);
  add_pair(machine, "load", begin_.load, end.load);
  add_pair(machine, "thermal_throttles", begin_.thermal_throttles, end.thermal_throttles);
  add_pair(machine, "quota_throttled_ns", begin_.quota_throttled_ns, end.quota_throttled_ns);
  found["host"] = std::move(machine);
  return found;
}

}  // namespace ddpprof::worker
