// Opens CUPTI at run time.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "tracer/format/cupti_versions.hpp"
#include "tracer/record/cupti/api.hpp"

namespace ddpprof::record {
namespace {

// cuptiActivityEnableDriverApi and cuptiActivityEnableRuntimeApi. Declared here because the headers of CUPTI 11.8 and
// 12.1 do not have them.
using EnableCall = CUptiResult(CUpti_CallbackId cbid, std::uint8_t enable);

// Returns the function of the driver that the process has loaded. Does not load a driver.
using DriverGetVersion = int(int* version);
DriverGetVersion* find_driver_get_version() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : reinterpret_cast<DriverGetVersion*>(dlsym(driver, "cuDriverGetVersion"));
}

std::optional<int> ask_driver(DriverGetVersion* get_version) {
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0 || version <= 0) return std::nullopt;
  return version;
}

class CuptiLibrary final : public CuptiApi {
 public:
  explicit CuptiLibrary(void* handle) : handle_(handle) {
    find(get_version_, "cuptiGetVersion");
    find(get_timestamp_, "cuptiGetTimestamp");
    find(register_callbacks_, "cuptiActivityRegisterCallbacks");
    find(register_timestamp_callback_, "cuptiActivityRegisterTimestampCallback");
    find(set_thread_id_type_, "cuptiSetThreadIdType");
    find(enable_, "cuptiActivityEnable");
    find(enable_driver_api_, "cuptiActivityEnableDriverApi");
    find(enable_runtime_api_, "cuptiActivityEnableRuntimeApi");
    find(flush_all_, "cuptiActivityFlushAll");
    find(next_record_, "cuptiActivityGetNextRecord");
    find(dropped_records_, "cuptiActivityGetNumDroppedRecords");
    find(result_string_, "cuptiGetResultString");
  }

  CUptiResult get_version(std::uint32_t& version) override { return call(get_version_, &version); }
  CUptiResult get_timestamp(std::uint64_t& timestamp_ns) override { return call(get_timestamp_, &timestamp_ns); }
  CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                                 CUpti_BuffersCallbackCompleteFunc completed) override {
    return call(register_callbacks_, requested, completed);
  }
  CUptiResult register_timestamp_callback(CUpti_TimestampCallbackFunc function) override {
    return call(register_timestamp_callback_, function);
  }
  CUptiResult use_system_thread_ids() override {
    return call(set_thread_id_type_, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  }
  CUptiResult enable(CUpti_ActivityKind kind) override { return call(enable_, kind); }
  CUptiResult enable_driver_call(CUpti_CallbackId cbid) override {
    return call(enable_driver_api_, cbid, std::uint8_t{1});
  }
  CUptiResult disable_runtime_call(CUpti_CallbackId cbid) override {
    return call(enable_runtime_api_, cbid, std::uint8_t{0});
  }
  CUptiResult flush_all(std::uint32_t flag) override { return call(flush_all_, flag); }
  CUptiResult next_record(std::uint8_t* buffer, std::size_t valid_bytes, CUpti_Activity** record) override {
    return call(next_record_, buffer, valid_bytes, record);
  }
  CUptiResult dropped_records(CUcontext context, std::uint32_t stream, std::size_t& count) override {
    return call(dropped_records_, context, stream, &count);
  }
  std::string message(CUptiResult result) override {
    const char* text = nullptr;
    if (call(result_string_, result, &text) != CUPTI_SUCCESS || text == nullptr) return "no description";
    return text;
  }
  std::optional<int> driver_version() override { return ask_driver(driver_get_version_); }

 private:
  template <typename Function>
  void find(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(dlsym(handle_, name));
  }
  template <typename Function, typename... Arguments>
  static CUptiResult call(Function* function, Arguments... arguments) {
    return function == nullptr ? CUPTI_ERROR_NOT_SUPPORTED : function(arguments...);
  }

  void* handle_;  // never closed, because CUPTI stays attached to the driver
  decltype(cuptiGetVersion)* get_version_;
  decltype(cuptiGetTimestamp)* get_timestamp_;
  decltype(cuptiActivityRegisterCallbacks)* register_callbacks_;
  decltype(cuptiActivityRegisterTimestampCallback)* register_timestamp_callback_;
  decltype(cuptiSetThreadIdType)* set_thread_id_type_;
  decltype(cuptiActivityEnable)* enable_;
  EnableCall* enable_driver_api_;
  EnableCall* enable_runtime_api_;
  decltype(cuptiActivityFlushAll)* flush_all_;
  decltype(cuptiActivityGetNextRecord)* next_record_;
  decltype(cuptiActivityGetNumDroppedRecords)* dropped_records_;
  decltype(cuptiGetResultString)* result_string_;
  DriverGetVersion* driver_get_version_ = find_driver_get_version();
};

