#include "runner/worker/torch_file.hpp"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/serialization/import_read.h>
#include <torch/csrc/jit/serialization/pickler.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>

#include "runner/worker/first_line.hpp"

namespace ddpprof::worker {
namespace {

// Writes the bytes and stores the first failure instead of reporting it: PyTorchStreamWriter's destructor ends the
// program on a reported failure.
class Sink {
 public:
  Sink(const std::filesystem::path& path, const std::function<void()>& moved)
      : file_(path, std::ios::binary), moved_(moved) {
    note();
  }
  std::size_t write(const void* data, std::size_t size) {
    if (error_ == 0) file_.write(static_cast<const char*>(data), static_cast<std::streamsize>(size));
    note();
    moved_();
    return size;
  }
  void close() {
    file_.close();
    note();
    if (error_ != 0) throw std::runtime_error(std::strerror(error_));
  }

 private:
  void note() {
    if (error_ == 0 && !file_) error_ = errno != 0 ? errno : EIO;
  }
  std::ofstream file_;
  const std::function<void()>& moved_;
  int error_ = 0;
};

void write_archive(const std::filesystem::path& path, const c10::IValue& value, const std::function<void()>& moved) {
  errno = 0;
  Sink sink(path, moved);
  {
    caffe2::serialize::PyTorchStreamWriter writer(
        [&sink](const void* data, std::size_t size) { return sink.write(data, size); });
    std::string pickle;
    torch::jit::Pickler pickler([&pickle](const char* data, std::size_t size) { pickle.append(data, size); }, nullptr,
                                nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
    pickler.protocol();
    pickler.pushIValue(value);
    pickler.stop();
    writer.writeRecord("data.pkl", pickle.data(), pickle.size());
    std::size_t number = 0;
    for (const auto& tensor : pickler.tensorData()) {
      const auto data = torch::jit::getWriteableTensorData(tensor);
      writer.writeRecord("data/" + std::to_string(number++), data.data(), data.sizeInBytes());
    }
    writer.writeEndOfFile();
  }
  sink.close();
}

}  // namespace

c10::IValue read_torch_file(const std::filesystem::path& path) {
  try {
    caffe2::serialize::PyTorchStreamReader reader(path.string());
    return torch::jit::readArchiveAndTensors("data", "", "", std::nullopt, std::nullopt, at::Device(at::kCPU), reader);
  } catch (const c10::Error& error) {
    throw std::runtime_error(first_line(error.what_without_backtrace()));
  }
}

void write_torch_file(const std::filesystem::path& path, const c10::IValue& value, const std::function<void()>& moved) {
  auto partial = path;
  partial += ".partial";
  try {
    write_archive(partial, value, moved);
    std::filesystem::rename(partial, path);
  } catch (const std::exception& error) {
    std::error_code ignored;
    std::filesystem::remove(partial, ignored);
    throw std::runtime_error("cannot write " + path.string() + ": " + first_line(error.what()));
  }
}

}  // namespace ddpprof::worker
