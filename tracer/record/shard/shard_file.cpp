#include "tracer/record/shard/shard_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tracer/record/shard/clock.hpp"

namespace ddpprof::record {
namespace {

using trace::chunk_bytes;
using trace::ChunkHeader;
using trace::shard_header_bytes;
using trace::ShardHeader;

constexpr std::uint64_t first_growth_chunks = 16;     // 1 MiB: a short process leaves a small file
constexpr std::uint64_t largest_growth_chunks = 256;  // 16 MiB
// The job's results and checkpoints are often on the same disk. 1 / share_of_disk_left of the disk stays free for them,
// at most most_left_bytes.
constexpr std::uint64_t share_of_disk_left = 16;
constexpr std::uint64_t most_left_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t share_of_address_space = 16;  // with a limit (ulimit -v) a shard maps 1 / 16 of it at most

std::int32_t environment_number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

struct Place {
  std::int32_t rank = -1, world_size = -1, local_rank = -1;
};

// Returns the process's place in its job from the variables of torchrun, Open MPI, MPICH or Slurm; all values come from
// the same source. Slurm's variables identify a process only if srun started it: in a batch script they describe the
// script.
Place own_place() {
  struct Names {
    const char *rank, *world_size, *local_rank;
  };
  constexpr Names sources[] = {{"RANK", "WORLD_SIZE", "LOCAL_RANK"},
                               {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                               {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
                               {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}};
  for (const Names& source : sources) {
    const Place place{environment_number(source.rank), environment_number(source.world_size),
                      environment_number(source.local_rank)};
    if (place.rank >= 0 && (place.world_size > place.rank || source.rank == sources[0].rank)) return place;
  }
  return {};
}

// Reads the first line of a small system file without its newline. `out` is always terminated.
void read_line(const char* path, char* out, std::size_t capacity) {
  out[0] = '\0';
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  const ssize_t count = read(descriptor, out, capacity - 1);
  close(descriptor);
  out[std::max<ssize_t>(count, 0)] = '\0';
  out[std::strcspn(out, "\n")] = '\0';
}

bool leaves_room(int descriptor, std::uint64_t bytes) {
  struct statvfs disk {};
  if (fstatvfs(descriptor, &disk) != 0 || disk.f_blocks == 0) return true;  // the file system does not report its size
  const std::uint64_t size = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  const std::uint64_t available = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  return available >= bytes + std::min(size / share_of_disk_left, most_left_bytes);
}

// Never returns descriptor 0, 1 or 2: a program that was started without a standard stream would otherwise read the
// shard as its input, or write its output into it.
int open_beyond_standard(const char* path, int flags) {
  const int descriptor = open(path, flags | O_CLOEXEC, 0644);
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(descriptor);
  errno = error;
  return moved;
}

std::string describe(const std::string& path, const char* what, int error) {
  return "cannot " + std::string(what) + " " + path + ": " + std::strerror(error);
}

}  // namespace

void read_boot_id(char* out, std::size_t capacity) { read_line("/proc/sys/kernel/random/boot_id", out, capacity); }

std::unique_ptr<ShardFile> ShardFile::create(const ShardOptions& options, std::string& error) {
  mkdir(options.directory.c_str(), 0777);  // opening the file reports an error
  const std::int32_t rank = own_place().rank;
  const std::string stem = options.directory + "/shard-" + (rank < 0 ? std::string("x") : std::to_string(rank)) + "-" +
                           std::to_string(getpid());
  std::string path = stem + ".ddps";
  int descriptor = -1;
  // O_EXCL: process ids are reused, and hosts that share the folder may use the same id.
  for (int attempt = 1; attempt < 1000; ++attempt) {
    descriptor = open_beyond_standard(path.c_str(), O_RDWR | O_CREAT | O_EXCL);
    if (descriptor >= 0 || errno != EEXIST) break;
    path = stem + "-" + std::to_string(attempt) + ".ddps";
  }
  if (descriptor < 0) {
    error = describe(path, "create", errno);
    return nullptr;
  }
  std::unique_ptr<ShardFile> shard(new ShardFile(path, descriptor));
  if (!shard->map(options.max_bytes, error)) {
    unlink(path.c_str());
    return nullptr;
  }
  shard->fill_header();
  return shard;
}

ShardFile::~ShardFile() {
  if (is_own(descriptor_)) close(descriptor_);
}

bool ShardFile::is_own(int descriptor) const noexcept {
  struct stat now {};
  return descriptor >= 0 && fstat(descriptor, &now) == 0 && now.st_dev == device_ && now.st_ino == inode_;
}

// Daemons close every descriptor, and a file that they open later may get our number. Growing must not change that
// file.
bool ShardFile::hold_descriptor() noexcept {
  if (is_own(descriptor_)) return true;
  descriptor_ = open_beyond_standard(path_.c_str(), O_RDWR);
  if (is_own(descriptor_)) return true;
  if (descriptor_ >= 0) close(descriptor_);  // the path names another file now
  descriptor_ = -1;
  return false;
}

bool ShardFile::map(std::uint64_t max_bytes, std::string& error) {
  struct stat own {};
  if (fstat(descriptor_, &own) != 0) {
    error = describe(path_, "look at", errno);
    return false;
  }
  device_ = own.st_dev;
  inode_ = own.st_ino;
  rlimit limit{};  // growing past RLIMIT_FSIZE would kill the process with SIGXFSZ
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    if (limit.rlim_cur < max_bytes) max_bytes = limit.rlim_cur, limited_by_ = EFBIG;
  }
  // The mapping counts towards the program's memory limit and must not exhaust it.
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::uint64_t share = limit.rlim_cur / share_of_address_space;
    if (share < max_bytes) max_bytes = share, limited_by_ = ENOMEM;
  }
  if (max_bytes < shard_header_bytes + chunk_bytes) {
    error = path_ + ": a shard needs at least " + std::to_string(shard_header_bytes + chunk_bytes) +
            " bytes, but only " + std::to_string(max_bytes) + " are allowed";
    return false;
  }
  const std::uint64_t capacity = (max_bytes - shard_header_bytes) / chunk_bytes;
  if (const int failure = reserve_chunks(std::min(capacity, first_growth_chunks)); failure != 0) {
    error = describe(path_, "reserve space for", failure);
    return false;
  }
  // The whole cap is mapped at once, so that chunks never move. Pages beyond the end of the file are never accessed.
  void* base = mmap(nullptr, shard_header_bytes + capacity * chunk_bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
  if (base == MAP_FAILED) {
    error = describe(path_, "map", errno);
    return false;
  }
  base_ = static_cast<char*>(base);
  header_ = reinterpret_cast<ShardHeader*>(base_);
  header_->chunk_capacity = capacity;
  return true;
}

void ShardFile::fill_header() {
  ShardHeader& header = *header_;
  header.version = trace::shard_version;
  header.header_bytes = shard_header_bytes;
  header.chunk_bytes = chunk_bytes;
  const Place place = own_place();
  header.rank = place.rank;
  header.world_size = place.world_size;
  header.local_rank = place.local_rank;
  header.pid = getpid();
  header.parent_pid = getppid();
  // The realtime clock is read between two readings of the monotonic clock and paired with their middle.
  const std::int64_t before_ns = monotonic_ns();
  header.opened_realtime_ns = realtime_ns();
  header.opened_monotonic_ns = before_ns + (monotonic_ns() - before_ns) / 2;
  read_boot_id(header.boot_id, sizeof header.boot_id);
  if (gethostname(header.host, sizeof header.host - 1) != 0) header.host[0] = '\0';
  read_line("/proc/self/comm", header.process, sizeof header.process);
  // Written last and in one store: a file with the magic has a complete header.
  static_assert(offsetof(ShardHeader, magic) == 0 && sizeof header.magic == sizeof(std::uint64_t));
  std::uint64_t magic;
  std::memcpy(&magic, trace::shard_magic, sizeof magic);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(base_)).store(magic, std::memory_order_release);
}

int ShardFile::reserve_chunks(std::uint64_t chunks) noexcept {
  const std::uint64_t old_chunks = reserved_chunks_.load(std::memory_order_relaxed);
  const off_t from = old_chunks == 0 ? 0 : static_cast<off_t>(shard_header_bytes + old_chunks * chunk_bytes);
  const off_t to = static_cast<off_t>(shard_header_bytes + chunks * chunk_bytes);
  rlimit limit{};  // the program may have lowered it meanwhile
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && static_cast<rlim_t>(to) > limit.rlim_cur) return EFBIG;
  if (!hold_descriptor()) return EBADF;
  if (old_chunks != 0 && !leaves_room(descriptor_, static_cast<std::uint64_t>(to - from))) return ENOSPC;
  int failure = 0;
  do {
    failure = posix_fallocate(descriptor_, from, to - from);
  } while (failure == EINTR);
  if (failure == 0) reserved_chunks_.store(chunks, std::memory_order_release);
  return failure;
}

