// Reads an array of unsigned bytes from an IDX file (MNIST's format), plain or gzip'd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ddpprof::worker {

struct IdxArray {
  std::vector<std::int64_t> shape;   // from the file's header
  std::vector<std::uint8_t> values;  // row-major, the product of the shape
};

// Format (yann.lecun.com/exdb/mnist, "the IDX file format"): two zero bytes, a byte for the type (8: unsigned byte), a
// byte for the number of dimensions, each dimension as a big-endian 32-bit number, the values. Throws
// scenario::DataError, which names the file, if the format is different, the number of dimensions is not `dimensions`,
// or the file is too short or too long. Throws std::runtime_error if the system cannot read the file.
IdxArray read_idx(const std::filesystem::path& path, std::size_t dimensions);

}  // namespace ddpprof::worker
