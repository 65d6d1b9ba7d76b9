#include "tracer/record/cupti/advice.hpp"

#include "tracer/format/cupti_versions.hpp"

namespace ddpprof::record {

std::string describe(const CuptiVersions& versions) {
  std::string text;
  if (versions.cupti) {
    const auto cuda = trace::cuda_of_cupti(*versions.cupti);
    text = "CUPTI " + (cuda ? cuda->text() + " " : "") + "(API " + std::to_string(*versions.cupti) + ")";
  }
  if (versions.driver)
    text += (text.empty() ? "" : ", ") + ("driver up to CUDA " + trace::cuda_of_driver(*versions.driver).text());
  return text;
}

bool newer_than_driver(const CuptiVersions& versions) {
  const auto cuda = versions.cupti ? trace::cuda_of_cupti(*versions.cupti) : std::nullopt;
  return cuda && versions.driver && *cuda > trace::cuda_of_driver(*versions.driver);
}

std::string advice(CUptiResult result, const CuptiVersions& versions) {
  switch (static_cast<int>(result)) {  // plain numbers where older headers do not have the name
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "the driver allows this only for administrators (an old driver or an embedded platform; elsewhere "
             "activity "
             "records need no privileges): load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0, run as "
             "root or give the container CAP_SYS_ADMIN";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the hypervisor forbids tracing of this virtual GPU: ask its administrator to set enable_profiling=1 for "
             "the "
             "virtual GPU, or use a machine with the whole GPU";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return "this kind of virtual GPU cannot be traced: use a machine with the whole GPU";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_DISABLED:
    case CUPTI_ERROR_NOT_COMPATIBLE:
      return "another profiler holds CUPTI in this process: switch off torch.profiler, Nsight, cuda-gdb or a monitor "
             "that "
             "uses CUPTI for this run";
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return "an older profiling interface is in use in this process, or this GPU is not supported by this CUPTI";
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another process profiles this GPU: end it. To pause DCGM's profiling: dcgmi profile --pause";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "CUPTI found no memory: leave some of the GPU's and the host's memory free";
    case 41:  // CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED
      return "the GPU is in confidential computing mode, which forbids tracing: switch the mode off to measure";
    case 42:  // CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED
    case 44:  // CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED
      return "CUPTI does not support this kind of GPU: measure on another one";
    case 43:  // CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED
      return "this CUPTI cannot trace an instance of a divided GPU: use a newer CUPTI, or the whole GPU "
             "(nvidia-smi -mig 0)";
    case 45:  // CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED
      return "under WSL tracing needs WSL 2, Windows 11 and a driver of 525 or later";
    case CUPTI_ERROR_NOT_INITIALIZED:
      if (newer_than_driver(versions))
        return "the driver is older than this CUPTI: install a driver for CUDA " +
               trace::cuda_of_cupti(*versions.cupti)->text() + " or later, or use the CUPTI of CUDA " +
               trace::cuda_of_driver(*versions.driver).text() + " (its folder first in LD_LIBRARY_PATH)";
      return "CUPTI cannot connect to the driver: check that nvidia-smi lists a GPU. In a container, also check that "
             "the "
             "driver's libraries are available (NVIDIA_DRIVER_CAPABILITIES=compute,utility)";
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_KIND:
    case CUPTI_ERROR_API_NOT_IMPLEMENTED:
      return "this CUPTI or this GPU does not support these records: try a newer CUPTI";
    default:
      return newer_than_driver(versions)
                 ? "the driver is older than this CUPTI: install a newer driver, or use the CUPTI of CUDA " +
                       trace::cuda_of_driver(*versions.driver).text()
                 : "check that CUPTI's version fits the driver (nvidia-smi shows the newest CUDA it can serve)";
  }
}

}  // namespace ddpprof::record
