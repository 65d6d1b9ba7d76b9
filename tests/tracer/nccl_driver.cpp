// Replaces NCCL on a machine without a GPU: nccl_driver MODE VERSION LIBRARY
#include <nvtx3/nvToolsExt.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/tracer/nccl_caller.hpp"

namespace ddpprof::test {
namespace {

// One plan, as hostStreamPlanTask() reports it: a group, its operations and their ends, all at once. From version 5 on
// the calls are reported before.
std::vector<void*> launch(const Plugin& plugin, const Communicator& c, const std::vector<Operation>& operations) {
  std::vector<void*> calls(operations.size(), nullptr), handles;
  if (plugin.version() >= 5) {
    void* call_group = plugin.start_plain(c.context, group_call);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      calls[i] = plugin.start_call(c.context, operations[i]);
      if (calls[i] != nullptr) plugin.stop(calls[i]);
    }
    if (call_group != nullptr) plugin.stop(call_group);
  }
  void* group = plugin.start_plain(c.context, group_event);
  if (plugin.version() < 5 && group == nullptr) return handles;  // NCCL up to 2.27 then reports no operation
  for (std::size_t i = 0; i < operations.size(); ++i)
    handles.push_back(plugin.start_operation(c, operations[i], group, calls[i]));
  for (void* handle : handles) plugin.stop(handle);
  plugin.stop(group);
  return handles;
}

// NCCL's proxy thread: a network operation, which the plugin did not request, and the channels of a kernel.
void proxy(const Plugin& plugin, const Communicator& c, void* operation, int channels, std::uint64_t from_ns,
           std::uint64_t to_ns) {
  std::thread([&] {
    void* step = plugin.start_plain(c.context, proxy_step, plugin.start_plain(c.context, proxy_operation, operation));
    if (step != nullptr) fail("an event that was not asked for got a handle");
    plugin.stop(step);
    if (plugin.start_plain(c.context, proxy_control) != nullptr) fail("a control event got a handle");
    if ((c.mask & channel_event) == 0) return;
    std::vector<void*> started;
    for (int channel = 0; channel < channels; ++channel)
      started.push_back(plugin.start_channel(c.context, operation, channel, from_ns + static_cast<unsigned>(channel)));
    for (void* handle : started) plugin.stop_channel(handle, to_ns);
  }).join();
}

constexpr Operation all_reduce(std::uint64_t sequence, std::size_t count) {
  return {"AllReduce", 4, sequence, count, 0, "ncclFloat32", 7, 24, 16, "RING", 1, "LL128", 1};
}
constexpr Operation broadcast{"Broadcast", 0, 0, 4096, 5, "ncclInt8", 0, 2, 4, "TREE", 0, "SIMPLE", 2};
constexpr Operation reduce_scatter{"ReduceScatter", 3, 0, 300, 0, "ncclBfloat16", 9, 16, 20, "NVLS", 4, "SIMPLE", 2};
constexpr Operation send{"Send", 6, 0, 77, 7, "ncclFloat16", 6, 2};
constexpr Operation receive{"Recv", 7, 0, 78, 2, "ncclInt64", 4, 2};

void everything(const Plugin& plugin) {
  Communicator world{"world", 0xaaaa000000000001, 2, 16, 3}, tensor{nullptr, 0xbbbb000000000002, 1, 8, 1};
  plugin.init(world);
  plugin.init(tensor);
  const std::vector<void*> first = launch(plugin, world, {all_reduce(0, 1000)});
  proxy(plugin, world, first.at(0), 2, 5'000'000, 5'090'000);
  std::thread other([&] { launch(plugin, tensor, {reduce_scatter}); });
  launch(plugin, world, {all_reduce(1, 2000), broadcast});
  other.join();
  launch(plugin, world, {send, receive});
  Operation captured = all_reduce(2, 4000);
  captured.captured = true;
  launch(plugin, world, {captured});
  void* open = plugin.start_plain(world.context, group_event);
  plugin.finalize(world.context);
  plugin.stop(open);  // NCCL's last plans may end after the communicator
  plugin.stop(first.at(0));
  plugin.finalize(tensor.context);
  std::cout << plugin.name() << " mask " << world.mask << "\n";
}

void abuse(const Plugin& plugin) {
  Communicator c{"x", 1, 1, 2, 0};
  plugin.init(c);
  for (void* handle : std::array<void*, 5>{nullptr, &c, reinterpret_cast<void*>(1), reinterpret_cast<void*>(~0ul),
                                           reinterpret_cast<void*>(3)}) {
    plugin.stop(handle);
    plugin.record(handle, 22, nullptr);
    plugin.record(handle, 4711, &c);
    plugin.start_channel(c.context, handle, 255, 1);
    plugin.start_operation(c, all_reduce(0, 1), handle, handle);
  }
  for (int type : {0, 3, 128, 255}) plugin.start_plain(c.context, type);
  // Null names and contexts, unknown codes and names.
  Operation odd{nullptr, 200, ~0ull, ~0ull, -5, nullptr, 99, 255, 255, "", 250, "", 251};
  plugin.start_operation(c, odd, nullptr, nullptr);
  odd.algorithm = "A_NAME_OF_TOMORROW";
  odd.function = "Rotate";
  plugin.start_operation(c, odd, nullptr, nullptr);
  Communicator none{nullptr, 0, 0, 0, 0};
  plugin.start_operation(none, all_reduce(0, 1), nullptr, nullptr);
  plugin.start_plain(nullptr, group_event);
  plugin.finalize(nullptr);
  plugin.finalize(c.context);
  plugin.finalize(c.context);
  plugin.start_operation(c, all_reduce(9, 1), nullptr, nullptr);  // after the communicator's end
  // Opening the library again returns the same library with the same recorder.
  const pid_t child = fork();
  if (child == 0) {
    plugin.start_operation(c, all_reduce(10, 1), plugin.start_plain(c.context, group_event), nullptr);
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) fail("the forked child failed");
}

void many_threads(const Plugin& plugin) {
  Communicator c{"x", 1, 1, 2, 0};
  plugin.init(c);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 500; ++i) launch(plugin, c, {all_reduce(t * 500 + i, i)});
    });
  for (std::thread& thread : threads) thread.join();
  plugin.finalize(c.context);
}

