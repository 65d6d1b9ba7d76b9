// Communication by process group of imported traces: exposed times held against a count of single microseconds.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

#include "analysis/report/report.hpp"
#include "tests/analysis/import/cases/made_trace.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using report::Cell;
using report::Table;

struct Report {
  explicit Report(const std::string& text) : database(store::Database::create(folder.path() / "i.db")) {
    ImportOptions options;
    options.files = {folder.write("rank0.json", text)};
    imported = import_into(database, options);
    database.finish_load();
    report = report::build_report(database, "collectives");
  }
  const Table& table(const std::string& name) const {
    for (const Table& one : report.tables)
      if (one.name == name) return one;
    throw std::out_of_range(name);
  }
  // Returns the cell of the row with this group and operation.
  Cell cell(const std::string& group, const std::string& op, const std::string& column) const {
    const Table& of = table("process_groups");
    const auto place = [&](const std::string& name) {
      for (std::size_t i = 0; i < of.columns.size(); ++i)
        if (of.columns[i].name == name) return i;
      throw std::out_of_range(name);
    };
    for (const report::Row& row : of.rows)
      if (row[place("group")] == (group.empty() ? Cell() : Cell(group)) && row[place("op")] == Cell(op))
        return row[place(column)];
    throw std::out_of_range(group + " " + op);
  }
  double seconds(const std::string& group, const std::string& op, const std::string& column) const {
    return std::get<double>(cell(group, op, column));
  }

  Folder folder;
  store::Database database;
  Imported imported;
  report::Report report;
};

struct MadeKernel {
  std::int64_t start_us = 0, end_us = 0;
  std::string group, op;  // no group: compute
};

std::string kernel_event(const MadeKernel& kernel, int stream) {
  const std::string arguments =
      kernel.op.empty() ? ""
                        : R"(, "Collective name": ")" + kernel.op + R"(", "dtype": "Float", "In msg nelems": 10, )" +
                              R"("Out msg nelems": 10, "Group size": 2, "Process Group Name": ")" + kernel.group +
                              R"(", "Process Group Description": "mesh_)" + kernel.group + "\"";
  return complete_event("kernel", kernel.op.empty() ? "sgemm" : "ncclDevKernel_" + kernel.op,
                        std::to_string(kernel.start_us), std::to_string(kernel.end_us - kernel.start_us), "0",
                        std::to_string(stream), "\"device\": 0, \"stream\": " + std::to_string(stream) + arguments);
}

TEST(ProcessGroupTimes, ExposedTimeIsThatOfSingleMicroseconds) {
  std::mt19937 random(7);
  for (int round = 0; round < 10; ++round) {
    MadeTrace made;
    made.kernels = false;
    made.calls = false;
    made.launches = false;
    TraceText trace = made.trace();
    std::vector<MadeKernel> kernels;
    const auto add = [&](int stream, const std::string& group, const std::vector<std::string>& ops) {
      std::int64_t at_us = made.at_us + 20 + static_cast<std::int64_t>(random() % 100);
      while (at_us < made.at_us + 4000 * made.steps - 500) {
        const auto lasts_us = 1 + static_cast<std::int64_t>(random() % 200);
        kernels.push_back({at_us, at_us + lasts_us, group, ops.empty() ? "" : ops[random() % ops.size()]});
        trace.events.push_back(kernel_event(kernels.back(), stream));
        at_us += lasts_us + static_cast<std::int64_t>(random() % 300);
      }
    };
    add(7, "", {});
    add(8, "", {});
    add(20, "tp", {"allreduce", "allgather"});
    add(21, "dp", {"allreduce"});
    add(22, "dp", {"reduce_scatter"});
    Report report(trace.text());
    ASSERT_EQ(report.imported.error, "");
    std::set<std::int64_t> in_steps, computing;  // microseconds
    std::int64_t steps = 0, step_exposed_ns = 0;
    SQLite::Statement query(report.database.sql(), "SELECT start_ns, duration_ns, exposed_ns FROM step");
    for (; query.executeStep(); ++steps) {
      ASSERT_EQ(query.getColumn(0).getInt64() % 1000, 0);
      for (std::int64_t i = 0; i < query.getColumn(1).getInt64() / 1000; ++i)
        in_steps.insert(query.getColumn(0).getInt64() / 1000 + i);
      step_exposed_ns += query.getColumn(2).getInt64();
    }
    ASSERT_GE(steps, 2);
    for (const MadeKernel& kernel : kernels)
      if (kernel.op.empty())
        for (std::int64_t us = kernel.start_us; us < kernel.end_us; ++us) computing.insert(us);
    const auto exposed_s = [&](const std::string& group, const std::string& op) {
      std::set<std::int64_t> exposed;
      for (const MadeKernel& kernel : kernels)
        if (!kernel.op.empty() && (group.empty() || kernel.group == group) && (op.empty() || kernel.op == op))
          for (std::int64_t us = kernel.start_us; us < kernel.end_us; ++us)
            if (in_steps.contains(us) && !computing.contains(us)) exposed.insert(us);
      return static_cast<double>(exposed.size()) * 1e-6 / static_cast<double>(steps);
    };
    for (const auto& [group, op, called] : {std::tuple{"tp", "all_reduce", "allreduce"},
                                            {"tp", "all_gather", "allgather"},
                                            {"tp", "all", ""},
                                            {"dp", "all_reduce", "allreduce"},
                                            {"dp", "reduce_scatter", "reduce_scatter"},
                                            {"dp", "all", ""}})
      EXPECT_NEAR(report.seconds(std::string("mesh_") + group, op, "exposed_s"), exposed_s(group, called), 1e-12)
          << round << " " << group << " " << op;
    EXPECT_NEAR(exposed_s("", ""), static_cast<double>(step_exposed_ns) * 1e-9 / static_cast<double>(steps), 1e-12);
  }
}

