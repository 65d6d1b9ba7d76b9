// The parts of the step: the model's parts stacked over N, and at each measured N a bar of the measured parts.
#include <algorithm>

#include "gui/pages/scaling/scaling_plot.hpp"

namespace ddpprof::gui::whatif {
namespace {

// In the order of ScalingPlot::parts_of_step, in milliseconds.
std::vector<double> in_order_ms(const StepParts& of, bool copies) {
  std::vector<double> values_s = {of.compute_s, of.overlapped_s, of.exposed_s, of.skew_s,
                                  of.host_s,    of.input_s,      of.other_s};
  if (copies) values_s = {of.compute_s, of.exposed_s, of.host_s, of.input_s, of.other_s};
  for (double& value : values_s) value = 1e3 * std::max(0.0, value);
  return values_s;
}

// A measured step does not separate a rank's own compute from the cost of shared cores. The name uses both terms of the
// table Why, which separates them.
QString own_and_sharing() { return ScalingPlot::tr("compute + sharing"); }

// The term `host`: the device waits for the host's launches. Empty on a CPU.
QString host_waits() { return ScalingPlot::tr("waiting for launches"); }

struct Stack {
  explicit Stack(std::size_t size) : values(size) {}
  void add(std::int64_t workers, const std::vector<double>& of) {
    x.push_back(static_cast<double>(workers));
    for (std::size_t i = 0; i < values.size(); ++i) values[i].push_back(of[i]);
  }
  QVector<double> x;
  std::vector<QVector<double>> values;
};

}  // namespace

std::vector<StackPart> ScalingPlot::parts_of_step(bool copies) {
  if (copies)
    return {{own_and_sharing(), Colour::compute},
            {tr("copies"), Colour::copies},
            {host_waits(), Colour::host},
            {tr("input"), Colour::input},
            {tr("other"), Colour::other}};
  return {{own_and_sharing(), Colour::compute},
          {tr("overlapped communication"), Colour::overlapped},
          {tr("exposed communication"), Colour::exposed},
          {tr("skew"), Colour::skew},
          {host_waits(), Colour::host},
          {tr("input"), Colour::input},
          {tr("other"), Colour::other}};
}

void ScalingPlot::draw_split() {
  Stack model(stack().size()), measured(bars().size());
  for (const CurvePoint& point : shot_->shown().points)
    model.add(point.workers, in_order_ms(parts(point, copies_), copies_));
  for (const MeasuredPoint& point : shot_->measured)
    if (point.workers <= shot_->limit) measured.add(point.workers, in_order_ms(parts(point), copies_));
  stack().set(model.x, model.values);
  bars().set(measured.x, measured.values);
}

QStringList ScalingPlot::reading_of_parts(std::int64_t workers) const {
  const CurvePoint* point = shot_->shown().at(workers);
  if (point == nullptr) return {};
  const StepParts model = parts(*point, copies_);
  const auto& all = shot_->measured;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const MeasuredPoint& one) { return one.workers == workers; });
  const StepParts measured = found == all.end() ? StepParts{} : parts(*found);
  QStringList lines;
  const auto add = [&](const QString& name, double value_s, double measured_s) {
    const auto text = [](double seconds) { return QString::fromStdString(figure_text(seconds, Quantity::step)); };
    if (!(value_s > 0.0) && !(measured_s > 0.0)) return;
    lines += found == all.end() ? tr("%1: %2").arg(name, text(value_s))
                                : tr("%1: %2 (measured %3)").arg(name, text(value_s), text(measured_s));
  };
  add(own_and_sharing(), model.compute_s + model.overlapped_s, measured.compute_s + measured.overlapped_s);
  add(tr("overlapped with communication"), model.overlapped_s, measured.overlapped_s);
  add(copies_ ? tr("copies") : tr("exposed"), model.exposed_s, measured.exposed_s);
  add(tr("skew"), model.skew_s, measured.skew_s);
  add(host_waits(), model.host_s, measured.host_s);
  add(tr("input"), model.input_s, measured.input_s);
  add(tr("other"), model.other_s, measured.other_s);
  return lines;
}

}  // namespace ddpprof::gui::whatif
