#include "tracer/record/nvtx/callbacks.hpp"

#include <unistd.h>

#include <cstring>

#include "tracer/record/nvtx/range.hpp"
#include "tracer/record/recorder/recorder.hpp"
#include "tracer/record/shard/clock.hpp"

namespace ddpprof::record {
namespace {

using trace::RecordType;

Names& names() { return Recorder::instance().names(); }

nvtxEventAttributes_t with_message(nvtxMessageType_t type, nvtxMessageValue_t message) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = type;
  attributes.message = message;
  return attributes;
}
nvtxEventAttributes_t with_message(const char* text) { return with_message(NVTX_MESSAGE_TYPE_ASCII, {.ascii = text}); }
nvtxEventAttributes_t with_message(const wchar_t* text) {
  return with_message(NVTX_MESSAGE_TYPE_UNICODE, {.unicode = text});
}

void mark_at(std::int64_t time_ns, nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const Entry entry;
  if (entry && keeps_mark(*entry, time_ns))
    write_event(*entry, RecordType::mark, read_event(*entry, domain_id(domain), attributes), time_ns);
}
void NVTX_API domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  mark_at(monotonic_ns(), domain, attributes);
}
void NVTX_API mark(const nvtxEventAttributes_t* attributes) { mark_at(monotonic_ns(), nullptr, attributes); }
template <typename Char>
void NVTX_API mark_text(const Char* text) {
  const std::int64_t time_ns = monotonic_ns();
  const nvtxEventAttributes_t attributes = with_message(text);
  mark_at(time_ns, nullptr, &attributes);
}

// If the payload carries the message, the payload must be read to find it.
std::string_view name_of(ThreadLog& log, nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes,
                         std::string& buffer) {
  const std::string_view name = message_of(attributes, buffer);
  const bool in_payload = name.empty() && attributes != nullptr && attributes->payloadType == NVTX_PAYLOAD_TYPE_EXT;
  return in_payload ? names().text(read_event(log, domain_id(domain), attributes).name_id) : name;
}

nvtxRangeId_t NVTX_API domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const Entry entry;
  if (!entry) return 0;
  return begin_start(
      *entry, [&] { return read_event(*entry, domain_id(domain), attributes); },
      [&](std::string& buffer) { return name_of(*entry, domain, attributes, buffer); });
}
nvtxRangeId_t NVTX_API start(const nvtxEventAttributes_t* attributes) { return domain_start(nullptr, attributes); }
template <typename Char>
nvtxRangeId_t NVTX_API start_text(const Char* text) {
  const nvtxEventAttributes_t attributes = with_message(text);
  return domain_start(nullptr, &attributes);
}
void NVTX_API domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  const std::int64_t time_ns = monotonic_ns();  // read first, so that the tracer's own time is outside the range
  const Entry entry;
  if (entry) write_range_end(*entry, domain_id(domain), id, time_ns);
}
void NVTX_API end(nvtxRangeId_t id) { domain_end(nullptr, id); }

int NVTX_API domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) {
  const Entry entry;
  if (!entry) return NVTX_NO_PUSH_POP_TRACKING;
  return begin_push(
      *entry, domain_id(domain), [&] { return read_event(*entry, domain_id(domain), attributes); },
      [&](std::string& buffer) { return name_of(*entry, domain, attributes, buffer); });
}
int NVTX_API push(const nvtxEventAttributes_t* attributes) { return domain_push(nullptr, attributes); }
template <typename Char>
int NVTX_API push_text(const Char* text) {
  const nvtxEventAttributes_t attributes = with_message(text);
  return domain_push(nullptr, &attributes);
}
int NVTX_API domain_pop(nvtxDomainHandle_t domain) {
  const std::int64_t time_ns = monotonic_ns();
  const Entry entry;
  return entry ? write_pop(*entry, domain_id(domain), time_ns) : NVTX_NO_PUSH_POP_TRACKING;
}
int NVTX_API pop() { return domain_pop(nullptr); }

std::uint32_t intern(ThreadLog& log, const char* text) { return text == nullptr ? 0 : names().intern(log, text); }
std::uint32_t intern(ThreadLog& log, const wchar_t* text) { return names().intern_wide(log, text); }

template <typename Char>
void NVTX_API domain_name_category(nvtxDomainHandle_t domain, uint32_t category, const Char* name) {
  const Entry entry;
  if (entry) names().name_category(*entry, domain_id(domain), category, intern(*entry, name));
}
template <typename Char>
void NVTX_API name_category(uint32_t category, const Char* name) {
  domain_name_category<Char>(nullptr, category, name);
}
template <typename Char>
void NVTX_API name_os_thread(uint32_t thread, const Char* name) {
  const Entry entry;
  if (entry) Recorder::instance().name_thread(*entry, thread, intern(*entry, name));
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }
std::string text_of(const wchar_t* text) { return text == nullptr ? "" : utf8(text); }

template <typename Char>
nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t, const Char* text) {
  const Entry entry;
  if (!entry) return nullptr;
  const InternedString* string = names().intern_string(*entry, text_of(text));
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<InternedString*>(string));
}
template <typename Char>
nvtxDomainHandle_t NVTX_API create_domain(const Char* name) {
  const Entry entry;
  if (!entry) return nullptr;
  return reinterpret_cast<nvtxDomainHandle_t>(names().create_domain(*entry, text_of(name)));
}
void NVTX_API destroy_domain(nvtxDomainHandle_t) {}  // kept: another module may hold the same domain

