#include "cli/failure.hpp"

#include <utility>

#include "analysis/import/files/input_files.hpp"
#include "analysis/import/ranks/error.hpp"
#include "runner/measure/error.hpp"

namespace ddpprof::cli {
namespace {

template <class... Errors>
bool is_one_of(const UserError& error) {
  return ((dynamic_cast<const Errors*>(&error) != nullptr) || ...);
}

ExitCode code_of(measure::MeasurementFailure::Cause cause) {
  switch (cause) {
    case measure::MeasurementFailure::Cause::machine:
      return ExitCode::machine;
    case measure::MeasurementFailure::Cause::scenario:
      return ExitCode::usage;
    case measure::MeasurementFailure::Cause::run:
      break;
  }
  return ExitCode::failed;
}

}  // namespace

Failure::Failure(ExitCode code, const std::string& wrong, std::string expected, std::string remedy)
    : UserError(wrong, std::move(expected), std::move(remedy)), code_(code) {}

ExitCode exit_code_of(const UserError& error) {
  if (const auto* failure = dynamic_cast<const Failure*>(&error)) return failure->code();
  if (const auto* sweep = dynamic_cast<const measure::SweepFailed*>(&error)) return code_of(sweep->cause());
  if (const auto* input = dynamic_cast<const import::UnusableInput*>(&error))
    return input->cause() == import::UnusableInput::Cause::choice ? ExitCode::usage : ExitCode::data;
  if (is_one_of<measure::InvalidRequest, ranks::UnusableFolder>(error)) return ExitCode::usage;
  if (is_one_of<measure::MachineTooSmall, measure::MissingProgram>(error)) return ExitCode::machine;
  if (is_one_of<ranks::InvalidRecords>(error)) return ExitCode::data;
  return ExitCode::failed;  // measure::CannotWrite, measure::Interrupted, ranks::CannotWrite
}

ExitCode exit_code_of(const store::DatabaseError& error) {
  switch (error.kind()) {
    case store::ErrorKind::missing:
    case store::ErrorKind::exists:
      return ExitCode::usage;
    case store::ErrorKind::locked:
    case store::ErrorKind::io:
      return ExitCode::failed;
    case store::ErrorKind::not_sqlite:
    case store::ErrorKind::foreign:
    case store::ErrorKind::older_version:
    case store::ErrorKind::newer_version:
    case store::ErrorKind::corrupt:
      break;
  }
  return ExitCode::data;
}

}  // namespace ddpprof::cli
