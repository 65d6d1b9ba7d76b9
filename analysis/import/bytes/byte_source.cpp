#include "analysis/import/bytes/byte_source.hpp"

#include <algorithm>

#include "analysis/import/bytes/compressed.hpp"
#include "analysis/import/bytes/input_file.hpp"

namespace ddpprof::import {
namespace {

class PlainSource final : public FileSource {
 public:
  using FileSource::FileSource;

  std::size_t read(std::span<std::byte> into) override {
    const std::size_t done = file_->read(into);
    if (done < into.size()) problem_ = file_->error();
    return done;
  }
  Encoding encoding() const override { return Encoding::plain; }
};

}  // namespace

void FileSource::fail(std::uint64_t at, const std::string& what) {
  ended_ = true;
  problem_ = file_->error() ? *file_->error() : file_->name() + ": byte " + std::to_string(at) + ": " + what;
}

void FileSource::pass_over_rest(const std::string& unit) {
  ended_ = true;
  const std::uint64_t at = file_->position();
  bool zeros = true;
  for (auto rest = file_->look(1); !rest.empty(); rest = file_->look(1)) {
    zeros = zeros && std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; });
    file_->skip(rest.size());
  }
  problem_ = file_->error();
  const std::uint64_t bytes = file_->position() - at;
  remark_ = file_->name() + ": byte " + std::to_string(at) + ": skipped " + std::to_string(bytes) +
            (zeros ? " zero" : "") + (bytes == 1 ? " byte" : " bytes") + " after the last " + unit +
            (zeros ? " (padding)" : ", because no " + unit + " begins there");
}

std::unique_ptr<ByteSource> open_bytes(const std::filesystem::path& path) {
  auto file = std::make_unique<InputFile>(path);
  const std::span<const std::byte> first = file->look(4);
  if (starts_gzip_member(first)) return gzip_source(std::move(file));
  if (starts_zstd_frame(first)) return zstd_source(std::move(file));
  return std::make_unique<PlainSource>(std::move(file));
}

}  // namespace ddpprof::import
