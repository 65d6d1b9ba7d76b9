// Traces of two ranks, one of which is late: the report skew of an import names it as for a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/report.hpp"
#include "tests/analysis/import/kineto/trace_text.hpp"
#include "tests/analysis/import/load/imported.hpp"

namespace ddpprof::import {
namespace {

using report::Cell;
using report::Row;
using report::Table;

// The sound trace, whose all-reduce lasts from 450 to 550 us in each step of 1000. Here it lasts to 640: from 450 on
// rank 0 and from 540 on rank 1, whose last kernel lasts 90 us longer. Rank 1's clock is `clock_us` ahead.
std::string trace_of(int rank, int steps, std::int64_t clock_us) {
  TraceText trace = sound_trace(rank, 2, steps);
  for (int step = 0; step < steps; ++step) {
    const auto at = [&](int us) { return "\"ts\": " + std::to_string(1'000'000 + 1000 * step + us) + ","; };
    std::string& reduce = trace.event_with("ncclDevKernel", at(450));
    reduce = replaced(reduce, at(450) + " \"dur\": 100",
                      at(rank == 0 ? 450 : 540) + " \"dur\": " + (rank == 0 ? "190" : "100"));
    if (rank == 0) continue;
    std::string& last = trace.event_with("\"kernel\", \"name\": \"gemm\"", at(400));
    last = replaced(last, "\"dur\": 100", "\"dur\": 190");
  }
  if (rank == 0 || clock_us == 0) return trace.text();
  for (std::string& event : trace.events) {
    const std::size_t from = event.find("\"ts\": ") + 6, to = event.find_first_of(",}", from);
    event.replace(from, to - from, std::to_string(std::stoll(event.substr(from, to - from)) + clock_us));
  }
  return trace.text();
}

struct Skew {
  Skew(int steps, std::int64_t clock_us) : database(store::Database::create(folder.path() / "i.db")) {
    ImportOptions options;
    options.files = {folder.write("rank0.json", trace_of(0, steps, 0)),
                     folder.write("rank1.json", trace_of(1, steps, clock_us))};
    imported = import_into(database, options);
    database.finish_load();
    report = report::build_report(database, "skew");
  }
  const Table& table(const std::string& name) const {
    for (const Table& one : report.tables)
      if (one.name == name) return one;
    throw std::out_of_range(name);
  }
  Cell cell(const std::string& name, std::size_t row, const std::string& column) const {
    const Table& of = table(name);
    for (std::size_t i = 0; i < of.columns.size(); ++i)
      if (of.columns[i].name == column) return of.rows.at(row)[i];
    throw std::out_of_range(column);
  }

  Folder folder;
  store::Database database;
  Imported imported;
  report::Report report;
};

TEST(ImportedStragglers, TheLateRankIsNamedThoughItsClockIsAnother) {
  for (const std::int64_t clock_us : {0, 7'000'000}) {
    const Skew skew(16, clock_us);
    ASSERT_EQ(skew.imported.error, "");
    ASSERT_EQ(skew.table("skew").rows.size(), 2U);
    EXPECT_EQ(skew.cell("skew", 1, "last_share"), Cell(1.0));
    EXPECT_NEAR(std::get<double>(skew.cell("skew", 1, "kept_waiting_s")), 90e-6, 1e-12);
    ASSERT_EQ(skew.table("stragglers").rows.size(), 1U) << skew.table("stragglers").empty;
    EXPECT_EQ(skew.cell("stragglers", 0, "rank"), Cell(std::int64_t{1}));
    EXPECT_EQ(skew.cell("last_starters", 0, "last_rank"), Cell("1"));
    EXPECT_EQ(skew.cell("last_starters", 0, "known"), skew.cell("last_starters", 0, "collectives"));
    EXPECT_NEAR(std::get<double>(skew.cell("last_starters", 0, "later_s")), 90e-6, 1e-9);
  }
}

// Two collectives in common are not enough to align clocks.
TEST(ImportedStragglers, WithoutAlignedClocksTheLastIsNotKnown) {
  const Skew skew(2, 7'000'000);
  ASSERT_EQ(skew.imported.error, "");
  EXPECT_EQ(skew.cell("last_starters", 0, "last_rank"), Cell("not known"));
  EXPECT_THAT(std::get<std::string>(skew.cell("last_starters", 0, "why")), testing::HasSubstr("for rank 1"));
  EXPECT_EQ(skew.cell("skew", 1, "last_share"), Cell(1.0)) << "it waited least";
}

}  // namespace
}  // namespace ddpprof::import
