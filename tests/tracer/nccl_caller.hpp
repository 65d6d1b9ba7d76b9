// Calls a profiler plugin as each version of NCCL does. Its descriptors are byte layouts written by hand.
//
// Written from NCCL's releases (src/plugin/profiler.cc, up to 2.25 src/misc/profiler.cc, and the callers in
// src/enqueue.cc, src/transport/profiler.cc), independently of the plugin's header, which it tests.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>

namespace ddpprof::test {

inline constexpr int group_event = 1, collective_event = 2, message_event = 4, proxy_operation = 8, proxy_step = 16,
                     proxy_control = 32, channel_event = 64, network_event = 128, group_call = 256,
                     collective_call = 512, message_call = 1024, kernel_launch = 2048;

[[noreturn]] inline void fail(const std::string& what) {
  std::cerr << what << "\n";
  std::exit(1);
}

// A descriptor of exactly the size that NCCL passes, so that sanitizers detect reads beyond it.
class Bytes {
 public:
  explicit Bytes(std::size_t size) : size_(size), data_(static_cast<char*>(std::calloc(1, size))) {}
  ~Bytes() {
    std::memset(data_, 0xdd, size_);  // invalidates data to which a plugin kept a pointer
    std::free(data_);
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  template <class T>
  void put(std::size_t offset, T value) {
    if (offset + sizeof value > size_) fail("a field beyond the descriptor");
    std::memcpy(data_ + offset, &value, sizeof value);
  }
  char* data() { return data_; }

 private:
  std::size_t size_;
  char* data_;
};

// A text that is overwritten after the call that received it.
class Text {
 public:
  Text(const char* text)
      : data_(text == nullptr ? nullptr : strdup(text)) {}  // NOLINT: implicit, to read like NCCL's names
  ~Text() {
    if (data_ != nullptr) std::memset(data_, '#', std::strlen(data_));
    std::free(data_);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  const char* get() const { return data_; }

 private:
  char* data_;
};

struct Operation {
  const char* function;
  int function_code;
  std::uint64_t sequence;  // unused for messages
  std::size_t count;
  int root_or_peer;
  const char* datatype;
  int datatype_code;
  int channels = 1, warps = 8;
  const char* algorithm = nullptr;
  int algorithm_code = 0;
  const char* protocol = nullptr;
  int protocol_code = 0;
  bool captured = false;
  bool message() const { return algorithm == nullptr; }
};

struct Communicator {
  const char* name;
  std::uint64_t hash;
  int nodes, ranks, rank;
  void* context = nullptr;
  int mask = -1;
};

class Plugin {
 public:
  Plugin(const char* path, int version) : version_(version) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);  // like NCCL
    if (library == nullptr) fail(dlerror());
    table_ = static_cast<char*>(dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str()));
    if (table_ == nullptr) fail("no table of version " + std::to_string(version));
  }

  int version() const { return version_; }
  const char* name() const { return function<const char*>(0); }

  void init(Communicator& c) const {
    const Text name(c.name);
    using Old = int(void**, int*);
    using Four = int(void**, int*, const char*, std::uint64_t, int, int, int, void*);
    using Five = int(void**, std::uint64_t, int*, const char*, int, int, int, void*);
    check(version_ < 4 ? function<Old*>(8)(&c.context, &c.mask)
          : version_ == 4
              ? function<Four*>(8)(&c.context, &c.mask, name.get(), c.hash, c.nodes, c.ranks, c.rank, nullptr)
              : function<Five*>(8)(&c.context, c.hash, &c.mask, name.get(), c.nodes, c.ranks, c.rank, nullptr));
  }
  void stop(void* handle) const { check(function<int (*)(void*)>(24)(handle)); }
  void record(void* handle, int state, void* arguments) const {
    check(function<int (*)(void*, int, void*)>(32)(handle, state, arguments));
  }
  void finalize(void* context) const { check(function<int (*)(void*)>(40)(context)); }