bool ShardFile::grow(std::uint64_t needed_chunks) noexcept {
  const std::lock_guard lock(growing_);
  const std::uint64_t reserved = reserved_chunks_.load(std::memory_order_relaxed);
  if (reserved >= needed_chunks) return true;
  const std::uint64_t step = std::clamp(reserved, first_growth_chunks, largest_growth_chunks);
  if (reserve_chunks(std::min(reserved + step, header_->chunk_capacity)) == 0) return true;
  const int failure = reserve_chunks(needed_chunks);  // the disk is nearly full: take the last chunks one by one
  if (failure != 0) header_->growth_error.store(failure, std::memory_order_relaxed);
  return failure == 0;
}

ChunkHeader* ShardFile::claim(std::int64_t os_tid) noexcept {
  // Compare and swap instead of fetch_add: a failed claim must not move the counter past the valid chunks.
  std::uint64_t index = header_->chunks_used.load(std::memory_order_relaxed);
  do {
    if (index >= header_->chunk_capacity) {
      if (limited_by_ != 0) header_->growth_error.store(limited_by_, std::memory_order_relaxed);
      return nullptr;
    }
    if (index >= reserved_chunks_.load(std::memory_order_acquire) && !grow(index + 1)) return nullptr;
  } while (!header_->chunks_used.compare_exchange_weak(index, index + 1, std::memory_order_acq_rel));

  auto* chunk = reinterpret_cast<ChunkHeader*>(base_ + shard_header_bytes + index * chunk_bytes);
#ifdef MADV_POPULATE_WRITE
  // One call instead of sixteen page faults in later events. Older kernels refuse it, which is harmless.
  madvise(base_ + shard_header_bytes + index * chunk_bytes, chunk_bytes, MADV_POPULATE_WRITE);
#endif
  chunk->os_tid = os_tid;
  chunk->used_bytes.store(0, std::memory_order_relaxed);
  std::atomic_ref(chunk->magic).store(trace::chunk_magic, std::memory_order_release);
  return chunk;
}

}  // namespace ddpprof::record
