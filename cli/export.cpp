// ddpprof export: writes a trace database for other tools.
#include "analysis/export/export.hpp"

#include <SQLiteCpp/Exception.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <filesystem>
#include <ostream>
#include <vector>

#include "cli/files/database_file.hpp"
#include "cli/files/output_path.hpp"
#include "cli/jobs/anonymous_scenarios.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::cli {
namespace {

const std::vector<std::string> export_formats = {"chrome", "csv", "nsys", "anonymous"};

class ExportSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "export"; }
  std::string_view summary() const override {
    return "Write a trace database as Chrome/Perfetto JSON, CSV, Nsight Systems exports, or without your names";
  }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof export job.db --format chrome --out job.json", "ddpprof export job.db --format csv --out tables/"};
  }

  void declare(CLI::App& app) override {
    app.add_option("FILE.db", file_, "Trace database, as written by ddpprof run")->required();
    with_words(
        app.add_option("--format", format_,
                       "chrome: one JSON file for Perfetto and chrome://tracing\n"
                       "csv: a folder with one file per table\n"
                       "nsys: an SQLite file in Nsight Systems' format; for several measurements a folder with "
                       "one file each\n"
                       "anonymous: a database with other names of hosts, paths, models and parameters, to share"),
        export_formats)
        ->type_name("FORMAT")
        ->required();
    app.add_option("--out", out_,
                   "What to write: a file for chrome and anonymous, a folder for csv, a file for nsys, or a folder if "
                   "FILE.db has several measurements")
        ->type_name("PATH")
        ->required();
  }

  ExitCode run(Context& context) override {
    check_word("--format", format_, export_formats);
    if (format_ == "nsys") return run_nsys(context);
    check_output_path("--out", out_, format_ == "csv" ? OutputKind::folder : OutputKind::file, file_);
    store::Database database = open_database(file_, "export", context);
    if (format_ == "anonymous") {
      const std::int64_t rows = export_::export_anonymous(database, anonymous_scenarios(database), out_);
      if (!context.quiet)
        context.messages << "ddpprof export: " << rows << " rows in " << out_
                         << "; names are replaced, numbers and versions are not: read it before you share it\n";
      return ExitCode::done;
    }
    if (format_ == "csv") {
      const std::int64_t rows = export_::export_csv(database, out_);
      if (!context.quiet) context.messages << "ddpprof export: " << rows << " rows in " << out_ << '\n';
      return ExitCode::done;
    }
    const export_::ChromeSummary summary = export_::export_chrome(database, out_);
    if (!context.quiet) {
      context.messages << "ddpprof export: " << summary.events << " events in " << out_;
      if (summary.unfinished > 0) context.messages << ", of which " << summary.unfinished << " never ended";
      context.messages << '\n';
    }
    return ExitCode::done;
  }

 private:
  ExitCode run_nsys(Context& context) {
    store::Database database = open_database(file_, "export", context);
    try {
      const std::vector<export_::NsysPart> parts = export_::nsys_parts(database);
      check_output_path("--out", out_, parts.size() > 1 ? OutputKind::folder : OutputKind::nsys, file_);
      if (parts.size() > 1 && std::filesystem::is_directory(out_))
        for (const export_::NsysPart& part : parts)
          check_output_path("--out", std::filesystem::path(out_) / part.file, OutputKind::nsys, file_);
      const export_::NsysSummary summary = export_::export_nsys(database, out_);
      if (!context.quiet) {
        context.messages << "ddpprof export: " << summary.events << " events in " << out_;
        if (summary.files > 1) context.messages << ", one file for each of " << summary.files << " measurements";
        if (summary.kernels == 0) context.messages << "; kernels were not recorded, so the file has ranges only";
        context.messages << '\n';
      }
    } catch (const SQLite::Exception& error) {
      throw store::translate(error, file_);
    }
    return ExitCode::done;
  }

  std::string file_, format_, out_;
};

}  // namespace

std::unique_ptr<Subcommand> make_export() { return std::make_unique<ExportSubcommand>(); }

}  // namespace ddpprof::cli
