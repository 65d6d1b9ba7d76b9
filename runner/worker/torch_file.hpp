// Values in files as Python's torch.save writes and torch.load reads them: a zip archive with a pickle.
#pragma once

#include <filesystem>
#include <functional>

#include "runner/worker/torch.hpp"

namespace ddpprof::worker {

// Tensors come to the CPU. Throws std::runtime_error with LibTorch's reason in one line.
c10::IValue read_torch_file(const std::filesystem::path& path);

// Strings, numbers, tensors, and dictionaries, lists and tuples of them; plain types only, so that torch.load takes the
// file with weights_only. Written beside `path` and renamed: whole or not at all. Calls `moved` whenever a piece has
// been written. Throws std::runtime_error.
void write_torch_file(const std::filesystem::path& path, const c10::IValue& value, const std::function<void()>& moved);

}  // namespace ddpprof::worker
