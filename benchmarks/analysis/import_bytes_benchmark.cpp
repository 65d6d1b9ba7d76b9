// Speed of reading a trace's bytes: plain, gzip and zstd, compared with the libraries' own loops over the same file.
// Goals: gzip and zstd at the speed of their library, plain at 2 GB/s from the page cache.
#include <benchmark/benchmark.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "analysis/import/bytes/read_ahead.hpp"

namespace {

using namespace ddpprof::import;

constexpr std::size_t content_bytes = std::size_t{512} << 20;
constexpr std::size_t block_bytes = std::size_t{4} << 20;

std::string trace_like_text(std::size_t bytes) {
  std::mt19937 random(1);
  std::string text;
  text.reserve(bytes + 300);
  std::uint64_t at_ns = 1'700'000'000'000'000'000;
  while (text.size() < bytes) {
    at_ns += random() % 5000;
    const std::string ts = std::to_string(at_ns / 1000) + "." + std::to_string(100 + at_ns % 900);
    text += "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_" + std::to_string(random() % 60) +
            "\", \"pid\": 4242, \"tid\": 4242,\n    \"ts\": " + ts + ", \"dur\": " + std::to_string(random() % 90) +
            ",\n    \"args\": {\n      \"External id\": " + std::to_string(random() % 100'000) + "\n    }\n  },\n";
  }
  text.resize(bytes);
  return text;
}

// The content as a file of each kind, made once per process.
class Files {
 public:
  Files() : folder_(std::filesystem::temp_directory_path() / ("ddpprof-bytes-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
    const std::string text = trace_like_text(content_bytes);
    write(Encoding::plain, text);
    const gzFile gzip = gzopen(path(Encoding::gzip).c_str(), "wb6");
    gzwrite(gzip, text.data(), static_cast<unsigned>(text.size()));
    gzclose(gzip);
    std::string packed(ZSTD_compressBound(text.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
    write(Encoding::zstd, packed);
  }
  ~Files() { std::filesystem::remove_all(folder_); }
  std::filesystem::path path(Encoding encoding) const { return folder_ / std::to_string(static_cast<int>(encoding)); }

 private:
  void write(Encoding encoding, const std::string& text) const {
    std::ofstream(path(encoding), std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
  }
  std::filesystem::path folder_;
};

std::filesystem::path file(const benchmark::State& state) {
  static const Files files;
  return files.path(static_cast<Encoding>(state.range(0)));
}

void finish(benchmark::State& state, std::uint64_t bytes) {
  if (bytes != static_cast<std::uint64_t>(state.iterations()) * content_bytes)
    state.SkipWithError("not all bytes came");
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
}

void open_and_read(benchmark::State& state) {
  const std::filesystem::path path = file(state);
  std::vector<std::byte> block(block_bytes);
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    const auto source = open_bytes(path);
    while (const std::size_t got = source->read(block)) bytes += got;
  }
  finish(state, bytes);
}

void read_ahead(benchmark::State& state) {
  const std::filesystem::path path = file(state);
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    ReadAhead ahead(open_bytes(path));
    std::size_t keep_bytes = 0;
    for (;;) {
      const auto span = ahead.next_block(keep_bytes);
      if (span.size() == keep_bytes) break;
      bytes += span.size() - keep_bytes;
      keep_bytes = std::min<std::size_t>(span.size(), 200);  // an unfinished event
    }
  }
  finish(state, bytes);
}

void zlib_alone(benchmark::State& state) {
  const std::filesystem::path path = file(state);
  std::vector<std::byte> block(block_bytes);
  std::vector<unsigned char> input(std::size_t{1} << 19);
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    std::FILE* opened = std::fopen(path.c_str(), "rb");
    z_stream stream{};
    inflateInit2(&stream, 15 + 16);
    int result = Z_OK;
    while (result == Z_OK) {
      if (stream.avail_in == 0) {
        stream.next_in = input.data();
        stream.avail_in = static_cast<uInt>(std::fread(input.data(), 1, input.size(), opened));
      }
      stream.next_out = reinterpret_cast<Bytef*>(block.data());
      stream.avail_out = static_cast<uInt>(block.size());
      result = inflate(&stream, Z_NO_FLUSH);
      bytes += block.size() - stream.avail_out;
    }
    inflateEnd(&stream);
    std::fclose(opened);
  }
  finish(state, bytes);
}

void zstd_alone(benchmark::State& state) {
  const std::filesystem::path path = file(state);
  std::vector<std::byte> block(block_bytes), input(ZSTD_DStreamInSize());
  std::uint64_t bytes = 0;
  for (auto _ : state) {
    std::FILE* opened = std::fopen(path.c_str(), "rb");
    ZSTD_DCtx* context = ZSTD_createDCtx();
    while (const std::size_t got = std::fread(input.data(), 1, input.size(), opened)) {
      ZSTD_inBuffer in{input.data(), got, 0};
      while (in.pos < in.size) {
        ZSTD_outBuffer out{block.data(), block.size(), 0};
        if (ZSTD_isError(ZSTD_decompressStream(context, &out, &in))) break;
        bytes += out.pos;
      }
    }
    ZSTD_freeDCtx(context);
    std::fclose(opened);
  }
  finish(state, bytes);
}

constexpr auto plain = static_cast<int>(Encoding::plain), gzip = static_cast<int>(Encoding::gzip),
               zstd = static_cast<int>(Encoding::zstd);
// The argument: 0 plain, 1 gzip, 2 zstd.
BENCHMARK(open_and_read)->Arg(plain)->Arg(gzip)->Arg(zstd)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(read_ahead)->Arg(plain)->Arg(gzip)->Arg(zstd)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(zlib_alone)->Arg(gzip)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(zstd_alone)->Arg(zstd)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
