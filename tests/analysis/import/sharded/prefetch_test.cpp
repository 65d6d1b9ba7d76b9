// A step of FSDP2 on a device, made by hand so that the compute which hides each collective is known: the all-gather of
// `b` runs beside the forward of `a`, the second one of `a` beside the backward of `b`, and the reduce-scatter of `b`
// beside the backward of `a`.
#include <gmock/gmock.h>

#include "analysis/fit/sharded/sharded_units.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

class MadeStep {
 public:
  std::string text() {
    trace_.before = {R"("schemaVersion": 1)", R"("deviceProperties": [{"id": 0, "name": "GPU"}])",
                     R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2})"};
    host("user_annotation", "ProfilerStep#3", 0, 1000, "1");
    host("user_annotation", "FSDP::root_pre_forward", 5, 3, "1");
    host("user_annotation", "FSDP::pre_forward (a)", 10, 10, "1");
    collective("FSDP::all_gather (a)", "_allgather_base", 11, "1", 100, 100, 500, 1000);
    compute("aten::linear", 25, "1", 200, 100);
    host("user_annotation", "FSDP::post_forward (a)", 46, 2, "1");
    host("user_annotation", "FSDP::pre_forward (b)", 50, 10, "1");
    collective("FSDP::all_gather (b)", "_allgather_base", 51, "1", 210, 110, 1000, 2000);
    compute("aten::linear", 65, "1", 320, 100);
    host("user_annotation", "FSDP::post_forward (b)", 86, 2, "1");
    host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 100, 200, "2");
    host("user_annotation", "FSDP::pre_backward (b)", 102, 10, "2");
    host("user_annotation", "FSDP::backward_prefetch for a", 103, 8, "2");
    collective("FSDP::all_gather (a)", "_allgather_base", 104, "2", 430, 50, 500, 1000);
    compute("AddmmBackward0", 115, "2", 420, 100);
    host("user_annotation", "FSDP::post_backward_accumulate (b)", 152, 2, "2");
    host("user_annotation", "FSDP::post_backward_reduce (b)", 155, 12, "2");
    compute("fsdp::chunk_cat", 156, "2", 520, 10,
            R"(, "Input Dims": [[[20, 99], [19]], [], [], [2, 1000]], )"
            R"("Input type": ["TensorList", "Scalar", "Scalar", "float"])");
    collective("", "_reduce_scatter_base", 160, "2", 530, 70, 2000, 1000);
    host("user_annotation", "FSDP::pre_backward (a)", 170, 2, "2");
    compute("AddmmBackward0", 175, "2", 530, 90);
    host("user_annotation", "FSDP::post_backward_accumulate (a)", 202, 2, "2");
    host("user_annotation", "FSDP::post_backward_reduce (a)", 205, 12, "2");
    collective("", "_reduce_scatter_base", 206, "2", 620, 80, 1000, 500);
    return trace_.text();
  }

 private:
  std::string at(int us) const { return std::to_string(1'000'000 + us); }

  void host(const char* category, const std::string& name, int start_us, int duration_us, const std::string& thread,
            const std::string& arguments = "") {
    trace_.events.push_back(complete_event(category, name, at(start_us), std::to_string(duration_us), "1", thread,
                                           "\"External id\": " + std::to_string(++id_) + arguments));
  }

  // The host's operation of 10 us launches a kernel after 2 us.
  void compute(const std::string& operation, int start_us, const std::string& thread, int kernel_us, int lasts_us,
               const std::string& arguments = "") {
    host("cpu_op", operation, start_us, operation.starts_with("fsdp") ? 3 : 10, thread, arguments);
    launch(start_us + 2, thread);
    kernel(operation + "_kernel", kernel_us, lasts_us, "7", "");
  }

  void collective(const std::string& annotation, const std::string& name, int start_us, const std::string& thread,
                  int kernel_us, int lasts_us, int in, int out) {
    if (!annotation.empty()) host("user_annotation", annotation, start_us, 6, thread);
    const std::string message = R"("Collective name": ")" + name + R"(", "dtype": "Float", "In msg nelems": )" +
                                std::to_string(in) + R"(, "Out msg nelems": )" + std::to_string(out) +
                                R"(, "Group size": 2, "Process Group Ranks": "[0, 1]", "Process Group Name": "0")";
    host("cpu_op", "c10d::" + name + "_", start_us + 1, 4, thread);
    host("cpu_op", "record_param_comms", start_us + 2, 2, thread, ", " + message);
    launch(start_us + 3, thread);
    kernel("ncclDevKernel_Any", kernel_us, lasts_us, "20", ", " + message);
  }

  void launch(int at_us, const std::string& thread) {
    trace_.events.push_back(complete_event(
        "cuda_runtime", "cudaLaunchKernel", at(at_us), "1", "1", thread,
        "\"cbid\": 211, \"correlation\": " + std::to_string(id_) + ", \"External id\": " + std::to_string(id_)));
  }

  void kernel(const std::string& name, int start_us, int lasts_us, const std::string& stream,
              const std::string& arguments) {
    trace_.events.push_back(complete_event("kernel", name, at(start_us), std::to_string(lasts_us), "0", stream,
                                           R"("device": 0, "stream": )" + stream + R"(, "correlation": )" +
                                               std::to_string(id_) + R"(, "External id": )" + std::to_string(id_) +
                                               arguments));
  }

  TraceText trace_;
  int id_ = 0;
};