  // Starts events with an empty descriptor: groups, and events that the plugin did not request.
  void* start_plain(void* context, int type, void* parent = nullptr) const {
    Bytes descriptor(descriptor_bytes());
    begin(descriptor, type, parent, 0);
    return start(context, descriptor);
  }
  void* start_call(void* context, const Operation& operation) const {
    Bytes descriptor(descriptor_bytes());
    const Text function(operation.function), datatype(operation.datatype);
    begin(descriptor, operation.message() ? message_call : collective_call, nullptr, 0);
    descriptor.put(24, function.get());
    descriptor.put(32, operation.count);
    descriptor.put(40, datatype.get());
    descriptor.put(operation.message() ? 56 : 64, operation.captured);
    return start(context, descriptor);
  }
  void* start_operation(const Communicator& c, const Operation& operation, void* group, void* call) const {
    Bytes descriptor(descriptor_bytes());
    const Text name(c.name), function(operation.function), datatype(operation.datatype), algorithm(operation.algorithm),
        protocol(operation.protocol);
    const bool message = operation.message();
    begin(descriptor, message ? message_event : collective_event, version_ >= 5 ? call : group, c.rank);
    std::size_t at = 24;
    if (version_ < 4) {
      descriptor.put(24, name.get());
      descriptor.put(32, c.hash);
      at = 40;
    }
    if (!message) {
      descriptor.put(at, operation.sequence);
      at += 8;
    }
    version_ == 1 ? descriptor.put(at, static_cast<std::uint8_t>(operation.function_code))
                  : descriptor.put(at, function.get());
    if (message) {  // function, buffer, datatype, count, peer, channels, group
      version_ == 1 ? descriptor.put(at + 16, static_cast<std::uint8_t>(operation.datatype_code))
                    : descriptor.put(at + 16, datatype.get());
      descriptor.put(at + 24, operation.count);
      descriptor.put(at + 32, operation.root_or_peer);
      if (version_ >= 4) descriptor.put(at + 36, static_cast<std::uint8_t>(operation.channels));
      if (version_ >= 5) descriptor.put(at + 40, group);
      return start(c.context, descriptor);
    }
    descriptor.put(at + 24, operation.count);  // after function and two buffers
    descriptor.put(at + 32, operation.root_or_peer);
    version_ == 1 ? descriptor.put(at + 36, static_cast<std::uint8_t>(operation.datatype_code))
                  : descriptor.put(at + 40, datatype.get());
    at += version_ <= 2 ? 56 : 48;  // versions 1 and 2 first have the traffic bytes
    descriptor.put(at, static_cast<std::uint8_t>(operation.channels));
    descriptor.put(at + 1, static_cast<std::uint8_t>(operation.warps));
    if (version_ == 1) {
      descriptor.put(at + 2, static_cast<std::uint8_t>(operation.algorithm_code));
      descriptor.put(at + 3, static_cast<std::uint8_t>(operation.protocol_code));
    } else {
      descriptor.put(at + 8, algorithm.get());
      descriptor.put(at + 16, protocol.get());
      if (version_ >= 5) descriptor.put(at + 24, group);
    }
    return start(c.context, descriptor);
  }
  void* start_channel(void* context, void* operation, int channel, std::uint64_t timer) const {
    Bytes descriptor(descriptor_bytes());
    begin(descriptor, channel_event, operation, 0);
    descriptor.put(24, static_cast<std::uint8_t>(channel));
    if (version_ >= 4) descriptor.put(32, timer);
    return start(context, descriptor);
  }
  void stop_channel(void* handle, std::uint64_t timer) const {
    if (handle == nullptr) return;
    if (version_ >= 4) record(handle, 22, &timer);
    stop(handle);
  }
  void* start(void* context, Bytes& descriptor) const {
    void* handle = &handle;  // any value, as NCCL's memory is not initialised
    check(function<int (*)(void*, void**, void*)>(16)(context, &handle, descriptor.data()));
    if (handle == &handle) fail("the handle was not set");
    return handle;
  }
  std::size_t descriptor_bytes() const {
    constexpr std::size_t bytes[] = {120, 128, 120, 104, 112, 112};
    return bytes[version_ - 1];
  }

 private:
  template <class T>
  T function(std::size_t offset) const {
    T pointer;
    std::memcpy(&pointer, table_ + offset, sizeof pointer);
    return pointer;
  }
  static void check(int result) {
    if (result != 0) fail("the plugin reported error " + std::to_string(result));
  }
  void begin(Bytes& descriptor, int type, void* parent, int rank) const {
    version_ < 5 ? descriptor.put(0, static_cast<std::uint8_t>(type))
                 : descriptor.put(0, static_cast<std::uint64_t>(type));
    descriptor.put(8, parent);
    descriptor.put(16, rank);
  }

  int version_;
  char* table_;
};

}  // namespace ddpprof::test
