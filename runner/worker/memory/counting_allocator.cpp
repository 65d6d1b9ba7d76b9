#include "runner/worker/memory/counting_allocator.hpp"

#include <c10/core/impl/alloc_cpu.h>

#include <array>
#include <atomic>
#include <new>

namespace ddpprof::worker::memory {
namespace {

struct alignas(64) Account {  // its own cache line, since replicas count at the same time
  std::atomic<std::int64_t> held{0}, peak{0};

  void add(std::int64_t bytes) {
    const std::int64_t now = held.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    std::int64_t most = peak.load(std::memory_order_relaxed);
    while (now > most && !peak.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
    }
  }
};

std::array<Account, devices + 1> accounts;
Account& account_of(int device) { return accounts[static_cast<std::size_t>(device + 1)]; }
thread_local int current_device = 0;

// Stored before each block. Its size is LibTorch's alignment, so that the block is aligned.
struct alignas(c10::gAlignment) Label {
  Account* account;
  std::int64_t bytes;
};

void release(void* data) {
  if (data == nullptr) return;
  Label* label = static_cast<Label*>(data) - 1;
  label->account->held.fetch_sub(label->bytes, std::memory_order_relaxed);
  c10::free_cpu(label);
}

class CountingAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, nullptr, &release, c10::kCPU};
    auto* label = ::new (c10::alloc_cpu(sizeof(Label) + bytes))
        Label{&account_of(current_device), static_cast<std::int64_t>(bytes)};
    label->account->add(label->bytes);
    void* data = label + 1;
    return {data, data, &release, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { default_copy_data(to, from, bytes); }
};

CountingAllocator allocator;

}  // namespace

void start_counting() { c10::SetAllocator(c10::kCPU, &allocator, /*priority=*/1); }
bool counting() { return c10::GetAllocator(c10::kCPU) == &allocator; }

For::For(int device) : before_(current_device) { current_device = device; }
For::~For() { current_device = before_; }

void hand_over(const torch::Tensor& tensor, int device) {
  if (!tensor.defined() || !tensor.device().is_cpu()) return;
  const c10::DataPtr& data = tensor.storage().data_ptr();
  if (data.get_context() == nullptr || data.get_deleter() != &release) return;
  Label* label = static_cast<Label*>(data.get_context()) - 1;
  label->account->held.fetch_sub(label->bytes, std::memory_order_relaxed);
  label->account = &account_of(device);
  label->account->add(label->bytes);
}

Bytes read(int device) {
  const Account& account = account_of(device);
  return {account.held.load(std::memory_order_relaxed), account.peak.load(std::memory_order_relaxed)};
}

void reset_peaks() {
  for (Account& account : accounts) account.peak.store(account.held.load(std::memory_order_relaxed));
}

}  // namespace ddpprof::worker::memory
