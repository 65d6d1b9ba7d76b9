#include "analysis/timeline/raw_names.hpp"

#include "tracer/store/kernel_name.hpp"
#include "tracer/store/rows/queries.hpp"

namespace ddpprof::timeline {
namespace {

constexpr std::uint32_t unknown = 0xffffffff;
constexpr std::int64_t most_known = 1 << 22;  // ids count from 1; a damaged id must not fill the memory

}  // namespace

SharedNames::SharedNames(SQLite::Database& db, Names& names) : names_(names) {
  for (const auto& [id, text] : store::read_strings(db)) {
    texts_.emplace(id, text);
    if (id < 0 || id >= most_known) continue;
    if (id >= static_cast<std::int64_t>(ranges_.size())) ranges_.resize(static_cast<std::size_t>(id) + 1, unknown);
    ranges_[static_cast<std::size_t>(id)] = names.intern(text, category_of_phase(text));
  }
}

std::uint32_t SharedNames::range(std::int64_t id) const {
  if (id >= 0 && id < static_cast<std::int64_t>(ranges_.size()) && ranges_[static_cast<std::size_t>(id)] != unknown)
    return ranges_[static_cast<std::size_t>(id)];
  const std::string name = text(id);
  return intern(name, category_of_phase(name));
}

std::uint32_t SharedNames::unfinished(std::int64_t id) const {
  return intern(text(id) + " never ended", Category::unfinished);
}

std::uint32_t SharedNames::kernel(std::int64_t id) const {
  const std::string name = store::demangled_kernel(text(id));
  return intern(name, name.find("nccl") == std::string::npos ? Category::kernel : Category::communication_kernel);
}

std::uint32_t SharedNames::call(std::int64_t id) const { return intern(text(id), Category::cuda_call); }

std::uint32_t SharedNames::intern(const std::string& text, Category category) const {
  const std::lock_guard lock(mutex_);
  return names_.intern(text, category);
}

std::string SharedNames::text(std::int64_t id) const {
  const auto found = texts_.find(id);
  return found == texts_.end() ? "?" : found->second;
}

}  // namespace ddpprof::timeline
