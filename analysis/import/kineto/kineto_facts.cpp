// Facts that a trace holds besides its events, and checks of numbers.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>

#include "analysis/import/kineto/kineto_reader.hpp"
#include "analysis/import/kineto/read_job_facts.hpp"
#include "analysis/import/kineto/repeated_events.hpp"
#include "analysis/import/kineto/shapes.hpp"
#include "analysis/import/trace/checked.hpp"

namespace ddpprof::import {

using nlohmann::json;

namespace {

constexpr std::int64_t most_listed_ranks = 4096;  // members of a group that are listed one by one

// Names and labels of processes that stand for devices: "Ascend Hardware", "NPU", "GPU 0", "Communication(HCCL)".
bool names_a_device(std::string_view text) {
  for (const std::string_view part : {"Ascend Hardware", "HCCL", "NPU", "GPU", "XPU", "HPU", "MTIA", "TPU"})
    if (text.find(part) != std::string_view::npos) return true;
  return false;
}

}  // namespace

// Examples of CUDA, HIP, SYCL, CANN: cudaLaunchKernelExC, hipModuleLaunchKernel, urEnqueueKernelLaunch,
// aclrtLaunchKernel.
bool is_device_launch(std::string_view call) {
  for (const std::string_view part :
       {"LaunchKernel", "launchKernel", "KernelLaunch", "LaunchCooperative", "GraphLaunch", "aclrtLaunch", "rtKernel"})
    if (call.find(part) != std::string_view::npos) return true;
  return false;
}

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
  std::vector<std::int64_t> ranks = whole_numbers(arguments.group_ranks);
  const std::int64_t stride = arguments.group_stride.value_or(0), size = arguments.group_size.value_or(0);
  if (ranks.empty() && arguments.group_start >= 0 && stride > 0 && size > 0 && size <= most_listed_ranks &&
      *arguments.group_start + (size - 1) * stride < most_ranks_of_a_job)
    for (std::int64_t i = 0; i < size; ++i) ranks.push_back(*arguments.group_start + i * stride);
  if (arguments.group.empty() && ranks.empty() && arguments.communicator.empty()) return 0;
  std::string text(arguments.group);
  // Groups without a name are distinguished by the communicator's number, which is equal on all its ranks.
  if (arguments.group.empty() && ranks.empty()) text.append("communicator ").append(arguments.communicator);
  // Two halves of a world may both be named "1"; their ranks distinguish them.
  if (!ranks.empty()) text.append(" ").append(list_text(ranks));
  const std::uint32_t group = rank_.names.intern(text);
  if (!ranks.empty()) rank_.group_ranks.try_emplace(group, ranks);
  GroupText& named = rank_.group_texts[group];
  if (named.name.empty()) named.name = arguments.group;
  if (named.description.empty()) named.description = arguments.group_description;
  return group;
}

ingest::CallDetails KinetoReader::details_of(const Event::Arguments& arguments, CollectiveOp op) {
  ingest::CallDetails details;
  details.asynchronous = arguments.asynchronous;
  const std::optional<std::int64_t> peer = op == CollectiveOp::send      ? arguments.target_rank
                                           : op == CollectiveOp::receive ? arguments.source_rank
                                                                         : std::nullopt;
  if (peer >= 0 && peer < most_ranks_of_a_job) details.peer = peer;
  double largest = 1.0;
  for (const std::string_view list : {arguments.in_splits, arguments.out_splits}) {
    const std::vector<std::int64_t> parts = whole_numbers(list);
    double sum = 0.0, most = 0.0;
    for (const std::int64_t part : parts) {
      sum += static_cast<double>(part);
      most = std::max(most, static_cast<double>(part));
    }
    if (sum > 0.0) largest = std::max(largest, most * static_cast<double>(parts.size()) / sum);
  }
  if (largest > 1.0) details.largest_split = largest;
  return details;
}

// Sets names and descriptions of groups that only distributedInfo has, by their ranks or their name.
void KinetoReader::describe_groups() {
  rank_.one_group = configured_groups_.size() == 1;
  for (auto& [group, text] : rank_.group_texts) {
    const auto ranks = rank_.group_ranks.find(group);
    for (const ConfiguredGroup& configured : configured_groups_) {
      const bool by_ranks = ranks != rank_.group_ranks.end() && !configured.ranks.empty();
      if (by_ranks ? configured.ranks != ranks->second : text.name.empty() || configured.text.name != text.name)
        continue;
      if (by_ranks && !text.name.empty() && !configured.text.name.empty() && configured.text.name != text.name)
        continue;
      if (text.name.empty()) text.name = configured.text.name;
      if (text.description.empty()) text.description = configured.text.description;
    }
  }
}

void KinetoReader::metadata(const Event& event) {
  // Devices also appear as processes, with small numbers like those in a container.
  if (event.name == "process_name" && !event.arguments.label.empty())
    processes_.try_emplace(number_of(event.pid), event.arguments.label);
  if (event.name == "process_labels" && !event.arguments.label.empty())
    process_labels_.try_emplace(number_of(event.pid), event.arguments.label);
}

