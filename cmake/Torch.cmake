# LibTorch and NVIDIA's headers as imported targets.
#
# Two layouts are supported: the PyPI wheel (DDPPROF_TORCH_PYTHON names its interpreter, or DDPPROF_SITE_PACKAGES its
# folder), where CUDA, NCCL, CUPTI and NVTX come as packages beside it; and an unpacked LibTorch in CMAKE_PREFIX_PATH
# with a CUDA Toolkit. find_package(Torch) is avoided: with a CUDA wheel it requires nvcc, which this build does not need.

set(DDPPROF_TORCH_PYTHON "" CACHE FILEPATH "Python interpreter whose environment holds the torch wheel")
set(DDPPROF_SITE_PACKAGES "" CACHE PATH "site-packages folder that holds the torch wheel")

# With another interpreter, the paths from the previous environment are removed.
if(DEFINED DDPPROF_TORCH_PYTHON_SEARCHED AND NOT DDPPROF_TORCH_PYTHON STREQUAL DDPPROF_TORCH_PYTHON_SEARCHED)
  foreach(found DDPPROF_SITE_PACKAGES DDPPROF_TORCH_INCLUDE DDPPROF_TORCH_CPU DDPPROF_TORCH_CUDA DDPPROF_C10
                DDPPROF_C10_CUDA DDPPROF_NVTX_INCLUDE DDPPROF_CUPTI_INCLUDE DDPPROF_CUDART_INCLUDE
                DDPPROF_CRT_INCLUDE DDPPROF_CCCL_INCLUDE
                DDPPROF_NCCL_INCLUDE)
    unset(${found} CACHE)
  endforeach()
endif()
set(DDPPROF_TORCH_PYTHON_SEARCHED "${DDPPROF_TORCH_PYTHON}" CACHE INTERNAL "")

