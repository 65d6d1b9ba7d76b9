// ddpprof lr: learning rate, warm-up and training time for each worker count.
#include <SQLiteCpp/Exception.h>
#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "analysis/metrics/gradient_noise.hpp"
#include "analysis/report/tables/learning_rate/gradient_noise_table.hpp"
#include "analysis/report/tables/learning_rate/learning_rate_tables.hpp"
#include "cli/files/database_file.hpp"
#include "cli/option_values.hpp"
#include "cli/subcommand.hpp"
#include "runner/scenario_queries/rates.hpp"
#include "runner/scenario_queries/stored_scenario.hpp"
#include "tracer/store/database.hpp"
#include "tracer/store/files/error.hpp"

namespace ddpprof::cli {
namespace {

const std::vector<std::string> optimizers = {"sgd", "adaptive"};

constexpr std::array decay_kinds = {learning_rate::DecayKind::constant, learning_rate::DecayKind::step,
                                    learning_rate::DecayKind::cosine, learning_rate::DecayKind::polynomial};

// The words of --decay.
std::vector<std::string> known_decays() {
  std::vector<std::string> known;
  for (const learning_rate::DecayKind kind : decay_kinds) known.emplace_back(learning_rate::to_string(kind));
  return known;
}

// The words of --rule.
std::vector<std::string> known_rules() {
  std::vector<std::string> known;
  for (const learning_rate::Rule rule : learning_rate::every_rule) known.emplace_back(word(rule));
  known.emplace_back("all");
  return known;
}

class LearningRateSubcommand final : public Subcommand {
 public:
  std::string_view name() const override { return "lr"; }
  std::string_view summary() const override { return "Learning rate and warm-up for each worker count"; }
  std::vector<std::string_view> examples() const override {
    return {"ddpprof lr mnist.db --workers 8,64", "ddpprof lr job.db --workers 64 --base 0.001"};
  }