void KinetoReader::unread_event(const Event& event) {
  if (event.phase == 'X' && is_device_launch(event.name)) count_launch(event.name);
  Unread& unread = unread_[number_of(event.pid)];
  const Event::Arguments& arguments = event.arguments;
  ++(arguments.device || arguments.stream ? unread.on_device : unread.others);
  if (unread.category.empty()) unread.category = event.category;
}

void KinetoReader::count_launch(std::string_view name) {
  ++rank_.device_launches;
  if (rank_.device_launch.empty()) rank_.device_launch = name;
}

// A process of the file stands for a device, or for a part of its work.
void KinetoReader::count_unread_devices() {
  const auto text_of = [](const std::map<std::int64_t, std::string>& texts, std::int64_t pid) {
    const auto found = texts.find(pid);
    return found == texts.end() ? std::string() : found->second;
  };
  for (const auto& [pid, unread] : unread_) {
    const std::string name = text_of(processes_, pid), label = text_of(process_labels_, pid);
    const bool device = names_a_device(name) || names_a_device(label);
    const std::int64_t count = unread.on_device + (device ? unread.others : 0);
    if (count == 0) continue;
    rank_.device_events_not_read += count;
    const std::string& who = !name.empty() ? name : !label.empty() ? label : unread.category;
    rank_.unread_device += (rank_.unread_device.empty() ? "" : ", ") + (who.empty() ? "unnamed processes" : who);
  }
}

void KinetoReader::mark_process(const Event& event) {
  if (event.pid.empty()) return;
  if (!last_marks_ || event.pid != last_marked_pid_) {
    last_marked_pid_ = event.pid;
    last_marks_ = &marked_processes_[number_of(event.pid)];
  }
  ++*last_marks_;
}

void KinetoReader::mark_step(const Event& event, std::int64_t number, Span time) {
  const auto [found, fresh] = steps_.try_emplace(number, NumberedStep{time, number_of(event.tid)});
  const NumberedStep& first = found->second;
  if (!fresh && first.tid != number_of(event.tid) && time.start_ns < first.time.end_ns &&
      first.time.start_ns < time.end_ns)
    ++simultaneous_steps_;
}

std::string KinetoReader::several_ranks() const {
  // Ranks do about the same work. A single odd process id is damage.
  std::int64_t most = 0, alike = 0;
  for (const auto& [pid, marks] : marked_processes_) most = std::max(most, marks);
  std::string who;
  for (const auto& [pid, marks] : marked_processes_) {
    if (2 * marks < most) continue;
    const auto odd = std::find_if(odd_ids_.begin(), odd_ids_.end(), [&](const auto& id) { return id.second == pid; });
    who += (++alike == 1 ? "" : " and ") + (odd == odd_ids_.end() ? std::to_string(pid) : odd->first);
  }
  if (alike > 1) return "it has the training of " + std::to_string(alike) + " processes: " + who;
  if (other_ranks_ > 0) return "it has distributedInfo of several ranks";
  if (2 * simultaneous_steps_ > static_cast<std::int64_t>(steps_.size()))
    return "two of its threads run steps with the same number at the same time";
  return "";
}

// Returns true if a process group of distributedInfo, or the groups of most collectives, are larger than a job of
// `world_size` ranks.
bool KinetoReader::groups_exceed(std::int64_t world_size) const {
  std::int64_t sized = 0, larger = 0;
  const auto add = [&](const auto& collective) {
    if (collective.group_size < 1) return;
    ++sized;
    larger += collective.group_size > world_size ? 1 : 0;
  };
  std::ranges::for_each(rank_.calls, add);
  std::ranges::for_each(rank_.runs, add);
  return configured_size_ > world_size || 2 * larger > sized;
}

