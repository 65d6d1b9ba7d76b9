// Reads one JSON object per line (samples, replicas, rank, shuffle, drop_last, seed, epoch and, if drawn by weight,
// weights), prints the rank's indices.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "runner/worker/data/sampler.hpp"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto in = nlohmann::json::parse(line);
    ddpprof::worker::SamplerOptions options{in.at("samples"), in.at("replicas"),  in.at("rank"),
                                            in.at("shuffle"), in.at("drop_last"), in.at("seed")};
    options.weights = in.value("weights", std::vector<double>{});
    std::cout << nlohmann::json(ddpprof::worker::epoch_indices(options, in.at("epoch"))).dump() << '\n';
  }
}
