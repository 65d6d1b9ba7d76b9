#include "runner/host/gpu.hpp"

#include <dlfcn.h>

#include <charconv>
#include <set>
#include <sstream>

namespace ddpprof::host {
namespace {

Reading<std::string> read_models(const Host& host, const std::vector<std::string>& devices) {
  std::set<std::string> models;
  for (const std::string& device : devices) {
    const std::string path = "/proc/driver/nvidia/gpus/" + device + "/information";
    const Reading<std::string> text = host.text(path);
    const auto model = text ? field(*text, "Model") : std::nullopt;
    if (!model) return Reading<std::string>::unknown(text ? path + " has no Model" : text.why);
    models.insert(*model);
  }
  if (models.empty()) return Reading<std::string>::unknown("no device in /proc/driver/nvidia/gpus");
  std::string all;
  for (const std::string& model : models) all += (all.empty() ? "" : ", ") + model;
  return Reading<std::string>::of(all);
}

}  // namespace

Driver read_driver(const Host& host) {
  Driver driver;
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 …": the first word with a digit and a dot.
  const Reading<std::string> text = host.line("/proc/driver/nvidia/version");
  driver.version = Reading<std::string>::unknown(text ? "no version in '" + *text + "'" : text.why);
  std::istringstream words(text.value.value_or(""));
  for (std::string word; words >> word;) {
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) {
      driver.version = Reading<std::string>::of(word);
      break;
    }
  }
  const std::vector<std::string> devices = host.names("/proc/driver/nvidia/gpus");
  driver.devices = static_cast<std::int64_t>(devices.size());
  driver.models = read_models(host, devices);
  const Reading<std::string> params = host.text("/proc/driver/nvidia/params");
  const auto admin = params ? field(*params, "RmProfilingAdminOnly") : std::nullopt;
  const auto number = admin ? leading_number(*admin) : std::nullopt;
  if (number) {
    driver.profiling_for_administrators = Reading<bool>::of(*number != 0);
  } else {
    driver.profiling_for_administrators =
        Reading<bool>::unknown(params ? "/proc/driver/nvidia/params has no RmProfilingAdminOnly" : params.why);
  }
  return driver;
}

Rights read_rights(const Host& host) {
  Rights rights;
  const Reading<std::string> status = host.text("/proc/self/status");
  const auto missing = [&](const char* name) {
    return status ? std::string("/proc/self/status has no ") + name : status.why;
  };
  const auto effective = status ? field(*status, "CapEff") : std::nullopt;
  std::uint64_t bits = 0;
  const bool known =
      effective &&
      std::from_chars(effective->data(), effective->data() + effective->size(), bits, 16).ec == std::errc();
  constexpr unsigned sys_admin = 21;  // CAP_SYS_ADMIN, linux/capability.h
  rights.administrator =
      known ? Reading<bool>::of((bits >> sys_admin & 1) != 0) : Reading<bool>::unknown(missing("CapEff"));
  const auto tracer = status ? field(*status, "TracerPid") : std::nullopt;
  const auto pid = tracer ? leading_number(*tracer) : std::nullopt;
  rights.tracer = pid ? Reading<std::int64_t>::of(*pid) : Reading<std::int64_t>::unknown(missing("TracerPid"));
  return rights;
}

Reading<bool> cuda_loads(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* error = dlerror();
    return Reading<bool>::unknown(error != nullptr ? error : library + " cannot be loaded");
  }
  dlclose(handle);
  return Reading<bool>::of(true);
}

}  // namespace ddpprof::host
