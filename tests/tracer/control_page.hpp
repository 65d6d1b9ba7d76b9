// Writes the page of bounds for tests, without the code of `ddpprof record`.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tracer/format/control_page.hpp"

namespace ddpprof::test {

class PageOfBounds {
 public:
  explicit PageOfBounds(const std::filesystem::path& folder) : path_(folder / "bounds.ddpc") {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, 16384) != 0) throw std::runtime_error("no page of bounds");
    void* base = mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (base == MAP_FAILED) throw std::runtime_error("no page of bounds");
    page_ = static_cast<trace::ControlPage*>(base);
    std::memcpy(page_->magic, "DDPCTRL1", 8);
    page_->version = 1;
    page_->page_bytes = 16384;
    std::ifstream("/proc/sys/kernel/random/boot_id").getline(page_->boot_id, sizeof page_->boot_id);
    page_->first_step = -1;
    page_->last_step = INT64_MAX;
  }
  ~PageOfBounds() { munmap(page_, 16384); }
  PageOfBounds(const PageOfBounds&) = delete;
  PageOfBounds& operator=(const PageOfBounds&) = delete;

  PageOfBounds& toggle(std::int64_t time_ns) {
    const std::uint32_t count = page_->toggle_count.load();
    page_->toggles_ns[count] = time_ns;
    page_->toggle_count = count + 1;
    return *this;
  }
  PageOfBounds& steps(std::int64_t first, std::int64_t last, const std::string& range = "") {
    page_->watches_steps = 1;
    page_->first_step = first;
    page_->last_step = last;
    range.copy(page_->step_range, sizeof page_->step_range - 1);
    return *this;
  }
  trace::ControlPage& operator*() { return *page_; }
  trace::ControlPage* operator->() { return page_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  trace::ControlPage* page_ = nullptr;
};

}  // namespace ddpprof::test
