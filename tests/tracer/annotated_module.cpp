// A second module of the annotated program that uses NVTX on its own, like a loaded library.
#include <nvtx3/nvToolsExt.h>

extern "C" __attribute__((visibility("default"))) void annotate_from_module() {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("shared domain");
  nvtxRangePushA("pushed by the module");
  nvtxRangePop();
  nvtxEventAttributes_t event = {};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "marked by the module";
  nvtxDomainMarkEx(domain, &event);
}