// Groups of collectives say how many ranks there are; the one rank that is in all groups is the file's.
void KinetoReader::set_identity_by_groups() {
  std::vector<std::vector<std::int64_t>> groups;
  for (const ConfiguredGroup& group : configured_groups_)
    if (!group.ranks.empty()) groups.push_back(group.ranks);
  for (const auto& [group, ranks] : rank_.group_ranks) groups.push_back(ranks);
  std::int64_t world = configured_size_;
  for (const std::vector<std::int64_t>& ranks : groups)
    if (!ranks.empty())
      world =
          std::max({world, static_cast<std::int64_t>(ranks.size()), *std::max_element(ranks.begin(), ranks.end()) + 1});
  for (const CollectiveCall& call : rank_.calls) world = std::max(world, call.group_size);
  for (const CollectiveRun& run : rank_.runs) world = std::max(world, run.group_size);
  if (world < 1 || world > most_ranks_of_a_job) return;
  if (rank_.world_size && *rank_.world_size < world && groups_exceed(*rank_.world_size)) {
    rank_.contradicted_world_size = *rank_.world_size;
    if (*rank_.world_size == 1) rank_.rank.reset();
    rank_.world_size.reset();
    rank_.world_size_stated = false;
  }
  if (!rank_.world_size) {
    rank_.world_size = world;
    rank_.identity_by_collectives = true;
  }
  if (rank_.rank || groups.empty()) return;
  std::set<std::int64_t> common(groups.front().begin(), groups.front().end());
  for (const std::vector<std::int64_t>& ranks : groups) {
    const std::set<std::int64_t> members(ranks.begin(), ranks.end());
    std::erase_if(common, [&](std::int64_t rank) { return !members.contains(rank); });
  }
  if (common.size() != 1 || *common.begin() < 0 || *common.begin() >= *rank_.world_size) return;
  rank_.rank = *common.begin();
  rank_.identity_by_collectives = true;
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
    const std::optional<std::int64_t> rank = within("rank", 0);
    if (rank && rank_.rank && *rank != *rank_.rank) ++other_ranks_;
    rank_.rank = rank;
    rank_.world_size = within("world_size", 1);
    rank_.world_size_stated = rank_.world_size.has_value();
    if (const auto groups = value.find("pg_config"); groups != value.end() && groups->is_array())
      for (const json& group : *groups) {
        if (!group.is_object()) continue;
        const std::int64_t size = whole(group, "pg_size").value_or(0);
        if (size > 0 && size <= most_ranks_of_a_job) configured_size_ = std::max(configured_size_, size);
        ConfiguredGroup configured;
        if (const auto ranks = group.find("ranks"); ranks != group.end() && ranks->is_array())
          configured.ranks = whole_numbers(ranks->dump());
        const auto text = [&](const char* name) {
          const auto found = group.find(name);
          return found != group.end() && found->is_string() ? found->get<std::string>() : std::string();
        };
        configured.text = {text("pg_name"), text("pg_desc")};
        configured_groups_.push_back(std::move(configured));
      }
    if (const auto backend = value.find("backend"); backend != value.end() && backend->is_string())
      rank_.backend = lower(backend->get<std::string>());
    if (const auto nccl = value.find("nccl_version"); nccl != value.end() && nccl->is_string())
      rank_.versions["nccl"] = nccl->get<std::string>();
  } else if (key == "ddpprofJob") {
    rank_.job = read_job_facts(value);
    if (!rank_.job) refuse("a ddpprofJob of an unknown format", offset);
  } else if (key == "deviceProperties" && value.is_array()) {
    for (const json& device : value)
      if (device.is_object()) {
        const auto name = device.find("name");
        if (name != device.end() && name->is_string()) rank_.devices.push_back(name->get<std::string>());
      }
  } else if (key == "host_name" && value.is_string()) {
    rank_.host = value.get<std::string>();
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
void KinetoReader::add_batch(std::int64_t start_ns, OperationBatch batch) {
  // A layer's matrix product may start with the layer, after rounding.
  const auto [known, fresh] = batches_.try_emplace(start_ns, batch);
  if (!fresh && known->second.of_rows) known->second = batch;
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
  rank_.repeated_events = drop_repeated_events(rank_);
  if (const auto process = processes_.find(rank_.pid); process != processes_.end()) rank_.process = process->second;
  raw_.flush();
  rank_.events = taken_;
  count_unread_devices();
  if (rank_.job && rank_.job->last_step > 0)
    std::erase_if(rank_.steps, [&](const StepMark& step) { return step.number > rank_.job->last_step; });
  set_identity_by_groups();
  describe_groups();
  set_batch();
}

// The batch of the most steps, the larger one of two. Operations of later steps may have been left out.
void KinetoReader::set_batch() {
  std::vector<Span> forwards = rank_.forwards;
  std::ranges::sort(forwards, {}, &Span::start_ns);
  std::map<std::int64_t, std::int64_t> steps;  // by batch
  std::set<std::int64_t> of_rows;              // batches
  for (const StepMark& step : rank_.steps) {
    const auto forward = std::ranges::lower_bound(forwards, step.time.start_ns, {}, &Span::start_ns);
    const bool inside = forward != forwards.end() && forward->start_ns < step.time.end_ns;
    const auto first = batches_.lower_bound(inside ? forward->start_ns : step.time.start_ns);
    if (first == batches_.end() || first->first >= step.time.end_ns) continue;
    ++steps[first->second.samples];
    if (first->second.of_rows) of_rows.insert(first->second.samples);
  }
  std::int64_t most = 0;
  for (const auto& [batch, count] : steps)
    if (count >= most) {
      most = count;
      rank_.batch = batch;
      rank_.batch_of_rows = of_rows.contains(batch);
    }
  if (!steps.empty()) {
    rank_.smallest_batch = steps.begin()->first;
    rank_.largest_batch = steps.rbegin()->first;
  } else if (const auto first = batches_.lower_bound(forwards_from_ns()); first != batches_.end()) {
    rank_.batch = first->second.samples;
    rank_.batch_of_rows = first->second.of_rows;
  }
}

}  // namespace ddpprof::import
