#include "analysis/import/recorded/launch_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "analysis/import/nsight/nccl_calls.hpp"
#include "analysis/import/trace/collectives/kernel_families.hpp"
#include "analysis/ingest/definitions.hpp"

namespace ddpprof::import {
namespace {

constexpr std::uint32_t host_to_device = 1;  // CUpti_ActivityMemcpyKind
constexpr std::size_t most_launches = std::size_t{1} << 20;

}  // namespace

std::vector<Launch> launches_in(const store::ShardReader& reader) {
  struct Works final : store::ShardVisitor {
    void on_kernel(const trace::KernelRecord& record) override {
      if (by_correlation.size() >= most_launches) return;
      const auto [known, fresh] = by_name.try_emplace(record.header.name_id, Launch::Work::compute);
      if (fresh) {
        const std::string name(definitions.text(record.header.name_id));
        if (is_collective_kernel(name)) known->second = Launch::Work::collective;
        if (is_optimizer_kernel(name)) known->second = Launch::Work::optimizer;
      }
      by_correlation.emplace(record.correlation_id, known->second);
    }
    void on_copy(const trace::CopyRecord& record) override {
      if (record.kind == host_to_device && by_correlation.size() < most_launches)
        by_correlation.emplace(record.correlation_id, Launch::Work::upload);
    }
    ingest::Definitions definitions;
    std::unordered_map<std::uint32_t, Launch::Work> by_name;
    std::unordered_map<std::uint32_t, Launch::Work> by_correlation;
  } work_by_call;
  reader.visit(work_by_call.definitions);
  work_by_call.definitions.finish();
  reader.visit(work_by_call);

  struct Calls final : store::ShardVisitor {
    explicit Calls(const Works& what) : works(what) {}
    void on_api(const trace::ApiRecord& record) override {
      const auto work = works.by_correlation.find(record.correlation_id);
      if (work == works.by_correlation.end() || launches.size() >= most_launches) return;
      launches.push_back({{record.header.time_ns, record.end_ns}, record.thread, work->second});
    }
    const Works& works;
    std::vector<Launch> launches;
  } calls(work_by_call);
  reader.visit(calls);
  return std::move(calls.launches);
}

}  // namespace ddpprof::import