// NCCL has one mask. Each communicator's init receives it while threads of other communicators read it.
void one_mask(const Plugin& plugin) {
  Communicator first{"x", 1, 1, 2, 0};
  plugin.init(first);
  const int wanted = first.mask;
  const std::atomic_ref<int> mask(first.mask);
  std::atomic<bool> ended{false};
  std::atomic<std::uint64_t> reads{0};
  std::uint64_t without = 0;
  std::thread reader([&] {
    for (; !ended.load(std::memory_order_relaxed); reads.fetch_add(1, std::memory_order_relaxed))
      without += mask.load(std::memory_order_relaxed) != wanted;
  });
  for (std::uint64_t i = 0; i < 20'000 || reads == 0; ++i) plugin.init(first);
  ended = true;
  reader.join();
  std::cout << "without events " << without;
}

// A training of four steps in a process whose GPU is not traced: three buckets per step, the last with another
// algorithm.
void train(const Plugin& plugin) {
  const char* rank = std::getenv("RANK");
  Communicator c{"default_pg", 0xcafe, 1, 2, rank == nullptr ? 0 : std::atoi(rank)};
  plugin.init(c);
  const auto sleep_ms = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  std::uint64_t gpu_ns = 1'000'000'000'000, sequence = 0;
  for (int step = 0; step < 4; ++step) {
    nvtxRangePushA(("step " + std::to_string(step)).c_str());
    nvtxRangePushA("forward");
    sleep_ms(1);
    nvtxRangePop();
    nvtxRangePushA("backward");
    for (const std::size_t count : {1'000'000u, 500'000u, 1'000u}) {
      Operation operation = all_reduce(sequence++, count);
      if (count == 1'000u) operation.algorithm = "TREE", operation.algorithm_code = 0;
      if (count == 1'000u) operation.protocol = "LL", operation.protocol_code = 0;
      const std::vector<void*> handles = launch(plugin, c, {operation});
      proxy(plugin, c, handles.at(0), 4, gpu_ns, gpu_ns + count);  // one nanosecond per element
      gpu_ns += 2'000'000;
      sleep_ms(1);
    }
    nvtxRangePop();
    nvtxRangePushA("optimizer");
    sleep_ms(1);
    nvtxRangePop();
    nvtxRangePop();
  }
  plugin.finalize(c.context);
}

}  // namespace
}  // namespace ddpprof::test

int main(int argc, char** argv) {
  using namespace ddpprof::test;
  if (argc != 4) fail("usage: nccl_driver MODE VERSION LIBRARY");
  const std::string mode = argv[1];
  const Plugin plugin(argv[3], std::atoi(argv[2]));
  if (mode == "everything") everything(plugin);
  if (mode == "abuse") abuse(plugin);
  if (mode == "threads") many_threads(plugin);
  if (mode == "mask") one_mask(plugin);
  if (mode == "train") train(plugin);
  if (mode == "flood") {
    Communicator c{"x", 1, 1, 2, 0};
    plugin.init(c);
    for (std::uint64_t i = 0; i < 20'000; ++i) launch(plugin, c, {all_reduce(i, i)});
  }
  if (mode == "off") {
    Communicator c{"x", 1, 1, 2, 0, &c};
    plugin.init(c);
    std::cout << "mask " << c.mask << (c.context == nullptr ? " no context" : " context");
    plugin.finalize(c.context);
  }
  if (mode == "killed") {
    Communicator c{"x", 1, 1, 2, 0};
    plugin.init(c);
    for (std::uint64_t i = 0; i < 100; ++i) launch(plugin, c, {all_reduce(i, i)});
    plugin.start_plain(c.context, group_event);
    raise(SIGKILL);
  }
  return 0;
}