  void declare(CLI::App& app) override {
    app.add_option("FILE.db", file_, "Trace database, as written by ddpprof run, record or import")->required();
    app.add_option("--workers", workers_, "Worker counts, e.g. 8,64")->type_name("N,…")->check(not_empty)->required();
    app.add_option(
           "--base", base_,
           "Learning rate tuned at the base workers (default: the scenario's, or the recorded one of the smallest N)")
        ->type_name("LR");
    app.add_option("--base-workers", base_workers_, "Workers at which that rate was tuned (default: the scenario's)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, most));
    app.add_option("--base-batch", base_batch_,
                   "Global batch at which that rate was tuned, in samples (default: the scenario's)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, most))
        ->excludes("--base-workers");
    app.add_option("--batch-per-worker", batch_, "Samples of a micro-batch of one worker (default: the scenario's)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, most));
    app.add_option("--accumulation", accumulation_, "Micro-batches of one optimizer step (default: the scenario's)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}));
    app.add_option("--samples", samples_,
                   "Samples of an epoch; for a recording or an import, steps and times need it and --epochs (default: "
                   "the scenario's)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
    app.add_option("--epochs", epochs_, "Epochs of the training (default: the scenario's)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, most));
    app.add_option("--warmup-epochs", warmup_epochs_, "Epochs of the rate's warm-up (default: the scenario's)")
        ->type_name("X");
    with_words(app.add_option("--optimizer", optimizer_, "sgd, or adaptive such as Adam (default: the scenario's)"),
               optimizers)
        ->type_name("KIND");
    app.add_option(
           "--target-loss", target_loss_,
           "Loss that the training must reach (default: the lowest loss that every measured configuration reached)")
        ->type_name("LOSS");
    with_words(app.add_option("--rule", rules_,
                              "Show the schedules of these rules: none, linear, sqrt, lars, lamb, adascale or all"),
               known_rules())
        ->type_name("RULE,…")
        ->delimiter(',')
        ->allow_extra_args(false);
    with_words(app.add_option("--decay", decay_,
                              "Decay of the rate after the warm-up: constant, step, cosine or polynomial (default: "
                              "the scenario's)"),
               known_decays())
        ->type_name("KIND");
    app.add_option("--decay-epochs", decay_epochs_,
                   "With --decay step: epochs at which the rate falls, ascending (default: 30,60,80)")
        ->type_name("X,…")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--decay-factor", decay_factor_,
                   "With --decay step: factor of the rate at each of them (default: 0.1)")
        ->type_name("X");
    app.add_option("--decay-power", decay_power_, "With --decay polynomial: power in (1 - p)^power (default: 1)")
        ->type_name("X");
    app.add_option("--noise-scale", noise_scale_,
                   "Gradient noise scale in samples, or its low, middle and high estimate (default: measured)")
        ->type_name("SAMPLES[,…]")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option("--target-steps", target_steps_,
                   "Steps to the target at the base batch (default: the steps of the training's epochs)")
        ->type_name("N")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000'000}));
    app.add_option("--samples-to-target", samples_to_target_,
                   "Measured trainings: samples to the target at a global batch, for example 256=1.1e8,1024=1.2e8")
        ->type_name("BATCH=SAMPLES,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes("--target-steps");
    app.add_option("--epochs-to-target", epochs_to_target_, "The same in epochs, for example 256=90,1024=96")
        ->type_name("BATCH=EPOCHS,…")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->excludes("--target-steps")
        ->excludes("--samples-to-target");
    app.add_option("--price", price_, "Price of a GPU-hour, in any currency")->type_name("X");
    with_words(app.add_option("--format", format_, format_help), formats)->type_name("FORMAT")->capture_default_str();
  }

  ExitCode run(Context& context) override {
    const report::Format format = checked_format(format_);
    const std::vector<long long> workers = parse_worker_list(workers_, "--workers");
    if (base_ && !(*base_ > 0.0)) {
      throw Failure(ExitCode::usage, "--base: the learning rate is not above 0", "e.g. 0.1");
    }
    const auto check_0_or_more = [](const std::string& option, double value, const char* example) {
      if (!std::isfinite(value)) throw Failure(ExitCode::usage, option + ": the value is not finite", example);
      if (value < 0.0) throw Failure(ExitCode::usage, option + ": the value is below 0", example);
    };
    if (warmup_epochs_) check_0_or_more("--warmup-epochs", *warmup_epochs_, "e.g. 5");
    check_0_or_more("--price", price_, "e.g. 2.5");
    if (target_loss_ && !std::isfinite(*target_loss_))
      throw Failure(ExitCode::usage, "--target-loss: the value is not finite", "e.g. 0.5");
    if (!optimizer_.empty()) check_word("--optimizer", optimizer_, optimizers);
    const std::optional<stats::Interval> noise_scale = asked_noise_scale();
    // Errors of the options are reported before the file is read.
    const std::vector<learning_rate::Rule> rules = asked_rules();
    const std::optional<learning_rate::Decay> own_decay = asked_decay();
    const std::vector<learning_rate::BatchSamples> samples = batches_of(samples_to_target_, "--samples-to-target");
    const std::vector<learning_rate::BatchSamples> epochs = batches_of(epochs_to_target_, "--epochs-to-target");
    store::Database database = open_database(file_, "lr", context);
    try {
      const auto scenario = scenario_queries::stored_scenario(database);
      const std::vector<metrics::MeasuredNoise> measured = metrics::measured_noise(database);
      scenario_queries::RateQuestion question = scenario
                                                    ? scenario_queries::stored_question(*scenario, database, measured)
                                                    : scenario_queries::recorded_question(database);
      std::optional<scenario_queries::KeptBatch> kept;
      if (!scenario && !batch_ && !accumulation_) kept = scenario_queries::kept_batch(database);
      if (kept && !base_batch_) {
        report::Table same;
        same.name = "rate_choice";
        same.title = "Learning rate for this optimizer";
        same.empty = scenario_queries::kept_rate(*kept) +
                     " If the rate was tuned at another global batch, give --base-batch. For a global batch that grows "
                     "with N, give --batch-per-worker.";
        render({"lr", "Learning rate", {same}}, format, context.out, style_of(context));
        return ExitCode::done;
      }
      fit::LearningRateOptions& options = question.options;
      if (!question.no_rate.empty())
        throw Failure(ExitCode::data, file_ + ": " + question.no_rate, "",
                      "give a trace of a training in which every rank processes its own samples");
      options.workers.assign(workers.begin(), workers.end());
      const std::string kept_note = kept ? scenario_queries::answer_for_kept_batch(question, *kept) : "";
      question.apply(stated());
      if (question.batch < 1)
        throw Failure(ExitCode::usage, "the batch is not recorded in " + file_, "--batch-per-worker");
      if (base_) question.base_from = "--base";
      if (question.recorded) question.batch_from += "; --base-batch or --base-workers sets another";
      if (base_workers_) question.batch_from = "--base-workers";
      if (base_batch_) question.batch_from = "--base-batch";
      const std::int64_t base_batch = options.base_batch();  // throws if it is too large
      if (question.base_known && !context.quiet)
        context.messages << fmt::format("ddpprof lr: base rate {:.6g} ({}) at a global batch of {} samples ({})\n",
                                        options.base_lr, question.base_from, base_batch, question.batch_from);
      question.target_loss = target_loss_;
      question.target_steps = target_steps_;
      question.samples_to_target = samples;
      for (const learning_rate::BatchSamples& one : epochs)
        question.samples_to_target.push_back({one.batch, one.samples * static_cast<double>(options.samples)});
      question.price_per_gpu_hour = price_;
      if (!scenario) {
        check_recorded(question);
        if (!question.base_known || !question.adaptive) {
          if (noise_scale)
            throw Failure(ExitCode::usage, "--noise-scale needs a base rate and the optimizer",
                          question.base_known ? "--optimizer sgd or adaptive" : "--base with the tuned rate",
                          "the recording does not contain it");
          question.set_measured_noise_scale(measured);
          report::Report factors{"lr", "Learning rate", {report::rate_choice_table(question.choice())}};
          check_target_steps(question);
          if (question.steps_to_target_known())
            factors.tables.push_back(scenario_queries::target_cost(question, nullptr, database));
          if (!measured.empty()) factors.tables.push_back(report::gradient_noise_table(measured));
          begin_note(factors.tables.front(), kept_note);
          render(factors, format, context.out, style_of(context));
          return ExitCode::done;
        }
      }
      if (noise_scale)
        question.set_noise_scale(*noise_scale);
      else
        question.set_measured_noise_scale(measured);
      check_target_steps(question);
      if (own_decay) options.decay = *own_decay;
      if (!rules_.empty() || noise_scale || own_decay) question.rules = rules;
      report::Report report{"lr", "Learning rate", report::rate_tables(question.options)};
      for (report::Table& table : scenario_queries::plan_tables(question, scenario ? &*scenario : nullptr, database))
        report.tables.push_back(std::move(table));
      if (report::rule_of(question.choice()) != options.rule)
        report.tables.push_back(report::rate_choice_table(question.choice()));
      if (!measured.empty()) report.tables.push_back(report::gradient_noise_table(measured));
      begin_note(report.tables.front(), kept_note);
      render(report, format, context.out, style_of(context));
    } catch (const SQLite::Exception& error) {
      throw store::translate(error, file_);
    } catch (const fit::NotSupported& error) {
      throw Failure(ExitCode::data, error.reason(), "", error.advice());
    } catch (const std::invalid_argument& error) {
      throw Failure(ExitCode::usage, error.what());
    }
    return ExitCode::done;
  }

 private:
  static constexpr std::int64_t most = 100'000'000;

  static void begin_note(report::Table& table, const std::string& text) {
    if (!text.empty()) table.note = text + (table.note.empty() ? "" : " " + table.note);
  }

  scenario_queries::GivenRate stated() const {
    scenario_queries::GivenRate all;
    all.base_lr = base_;
    all.warmup_epochs = warmup_epochs_;
    all.base_workers = base_workers_;
    all.base_batch = base_batch_;
    all.batch = batch_;
    all.accumulation = accumulation_;
    all.samples = samples_;
    all.epochs = epochs_;
    if (!optimizer_.empty()) all.adaptive = optimizer_ == "adaptive";
    return all;
  }

  // For a file without a scenario. Throws Failure if an option needs what the file does not have.
  void check_recorded(const scenario_queries::RateQuestion& question) const {
    if (target_loss_)
      throw Failure(ExitCode::usage, "--target-loss needs the losses of the steps, which are not recorded",
                    "--samples-to-target or --epochs-to-target with trainings that reached the target");
    if (!epochs_to_target_.empty() && !samples_)
      throw Failure(ExitCode::usage, "--epochs-to-target needs the samples of an epoch, which are not recorded",
                    "--samples with the samples of an epoch, or --samples-to-target");
    // Trainings that reached the target give the steps, without the epochs of this one.
    const bool to_target = !samples_to_target_.empty() || !epochs_to_target_.empty() || target_steps_;
    const bool steps_known = question.options.steps_known;
    if (!steps_known)
      for (const auto& [given, option] : {std::pair{samples_ && !to_target, "--samples"},
                                          {epochs_.has_value(), "--epochs"},
                                          {warmup_epochs_.has_value(), "--warmup-epochs"},
                                          {!rules_.empty(), "--rule"},
                                          {!decay_.empty(), "--decay"},
                                          {price_ > 0.0 && !to_target, "--price"}})
        if (given)
          throw Failure(ExitCode::usage,
                        std::string(option) + " needs the steps of the training, which are not recorded",
                        "--samples with the samples of an epoch, and --epochs");
    for (const auto& [given, option] : {std::pair{!question.base_known, "--base"}, {!question.adaptive, "--optimizer"}})
      if (given && steps_known)
        throw Failure(ExitCode::usage, std::string(option) + " is missing", "a recording does not contain it");
  }

  // Without a noise scale, the steps at one batch do not give those at another.
  void check_target_steps(const scenario_queries::RateQuestion& question) const {
    if (target_steps_ && !question.noise_scale_samples)
      throw Failure(ExitCode::usage, "--target-steps needs the gradient noise scale, which was not measured",
                    "--noise-scale, or --samples-to-target with trainings that reached the target");
  }

  // The rules of --rule; without it all rules.
  std::vector<learning_rate::Rule> asked_rules() const {
    using learning_rate::Rule;
    bool all = rules_.empty();
    for (const std::string& asked : rules_) {
      check_word("--rule", asked, known_rules());
      all = all || asked == "all";
    }
    std::vector<Rule> rules;
    for (const Rule rule : learning_rate::every_rule)
      if (all || std::ranges::find(rules_, word(rule)) != rules_.end()) rules.push_back(rule);
    return rules;
  }

  // The decay of --decay; nullopt without the option: the scenario's decay applies.
  std::optional<learning_rate::Decay> asked_decay() const {
    using learning_rate::DecayKind;
    learning_rate::Decay decay;
    if (!decay_.empty()) {
      check_word("--decay", decay_, known_decays());
      for (const DecayKind kind : decay_kinds)
        if (decay_ == learning_rate::to_string(kind)) decay.kind = kind;
    }
    const auto belongs = [&](const char* option, bool given, DecayKind kind) {
      if (given && decay.kind != kind)
        throw Failure(ExitCode::usage, std::string(option) + " belongs to --decay " + learning_rate::to_string(kind));
    };
    belongs("--decay-epochs", !decay_epochs_.empty(), DecayKind::step);
    belongs("--decay-factor", decay_factor_.has_value(), DecayKind::step);
    belongs("--decay-power", decay_power_.has_value(), DecayKind::polynomial);
    if (!decay_epochs_.empty()) decay.at_epochs = decay_epochs_;
    decay.factor = decay_factor_.value_or(decay.factor);
    decay.power = decay_power_.value_or(decay.power);
    try {
      learning_rate::check(decay);
    } catch (const std::invalid_argument& error) {
      throw Failure(ExitCode::usage, error.what());
    }
    return decay_.empty() ? std::nullopt : std::optional(decay);
  }

  static std::optional<double> number_of(std::string_view text) {
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
    return value;
  }

  // "BATCH=NUMBER" of each text.
  static std::vector<learning_rate::BatchSamples> batches_of(const std::vector<std::string>& texts,
                                                             const char* option) {
    std::vector<learning_rate::BatchSamples> all;
    for (const std::string& text : texts) {
      const std::size_t equal = text.find('=');
      const auto batch = number_of(std::string_view(text).substr(0, equal));
      const auto value =
          equal == std::string::npos ? std::nullopt : number_of(std::string_view(text).substr(equal + 1));
      if (!batch || !value || !(*batch > 0.0) || !(*value > 0.0))
        throw Failure(ExitCode::usage,
                      fmt::format("{}: expected BATCH=NUMBER with two numbers above 0, got '{}'", option, text),
                      "e.g. 256=90");
      all.push_back({*batch, *value});
    }
    return all;
  }

  std::optional<stats::Interval> asked_noise_scale() const {
    if (noise_scale_.empty()) return std::nullopt;
    const bool three = noise_scale_.size() == 3;
    if ((noise_scale_.size() != 1 && !three) || !std::ranges::is_sorted(noise_scale_) ||
        !std::ranges::all_of(noise_scale_, [](double samples) { return samples >= 0.0 && std::isfinite(samples); }))
      throw Failure(
          ExitCode::usage,
          "--noise-scale: expected one number of samples, or three ascending numbers: low, middle, high; at least 0",
          "e.g. 800 or 500,800,2000");
    return stats::Interval{noise_scale_.front(), noise_scale_[three ? 1 : 0], noise_scale_.back()};
  }

  std::string file_, workers_, optimizer_, decay_, format_ = "table";
  std::vector<std::string> rules_, samples_to_target_, epochs_to_target_;
  std::vector<double> decay_epochs_, noise_scale_;
  std::optional<double> base_, warmup_epochs_, target_loss_, decay_factor_, decay_power_;
  double price_ = 0.0;
  std::optional<std::int64_t> target_steps_, base_workers_, base_batch_, batch_, accumulation_, samples_, epochs_;
};

}  // namespace

std::unique_ptr<Subcommand> make_lr() { return std::make_unique<LearningRateSubcommand>(); }

}  // namespace ddpprof::cli