TEST(ProcessGroupTimes, CollectivesWithoutAGroupHaveARow) {
  MadeTrace made;
  made.group = R"("dtype": "Float")";
  const Report report(made.text());
  EXPECT_NEAR(report.seconds("", "all_reduce", "exposed_s"), 800e-6, 1e-12);
  EXPECT_NEAR(report.seconds("", "all_reduce", "time_s"), 1000e-6, 1e-12);
}

TEST(ProcessGroupTimes, TheHostWaitsFromTheLastOperationOn) {
  MadeGloo made;  // from 5700 to 7700 us; operations until 5500 and from 8510 us on
  const Report after(made.text());
  EXPECT_NEAR(after.seconds("", "all_reduce", "exposed_s"), 2000e-6, 1e-12);
  made.when = MadeGloo::When::beside_backward;  // from 2200 to 4200 us beside the backward, from 5600 to 5900 us
  const Report beside(made.text());
  EXPECT_NEAR(beside.seconds("", "all_reduce", "exposed_s"), 300e-6, 1e-12);
}

// The steps' own exposed communication, which all other reports have.
double exposed_of_steps_s(Report& report) {
  SQLite::Statement query(report.database.sql(), "SELECT AVG(exposed_ns) FROM step WHERE kind = 'measured'");
  query.executeStep();
  return 1e-9 * query.getColumn(0).getDouble();
}

TEST(ProcessGroupTimes, TheOnlyGroupOfAHostIsExposedAsLongAsItsSteps) {
  MadeGloo made;
  for (const auto when : {MadeGloo::When::after_backward, MadeGloo::When::beside_backward, MadeGloo::When::in_a_hook})
    for (const bool copies : {false, true}) {
      made.when = when;
      made.copies = copies;
      Report report(made.text());
      const double exposed_s = report.seconds("", "all_reduce", "exposed_s");
      EXPECT_NEAR(exposed_s, exposed_of_steps_s(report), 1e-12) << static_cast<int>(when) << copies;
      EXPECT_GT(exposed_s, 0.0);
    }
}

TEST(ProcessGroupTimes, StagesWaitForSendsAndReceives) {
  MadeTrace made;
  made.kernels = false;
  made.calls = false;
  made.launches = false;
  made.distributed = R"("distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 4})";
  TraceText trace = made.trace();
  for (int step = 0; step < made.steps; ++step) {
    const std::int64_t at_us = made.at_us + 4000 * step;
    const auto add = [&](std::int64_t start_us, std::int64_t end_us, const std::string& op, int stream) {
      std::string event = kernel_event({at_us + start_us, at_us + end_us, "pp", op}, stream);
      if (!op.empty())
        event = replaced(event, R"("Group size": 2)", R"("Group size": 2, "Process Group Ranks": "[2, 0]")");
      trace.events.push_back(event);
    };
    add(50, 1000, "", 7);
    add(900, 1500, "send", 20);        // exposed from 1000 us on
    add(1400, 2000, "recv", 21);       // beside the send until 1500 us
    add(1900, 2500, "", 7);            // computes
    add(2600, 2700, "allreduce", 22);  // of no stage
    add(2800, 3900, "", 7);
  }
  const Report report(trace.text());
  ASSERT_EQ(report.imported.error, "");
  const Table& stages = report.table("pipeline_stages");
  ASSERT_EQ(stages.rows.size(), 1U) << stages.empty;
  const auto cell = [&](const std::string& name) {
    for (std::size_t i = 0; i < stages.columns.size(); ++i)
      if (stages.columns[i].name == name) return stages.rows[0][i];
    throw std::out_of_range(name);
  };
  EXPECT_EQ(cell("stage"), Cell(std::int64_t{1})) << "rank 0 is the second of its group";
  EXPECT_NEAR(std::get<double>(cell("bubble_s")), 900e-6, 1e-12);
  EXPECT_EQ(cell("sends_per_step"), Cell(1.0));
  EXPECT_EQ(cell("sent_bytes_per_step"), Cell(40.0));
}

}  // namespace
}  // namespace ddpprof::import
