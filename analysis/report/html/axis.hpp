// Axes of figures: the position of a value between 0 and 1, and the ticks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof::report::html {

struct Tick {
  double value = 0;
  std::string label;  // with its unit
};

class Axis {
 public:
  // Worker counts, log2: a tick at each power of two, or at every second, third, … if there are many.
  static Axis workers(std::span<const double> values);
  // Sizes in bytes, log2.
  static Axis bytes(std::span<const double> values);
  // A quantity with base unit `unit`, from 0. Logarithmic if the positive values span more than a factor of 20.
  static Axis quantity(std::string title, std::string_view unit, std::span<const double> values);
  static Axis logarithmic(std::string title, std::string_view unit, std::span<const double> values);
  // Ratios as percentages, from 0 to at least 100 %.
  static Axis share(std::string title, std::span<const double> values);

  // Returns 0 at the start of the axis and 1 at its end. Values outside are clamped.
  double at(double value) const;

  std::string title;
  std::vector<Tick> ticks;

 private:
  static Axis powers_of_two(std::string title, std::span<const double> values, double margin);
  bool log_ = false;
  double low_ = 0, high_ = 1;  // log2 of the ends if logarithmic
};

}  // namespace ddpprof::report::html