// Only resources that name a thread are recorded. The handle has no meaning.
nvtxResourceHandle_t NVTX_API create_resource(nvtxDomainHandle_t, nvtxResourceAttributes_t* attributes) {
  static char handle;
  const Entry entry;
  if (entry && attributes != nullptr && attributes->identifierType == NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE) {
    const auto os_tid = static_cast<std::int64_t>(attributes->identifier.ullValue);
    std::uint32_t name_id = 0;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) name_id = intern(*entry, attributes->message.ascii);
    if (attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE) name_id = intern(*entry, attributes->message.unicode);
    if (name_id != 0) Recorder::instance().name_thread(*entry, os_tid, name_id);
  }
  return reinterpret_cast<nvtxResourceHandle_t>(&handle);
}
void NVTX_API destroy_resource(nvtxResourceHandle_t) {}
void NVTX_API initialize(const void*) {}

class Table {
 public:
  Table(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    valid_ = callbacks.GetModuleFunctionTable(module, &slots_, &size_) == 1;
  }
  bool valid() const { return valid_; }
  // `Declared` is NVTX's type of the function in that slot. A module built with older headers may not have the slot.
  template <typename Declared>
  void set(unsigned slot, Declared function) {
    if (valid_ && slot < size_ && slots_[slot] != nullptr) {
      *slots_[slot] = reinterpret_cast<NvtxFunctionPointer>(function);
    }
  }

 private:
  NvtxFunctionTable slots_ = nullptr;
  unsigned size_ = 0;
  bool valid_ = false;
};

}  // namespace

bool fill_core_tables(NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks)) return false;
  Table core(*callbacks, NVTX_CB_MODULE_CORE);
  core.set<nvtxMarkEx_impl_fntype>(NVTX_CBID_CORE_MarkEx, mark);
  core.set<nvtxMarkA_impl_fntype>(NVTX_CBID_CORE_MarkA, mark_text<char>);
  core.set<nvtxMarkW_impl_fntype>(NVTX_CBID_CORE_MarkW, mark_text<wchar_t>);
  core.set<nvtxRangeStartEx_impl_fntype>(NVTX_CBID_CORE_RangeStartEx, start);
  core.set<nvtxRangeStartA_impl_fntype>(NVTX_CBID_CORE_RangeStartA, start_text<char>);
  core.set<nvtxRangeStartW_impl_fntype>(NVTX_CBID_CORE_RangeStartW, start_text<wchar_t>);
  core.set<nvtxRangeEnd_impl_fntype>(NVTX_CBID_CORE_RangeEnd, end);
  core.set<nvtxRangePushEx_impl_fntype>(NVTX_CBID_CORE_RangePushEx, push);
  core.set<nvtxRangePushA_impl_fntype>(NVTX_CBID_CORE_RangePushA, push_text<char>);
  core.set<nvtxRangePushW_impl_fntype>(NVTX_CBID_CORE_RangePushW, push_text<wchar_t>);
  core.set<nvtxRangePop_impl_fntype>(NVTX_CBID_CORE_RangePop, pop);
  core.set<nvtxNameCategoryA_impl_fntype>(NVTX_CBID_CORE_NameCategoryA, name_category<char>);
  core.set<nvtxNameCategoryW_impl_fntype>(NVTX_CBID_CORE_NameCategoryW, name_category<wchar_t>);
  core.set<nvtxNameOsThreadA_impl_fntype>(NVTX_CBID_CORE_NameOsThreadA, name_os_thread<char>);
  core.set<nvtxNameOsThreadW_impl_fntype>(NVTX_CBID_CORE_NameOsThreadW, name_os_thread<wchar_t>);

  Table core2(*callbacks, NVTX_CB_MODULE_CORE2);
  core2.set<nvtxDomainMarkEx_impl_fntype>(NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  core2.set<nvtxDomainRangeStartEx_impl_fntype>(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  core2.set<nvtxDomainRangeEnd_impl_fntype>(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  core2.set<nvtxDomainRangePushEx_impl_fntype>(NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  core2.set<nvtxDomainRangePop_impl_fntype>(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  core2.set<nvtxDomainResourceCreate_impl_fntype>(NVTX_CBID_CORE2_DomainResourceCreate, create_resource);
  core2.set<nvtxDomainResourceDestroy_impl_fntype>(NVTX_CBID_CORE2_DomainResourceDestroy, destroy_resource);
  core2.set<nvtxDomainNameCategoryA_impl_fntype>(NVTX_CBID_CORE2_DomainNameCategoryA, domain_name_category<char>);
  core2.set<nvtxDomainNameCategoryW_impl_fntype>(NVTX_CBID_CORE2_DomainNameCategoryW, domain_name_category<wchar_t>);
  core2.set<nvtxDomainRegisterStringA_impl_fntype>(NVTX_CBID_CORE2_DomainRegisterStringA, register_string<char>);
  core2.set<nvtxDomainRegisterStringW_impl_fntype>(NVTX_CBID_CORE2_DomainRegisterStringW, register_string<wchar_t>);
  core2.set<nvtxDomainCreateA_impl_fntype>(NVTX_CBID_CORE2_DomainCreateA, create_domain<char>);
  core2.set<nvtxDomainCreateW_impl_fntype>(NVTX_CBID_CORE2_DomainCreateW, create_domain<wchar_t>);
  core2.set<nvtxDomainDestroy_impl_fntype>(NVTX_CBID_CORE2_DomainDestroy, destroy_domain);
  core2.set<nvtxInitialize_impl_fntype>(NVTX_CBID_CORE2_Initialize, initialize);
  return core.valid() || core2.valid();
}

}  // namespace ddpprof::record