if(NOT DDPPROF_SITE_PACKAGES AND DDPPROF_TORCH_PYTHON)
  execute_process(COMMAND ${DDPPROF_TORCH_PYTHON} -c "import sysconfig; print(sysconfig.get_paths()['platlib'])"
                  OUTPUT_VARIABLE platlib OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(DDPPROF_SITE_PACKAGES ${platlib} CACHE PATH "" FORCE)
endif()

set(torch_hints)
if(DDPPROF_SITE_PACKAGES)
  list(APPEND torch_hints ${DDPPROF_SITE_PACKAGES}/torch)
endif()
find_path(DDPPROF_TORCH_INCLUDE torch/csrc/distributed/c10d/reducer.hpp HINTS ${torch_hints} PATH_SUFFIXES include)
find_library(DDPPROF_TORCH_CPU torch_cpu HINTS ${torch_hints} PATH_SUFFIXES lib)

set(nvidia_include_hints)
set(nvidia_library_hints)
if(DDPPROF_SITE_PACKAGES)
  file(GLOB nvidia_include_hints ${DDPPROF_SITE_PACKAGES}/nvidia/*/include)
  file(GLOB nvidia_library_hints ${DDPPROF_SITE_PACKAGES}/nvidia/*/lib)
endif()
find_package(CUDAToolkit QUIET)  # only for its paths, if a toolkit is installed
list(APPEND nvidia_include_hints ${CUDAToolkit_INCLUDE_DIRS})

find_path(DDPPROF_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h HINTS ${nvidia_include_hints} NO_DEFAULT_PATH)
find_path(DDPPROF_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h)
find_path(DDPPROF_CUPTI_INCLUDE cupti.h HINTS ${nvidia_include_hints} NO_DEFAULT_PATH)
find_path(DDPPROF_CUPTI_INCLUDE cupti.h HINTS ${CUDAToolkit_TARGET_DIR} PATH_SUFFIXES extras/CUPTI/include)
find_path(DDPPROF_CUDART_INCLUDE cuda_runtime_api.h HINTS ${nvidia_include_hints} NO_DEFAULT_PATH)
find_path(DDPPROF_CUDART_INCLUDE cuda_runtime_api.h)
# cuda_runtime_api.h includes crt/, torch's CUDA headers include cuda_fp16.h and so nv/target: NVIDIA has separate packages for both.
find_path(DDPPROF_CRT_INCLUDE crt/host_defines.h HINTS ${nvidia_include_hints} NO_DEFAULT_PATH)
find_path(DDPPROF_CRT_INCLUDE crt/host_defines.h)
find_path(DDPPROF_CCCL_INCLUDE nv/target HINTS ${nvidia_include_hints} PATH_SUFFIXES cccl NO_DEFAULT_PATH)
find_path(DDPPROF_CCCL_INCLUDE nv/target PATH_SUFFIXES cccl)
# torch's CUDA headers include these libraries' headers, too, which CUDA 12 has in packages of their own.
foreach(library_header CUBLAS:cublas_v2.h CUSOLVER:cusolverDn.h CUSPARSE:cusparse.h)
  string(REPLACE ":" ";" library_header ${library_header})
  list(GET library_header 0 library)
  list(GET library_header 1 header)
  find_path(DDPPROF_${library}_INCLUDE ${header} HINTS ${nvidia_include_hints} NO_DEFAULT_PATH)
  find_path(DDPPROF_${library}_INCLUDE ${header})
endforeach()
find_path(DDPPROF_NCCL_INCLUDE nccl.h HINTS ${nvidia_include_hints} NO_DEFAULT_PATH)
find_path(DDPPROF_NCCL_INCLUDE nccl.h)
find_path(DDPPROF_GLOO_INCLUDE gloo/transport/device.h)

if(NOT DDPPROF_NVTX_INCLUDE)
  message(FATAL_ERROR "NVTX 3 headers (nvtx3/nvToolsExtPayload.h) not found. Expected: the torch wheel's nvidia-nvtx "
                      "package or a CUDA Toolkit. Set DDPPROF_TORCH_PYTHON or CMAKE_PREFIX_PATH, or run scripts/quickstart.")
endif()
add_library(ddpprof_nvtx INTERFACE)
add_library(ddpprof::nvtx ALIAS ddpprof_nvtx)
target_include_directories(ddpprof_nvtx SYSTEM INTERFACE ${DDPPROF_NVTX_INCLUDE})
target_link_libraries(ddpprof_nvtx INTERFACE ${CMAKE_DL_LIBS})

set(DDPPROF_WITH_CUDA OFF)
if(NOT DDPPROF_CUDA STREQUAL OFF)
  set(cuda_missing)
  foreach(part CUPTI CUDART CRT CCCL NCCL)
    if(NOT DDPPROF_${part}_INCLUDE)
      list(APPEND cuda_missing ${part})
    endif()
  endforeach()
  find_library(DDPPROF_TORCH_CUDA torch_cuda HINTS ${torch_hints} PATH_SUFFIXES lib)
  find_library(DDPPROF_C10_CUDA c10_cuda HINTS ${torch_hints} PATH_SUFFIXES lib)
  if(DDPPROF_WORKER AND NOT DDPPROF_TORCH_CUDA)
    list(APPEND cuda_missing "libtorch_cuda")
  endif()
  if(NOT cuda_missing)
    set(DDPPROF_WITH_CUDA ON)
  elseif(DDPPROF_CUDA STREQUAL ON)
    message(FATAL_ERROR "DDPPROF_CUDA=ON, but not found: ${cuda_missing}. Install the CUDA Toolkit with CUPTI, NCCL and a "
                        "CUDA build of LibTorch, or set DDPPROF_CUDA=AUTO to build without them.")
  endif()
endif()
message(STATUS "ddpprof: CUDA, NCCL and CUPTI code: ${DDPPROF_WITH_CUDA}")

add_library(ddpprof_cuda_headers INTERFACE)
add_library(ddpprof::cuda_headers ALIAS ddpprof_cuda_headers)
if(DDPPROF_WITH_CUDA)
  target_include_directories(ddpprof_cuda_headers SYSTEM INTERFACE
                             ${DDPPROF_CUPTI_INCLUDE} ${DDPPROF_CUDART_INCLUDE} ${DDPPROF_CRT_INCLUDE}
                             ${DDPPROF_CCCL_INCLUDE} ${DDPPROF_NCCL_INCLUDE})
  foreach(library CUBLAS CUSOLVER CUSPARSE)
    if(DDPPROF_${library}_INCLUDE)
      target_include_directories(ddpprof_cuda_headers SYSTEM INTERFACE ${DDPPROF_${library}_INCLUDE})
    endif()
  endforeach()
  target_compile_definitions(ddpprof_cuda_headers INTERFACE DDPPROF_WITH_CUDA=1)
endif()

set(DDPPROF_TORCH_FOUND OFF)
if(DDPPROF_WORKER)
  if(NOT DDPPROF_TORCH_INCLUDE OR NOT DDPPROF_TORCH_CPU)
    message(FATAL_ERROR "LibTorch with c10d headers not found. Set DDPPROF_TORCH_PYTHON to the interpreter of an environment "
                        "with torch 2.11, or CMAKE_PREFIX_PATH to an unpacked LibTorch; or DDPPROF_WORKER=OFF.")
  endif()
  if(NOT DDPPROF_GLOO_INCLUDE)
    message(FATAL_ERROR "gloo's headers not found (Debian: libgloo-dev). ProcessGroupGloo.hpp includes them; the code itself "
                        "comes from libtorch_cpu.")
  endif()
  set(DDPPROF_TORCH_FOUND ON)
  get_filename_component(torch_library_dir ${DDPPROF_TORCH_CPU} DIRECTORY)
  find_library(DDPPROF_C10 c10 HINTS ${torch_library_dir} NO_DEFAULT_PATH)
  add_library(ddpprof_torch INTERFACE)
  add_library(ddpprof::torch ALIAS ddpprof_torch)
  target_include_directories(ddpprof_torch SYSTEM INTERFACE
    ${DDPPROF_TORCH_INCLUDE} ${DDPPROF_TORCH_INCLUDE}/torch/csrc/api/include)
  target_compile_definitions(ddpprof_torch INTERFACE USE_C10D_GLOO USE_DISTRIBUTED)
  target_link_libraries(ddpprof_torch INTERFACE ${DDPPROF_TORCH_CPU} ${DDPPROF_C10} Threads::Threads)
  if(NOT DDPPROF_WHEEL_LIBRARIES)
    target_link_options(ddpprof_torch INTERFACE -Wl,-rpath,${torch_library_dir})
  endif()
  if(DDPPROF_WITH_CUDA)
    target_compile_definitions(ddpprof_torch INTERFACE USE_C10D_NCCL USE_CUDA)
    # --no-as-needed: libtorch_cuda registers its kernels when it is loaded; no symbol refers to it.
    target_link_libraries(ddpprof_torch INTERFACE ddpprof::cuda_headers
                          -Wl,--no-as-needed ${DDPPROF_TORCH_CUDA} ${DDPPROF_C10_CUDA} -Wl,--as-needed)
    foreach(dir IN LISTS nvidia_library_hints)
      target_link_options(ddpprof_torch INTERFACE $<$<NOT:$<BOOL:${DDPPROF_WHEEL_LIBRARIES}>>:-Wl,-rpath,${dir}>
                          -Wl,-rpath-link,${dir})
    endforeach()
  endif()
endif()
