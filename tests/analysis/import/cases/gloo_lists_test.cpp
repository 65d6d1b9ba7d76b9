// Gloo's collectives with lists of tensors, as torch.profiler records them: a list of tensors has the type TensorList, and
// a list of lists (the parts of all ranks) has no shape. Sizes are elements times 4 bytes, times the ranks for a whole
// buffer.
#include <gmock/gmock.h>

#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using testing::ElementsAre;

struct ListedCollective {
  std::string call, dims, types;
  // Each with its own thread, from these times on, for 200 us.
  std::string run, run_dims;
  std::vector<int> runs_us;
};

// Two steps of 10 ms on each of two ranks, with a backward from 1 to 4 ms and the collective called at 5 ms.
std::string gloo_job(const ListedCollective& listed, const std::string& group = R"("ranks": [0, 1], "pg_size": 2)") {
  TraceText trace;
  trace.before = {R"("distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2, "pg_config": [{"pg_name": "0", )" +
                  group + "}]}"};
  int ids = 0;
  for (int step = 0; step < 2; ++step) {
    const auto event = [&](const char* category, const std::string& name, int us, int lasts_us, int tid,
                           const std::string& arguments = "") {
      trace.events.push_back(complete_event(
          category, name, std::to_string(1'000'000'000 + 10'000 * step + us), std::to_string(lasts_us), "100",
          std::to_string(tid), "\"External id\": " + std::to_string(++ids) + (arguments.empty() ? "" : ", " + arguments)));
    };
    event("user_annotation", "ProfilerStep#" + std::to_string(step), 0, 9990, 100);
    event("cpu_op", "aten::linear", 100, 800, 100);
    event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 1000, 3000, 200);
    event("cpu_op", listed.call, 5000, 50, 100,
          R"("Input Dims": )" + listed.dims + R"(, "Input type": )" + listed.types);
    for (std::size_t i = 0; i < listed.runs_us.size(); ++i)
      event("user_annotation", listed.run, listed.runs_us[i], 200, 300 + static_cast<int>(i),
            R"("Input Dims": )" + listed.run_dims + R"(, "Input type": ["float", "float"])");
    event("user_annotation", "Optimizer.step#SGD.step", 8500, 500, 100);
  }
  return trace.text();
}

// Returns operation, bytes, microseconds from the call to the start, and microseconds of the run.
std::vector<std::string> listed_collectives(const std::string& text) {
  const Folder folder;
  EXPECT_EQ(import_files(folder, {folder.write("rank0.json", text)}).error, "");
  store::Database database = store::Database::open_read(folder.path() / "imported.db");
  SQLite::Statement query(database.sql(),
                          "SELECT op || ' ' || bytes || ' ' || ((start_ns - launch_ns) / 1000) || ' ' || ((end_ns - start_ns) / 1000) "
                          "FROM collective ORDER BY start_ns");
  std::vector<std::string> found;
  while (query.executeStep()) found.push_back(query.getColumn(0).getString());
  return found;
}

TEST(GlooLists, AnAllGatherIntoAListHasTheSizeOfAllParts) {
  const ListedCollective gather{"c10d::allgather_", "[[], [[500]], [], []]", R"(["", "TensorList", "", ""])",
                                "gloo:all_gather",  "[[500]]",               {5100}};
  EXPECT_THAT(listed_collectives(gloo_job(gather)), ElementsAre("all_gather 4000 100 200", "all_gather 4000 100 200"));
}

// Gloo all-reduces the part of each rank, here at the same time on two threads.
TEST(GlooLists, AReduceScatterOfAListIsOneCollective) {
  const ListedCollective scatter{"c10d::reduce_scatter_", "[[[500]], [], [], []]", R"(["TensorList", "", "", ""])",
                                 "gloo:all_reduce",       "[[500]]",               {5100, 5150}};
  EXPECT_THAT(listed_collectives(gloo_job(scatter)),
              ElementsAre("reduce_scatter 4000 100 250", "reduce_scatter 4000 100 250"));
}

TEST(GlooLists, AReduceScatterOfATensorIsOneRun) {
  const ListedCollective scatter{"c10d::_reduce_scatter_base_", "[[500], [1000], [], []]", R"(["float", "float", "", ""])",
                                 "gloo:all_reduce",             "[[1000]]",                {5100}};
  EXPECT_THAT(listed_collectives(gloo_job(scatter)),
              ElementsAre("reduce_scatter 4000 100 200", "reduce_scatter 4000 100 200"));
}

TEST(GlooLists, AnAllReduceOfSeveralTensorsHasTheSizeOfAll) {
  const ListedCollective reduce{"c10d::allreduce_coalesced_", "[[[500], [20, 10]], [], [], []]",
                                R"(["TensorList", "", "", ""])", "gloo:all_reduce", "[[500], [20, 10]]", {5100}};
  EXPECT_THAT(listed_collectives(gloo_job(reduce)), ElementsAre("all_reduce 2800 100 200", "all_reduce 2800 100 200"));
}

// A scalar's element divides every size, but an element of 2000 bytes does not exist.
TEST(GlooLists, ACallOfAScalarIsNotThatOfALargeRun) {
  const ListedCollective scalar{"c10d::allreduce_", "[[[]], [], [], []]", R"(["TensorList", "", "", ""])",
                                "gloo:all_reduce",  "[[500]]",            {5100}};
  EXPECT_THAT(listed_collectives(gloo_job(scalar)), ElementsAre("all_reduce 2000 0 200", "all_reduce 2000 0 200"));
}

}  // namespace
}  // namespace ddpprof::import
