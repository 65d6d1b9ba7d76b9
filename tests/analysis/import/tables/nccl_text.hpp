// Text as nccl-tests prints it, for a link whose times are a formula: 20 µs and bytes 2(N-1)/N over the bus bandwidth.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace ddpprof::test {

struct NcclText {
  std::int64_t ranks = 16, hosts = 2;
  double busbw = 200.0;
  std::string program = "all_reduce_perf";  // empty: an old version, which does not print it
  std::string host = "node-";
  std::string time = "time";
  std::string operation = "sum";
  int root = -1;
  double bus_factor = 0.0;  // busbw over algbw; 0: 2(N-1)/N
  std::int64_t least = 1024, most = std::int64_t{1} << 30;
  std::string wrong = "0";

  double ring() const { return 2.0 * static_cast<double>(ranks - 1) / static_cast<double>(ranks); }
  double time_us(std::int64_t bytes) const { return 20.0 + static_cast<double>(bytes) * ring() / busbw * 1e-3; }

  std::string begin() const {
    return (program.empty() ? "" : "# nccl-tests version 2.18.3\n# Collective test starting: " + program + "\n") +
           "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20\n#\n"
           "# Using devices\n";
  }
  std::string rank(std::int64_t number, std::int64_t group, std::int64_t on) const {
    return rank_on(number, group, host + std::string(1, static_cast<char>('a' + on)), number);
  }
  std::string rank_on(std::int64_t number, std::int64_t group, const std::string& name, std::int64_t gpu) const {
    return fmt::format("#  Rank {:2} Group {:2} Pid {:6} on {:>10} device {:2} [0000:{:02x}:00] NVIDIA H100\n", number,
                       group, 4000 + number, name, number % 8, gpu);
  }
  std::string devices() const {
    std::string text;
    for (std::int64_t i = 0; i < ranks; ++i) text += rank(i, 0, i * hosts / ranks);
    return text;
  }
  std::string columns() const {
    return fmt::format(
        "#\n#       size         count      type   redop    root  {0:>7}   algbw   busbw  #wrong  {0:>7}   algbw   "
        "busbw"
        "  #wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n",
        time);
  }
  std::string row_start(std::int64_t bytes) const {
    return fmt::format("{:12}  {:12}     float  {:>6}  {:6}", bytes, bytes / 4, operation, root);
  }
  // Times, bandwidths and wrong values, out of place or in place.
  std::string figures(std::int64_t bytes, double longer = 1.0) const {
    const double time_us_ = time_us(bytes) * longer, algbw = static_cast<double>(bytes) / time_us_ * 1e-3;
    return fmt::format("  {:7.2f}  {:6.2f}  {:6.2f}  {:>6}", time_us_, algbw,
                       algbw * (bus_factor > 0.0 ? bus_factor : ring()), wrong);
  }
  std::string row(std::int64_t bytes) const { return row_start(bytes) + figures(bytes) + figures(bytes, 1.01) + "\n"; }
  std::string rows() const {
    std::string text;
    for (std::int64_t bytes = least; bytes <= most; bytes *= 4) text += row(bytes);
    return text;
  }
  std::string end() const {
    return "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100.0\n#\n" +
           (program.empty() ? "" : "# Collective test concluded: " + program + "\n#\n");
  }
  std::string all() const { return begin() + devices() + columns() + rows() + end(); }
};

// Returns the text with a prefix before each line.
inline std::string prefixed(const std::string& text, const std::string& prefix, const std::string& line_end = "\n") {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out += prefix + text.substr(at, end - at) + line_end;
    at = end + 1;
  }
  return out;
}

}  // namespace ddpprof::test