std::vector<std::string> loaded_libraries() {
  std::vector<std::string> paths;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        if (info->dlpi_name != nullptr) static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
        return 0;
      },
      &paths);
  return paths;
}

// Returns the names and paths of libcupti to try, best first.
std::vector<std::string> candidates() {
  std::vector<std::string> out;
  const std::vector<std::string> loaded = loaded_libraries();
  const auto file_of = [](const std::string& path) { return path.substr(path.rfind('/') + 1); };
  for (const std::string& path : loaded) {
    if (file_of(path).starts_with("libcupti.so")) out.push_back(path);
  }
  for (const std::string& path : loaded) {  // CUPTI has the major version of the CUDA runtime
    const std::string file = file_of(path);
    if (!file.starts_with("libcudart.so.")) continue;
    const std::string major = file.substr(13, file.find('.', 13) - 13);
    const std::string folder = path.substr(0, path.size() - file.size());
    out.push_back(folder + "libcupti.so." + major);                        // PyPI's packages, from CUDA 13
    out.push_back(folder + "../../cuda_cupti/lib/libcupti.so." + major);   // PyPI's packages for CUDA 12
    out.push_back(folder + "../extras/CUPTI/lib64/libcupti.so." + major);  // the toolkit
    out.push_back("libcupti.so." + major);
  }
  std::vector<std::string> names = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so",
                                    "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
  // A CUPTI of a later CUDA than the driver's cannot connect to the driver: those come last.
  if (const std::optional<int> driver = ask_driver(find_driver_get_version())) {
    const std::uint32_t major = trace::cuda_of_driver(*driver).major;
    const auto too_new = [&](const std::string& name) {
      return (name == "libcupti.so.13" && major < 13) || (name == "libcupti.so.12" && major < 12);
    };
    std::stable_partition(names.begin(), names.end(), [&](const std::string& name) { return !too_new(name); });
  }
  out.insert(out.end(), names.begin(), names.end());
  return out;
}

// Functions without which no session can run.
constexpr std::array needed = {"cuptiActivityRegisterCallbacks", "cuptiActivityEnable", "cuptiActivityFlushAll",
                               "cuptiActivityGetNextRecord"};

}  // namespace

std::unique_ptr<CuptiApi> open_cupti(std::string& error) {
  std::string absent, unusable;
  for (const std::string& candidate : candidates()) {
    void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* said = dlerror();
      const std::string reason = said == nullptr ? candidate + " cannot be loaded" : said;
      // The error of a library that exists but does not load is more useful than "not found".
      std::string& first = reason.starts_with(candidate + ": cannot open") ? absent : unusable;
      if (first.empty()) first = reason;
      continue;
    }
    const auto* missing =
        std::find_if(needed.begin(), needed.end(), [&](const char* name) { return dlsym(handle, name) == nullptr; });
    if (missing == needed.end()) return std::make_unique<CuptiLibrary>(handle);
    if (unusable.empty()) unusable = candidate + " has no function " + *missing;
    dlclose(handle);
  }
  error = unusable.empty() ? absent : unusable;
  return nullptr;
}

}  // namespace ddpprof::record
