// Reads an array of unsigned bytes from an IDX file (MNIST's format), plain or gzip'd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ddpprof::worker {

struct IdxArray {
  std::vector<std::int64_t> shape;   // as the file's header says
  std::vector<std::uint8_t> values;  // row-major, the product of the shape
};

// Format (yann.lecun.com/exdb/mnist, "the IDX file format"): two zero bytes, a byte for the type (8: unsigned byte), a
// byte for the number of dimensions, each dimension as a big-endian 32-bit number, the values. Throws
// scenario::DataError, naming the file, when it is anything else, has not `dimensions` dimensions, is cut short or
// goes on after its last value; std::runtime_error when the system cannot read it.
IdxArray read_idx(const std::filesystem::path& path, std::size_t dimensions);

}  // namespace ddpprof::worker