TEST(Prefetch, ComputeOfOtherUnitsHidesCollectives) {
  const Folder folder;
  ASSERT_EQ(import_files(folder, {folder.write("rank0.json", MadeStep().text())}).error, "");
  store::Database database = store::Database::open_read(folder.path() / "imported.db");
  const std::vector<fit::UnitTimes> units = fit::sharded_units(database.sql(), std::vector<std::int64_t>{1});
  ASSERT_EQ(units.size(), 3U);
  const auto &root = units[0], &a = units[1], &b = units[2];
  ASSERT_EQ((std::vector{root.name, a.name, b.name}), (std::vector<std::string>{"", "a", "b"}));
  EXPECT_EQ(root.gathered_bytes, 0);

  EXPECT_EQ(a.gathered_bytes, 4000);
  EXPECT_EQ(a.gathers.calls, 2);
  EXPECT_EQ(a.gathers.bytes, 8000);
  EXPECT_EQ(a.gathers_again, true);
  EXPECT_EQ(a.prefetched, 1);
  EXPECT_DOUBLE_EQ(a.gathers.duration_s, 150e-6);
  EXPECT_DOUBLE_EQ(a.gathers.exposed_s, 100e-6) << "only the first one: the second one is beside the backward of b";
  EXPECT_EQ(a.gathers.hidden_by, b.unit);
  EXPECT_DOUBLE_EQ(a.scatters.duration_s, 80e-6);
  EXPECT_DOUBLE_EQ(a.scatters.exposed_s, 80e-6);
  EXPECT_EQ(a.scatters.hidden_by, std::nullopt);
  EXPECT_DOUBLE_EQ(a.forward_s, 100e-6);
  EXPECT_DOUBLE_EQ(a.backward_s, 90e-6);
  EXPECT_EQ(a.shard_bytes(), 2000);
  EXPECT_EQ(a.scatters_by_all_reduce, false);

  EXPECT_EQ(b.gathers.bytes, 8000);
  EXPECT_EQ(b.gathers_again, false);
  EXPECT_DOUBLE_EQ(b.gathers.duration_s, 110e-6);
  EXPECT_DOUBLE_EQ(b.gathers.exposed_s, 20e-6);
  EXPECT_EQ(b.gathers.hidden_by, a.unit);
  EXPECT_EQ(b.parameters, 1999);
  EXPECT_DOUBLE_EQ(b.scatters.exposed_s, 0);
  EXPECT_EQ(b.scatters.hidden_by, a.unit);
  EXPECT_EQ(b.scattered_bytes, 8000);
  EXPECT_DOUBLE_EQ(b.copy_s, 10e-6) << "fsdp::chunk_cat";
}

}  // namespace
}  // namespace ddpprof::import
