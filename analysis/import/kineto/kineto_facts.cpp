// Facts that a trace holds besides its events, and checks of numbers.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "analysis/import/kineto/kineto_reader.hpp"
#include "analysis/import/kineto/shapes.hpp"
#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {

using nlohmann::json;

std::string KinetoReader::lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Reads events of a GPU's allocator only. A CPU allocator's totals begin with the profile and miss earlier allocations.
bool KinetoReader::allocator_event(const Event& event) {
  constexpr std::int64_t cuda = 1;  // c10::DeviceType; AMD's devices have it, too
  const Event::Arguments& arguments = event.arguments;
  if (arguments.device_type != cuda || !event.start_ns || !sound_time(*event.start_ns, *event.start_ns)) return false;
  const std::int64_t bytes = arguments.total_allocated.value_or(-1), device = arguments.device_id.value_or(-1);
  if (bytes < 0 || bytes > most_bytes || device < 0 || device > INT32_MAX) return false;
  rank_.memory.push({*event.start_ns, device, bytes});
  return true;
}

void KinetoReader::report_invalid_size() { refuse("an invalid size, which counts as not recorded", offset_); }

std::int64_t KinetoReader::size_in(std::optional<std::int64_t> size) {
  if (!size) return 0;
  if (*size >= 0 && *size <= most_bytes) return *size;
  report_invalid_size();
  return 0;
}

std::int64_t KinetoReader::message_bytes(const Event::Arguments& arguments) {
  const std::int64_t elements = std::max(arguments.in_elements.value_or(0), arguments.out_elements.value_or(0));
  const std::int64_t each = element_bytes(arguments.dtype), bytes = bytes_of(elements, each);
  if (elements < 0 || (bytes == 0 && elements > 0 && each > 0)) report_invalid_size();
  return bytes;
}

std::int64_t KinetoReader::group_size(const Event::Arguments& arguments) {
  const std::int64_t size = arguments.group_size.value_or(0);
  if (size >= 0 && size <= most_ranks_of_a_job) return size;
  report_invalid_size();
  return 0;
}

std::uint32_t KinetoReader::group_of(const Event& event) {
  const Event::Arguments& arguments = event.arguments;
  if (arguments.group.empty()) return 0;
  std::string text(arguments.group);
  const std::vector<std::int64_t> ranks = whole_numbers(arguments.group_ranks);
  // Two halves of a world may both be named "1"; their ranks distinguish them.
  if (!ranks.empty()) text.append(" ").append(arguments.group_ranks);
  const std::uint32_t group = rank_.names.intern(text);
  if (!ranks.empty()) rank_.group_ranks.try_emplace(group, ranks);
  return group;
}

void KinetoReader::metadata(const Event& event) {
  // Devices also appear as processes, with small numbers like those in a container.
  if (event.name == "process_name" && !event.arguments.label.empty())
    processes_.try_emplace(number_of(event.pid), event.arguments.label);
}

std::int64_t KinetoReader::number_of(std::string_view id) {
  std::int64_t number = 0;
  const char* end = id.data() + id.size();
  const auto [stop, error] = std::from_chars(id.data(), end, number);
  if (error == std::errc{} && stop == end) return number;
  // Negative numbers are not used by real threads.
  return odd_ids_.try_emplace(std::string(id), -1 - static_cast<std::int64_t>(odd_ids_.size())).first->second;
}

// A stream may be given as an address. Each gets a number of its own that fits.
std::int32_t KinetoReader::short_number(std::int64_t number) {
  if (number < INT32_MIN || number > INT32_MAX) number = number_of(std::to_string(number) + " is too long");
  return static_cast<std::int32_t>(std::max<std::int64_t>(number, INT32_MIN));
}

void KinetoReader::member(std::string_view key, std::string_view text, std::uint64_t offset) {
  const json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) return refuse("a member that is not JSON", offset);
  const auto whole = [](const json& object, const char* name) -> std::optional<std::int64_t> {
    const auto found = object.find(name);
    if (found == object.end() || !found->is_number_integer()) return std::nullopt;
    if (found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    return found->get<std::int64_t>();
  };
  if (key == "distributedInfo" && value.is_object()) {
    const auto within = [&](const char* name, std::int64_t least) {
      std::optional<std::int64_t> number = whole(value, name);
      if (value.contains(name) && (!number || *number < least || *number > most_ranks_of_a_job)) {
        refuse("a distributedInfo with an invalid rank or world_size", offset);
        number.reset();
      }
      return number;
    };
    rank_.rank = within("rank", 0);
    rank_.world_size = within("world_size", 1);
    if (const auto backend = value.find("backend"); backend != value.end() && backend->is_string())
      rank_.backend = lower(backend->get<std::string>());
    if (const auto nccl = value.find("nccl_version"); nccl != value.end() && nccl->is_string())
      rank_.versions["nccl"] = nccl->get<std::string>();
  } else if (key == "deviceProperties" && value.is_array()) {
    for (const json& device : value)
      if (device.is_object()) {
        const auto name = device.find("name");
        if (name != device.end() && name->is_string()) rank_.devices.push_back(name->get<std::string>());
      }
  } else if (key == "baseTimeNanoseconds" && value.is_number_integer()) {
    const json object{{"base", value}};
    const std::optional<std::int64_t> base_ns = whole(object, "base");
    if (!base_ns || *base_ns < 0 || *base_ns >= latest_ns)
      return refuse("an invalid baseTimeNanoseconds: times are used as relative times", offset);
    rank_.base_ns = *base_ns;
  } else if ((key == "schemaVersion" || key == "cuda_runtime_version" || key == "cuda_driver_version") &&
             value.is_number_integer()) {
    rank_.versions[std::string(key)] = value.dump();
  }
}

std::int64_t KinetoReader::forwards_from_ns() const {
  std::int64_t from_ns = INT64_MIN;
  for (const Span& forward : rank_.forwards)
    if (from_ns == INT64_MIN || forward.start_ns < from_ns) from_ns = forward.start_ns;
  return from_ns;
}

// The batch size comes from the first operation of the first forward, which the file may hold after later operations.
// So one operation after the start of the first forward is kept, and before it the earliest.
void KinetoReader::add_batch(std::int64_t start_ns, std::int64_t batch) {
  batches_.try_emplace(start_ns, batch);
  if (batches_.size() <= most_batches) return;
  const std::int64_t from_ns = forwards_from_ns();
  auto later = batches_.lower_bound(from_ns);
  if (from_ns == INT64_MIN || later == batches_.end())
    later = std::next(batches_.begin(), most_batches / 2);
  else
    ++later;
  batches_.erase(later, batches_.end());
  if (batches_.size() > most_batches / 2 + 1)  // the operation kept for the first forward stays
    batches_.erase(std::next(batches_.begin(), most_batches / 2), std::prev(batches_.end()));
}

void KinetoReader::finish() {
  if (const auto process = processes_.find(rank_.pid); process != processes_.end()) rank_.process = process->second;
  raw_.flush();
  rank_.events = taken_;
  if (const auto first = batches_.lower_bound(forwards_from_ns()); first != batches_.end()) rank_.batch = first->second;
}

}  // namespace ddpprof::import
