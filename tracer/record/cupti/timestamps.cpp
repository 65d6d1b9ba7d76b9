#include "tracer/record/cupti/timestamps.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tracer/format/cupti_versions.hpp"

namespace ddpprof::record {

const char* to_string(CuptiTimestamps timestamps) {
  return timestamps == CuptiTimestamps::callback ? "callback" : "paired";
}

std::optional<CuptiTimestamps> timestamps_from_environment() {
  const char* text = std::getenv("DDPPROF_CUPTI_TIMESTAMPS");
  if (text == nullptr || *text == '\0') return std::nullopt;
  for (const CuptiTimestamps known : {CuptiTimestamps::callback, CuptiTimestamps::paired})
    if (std::string_view(text) == to_string(known)) return known;
  std::fprintf(stderr,
               "ddpprof tracer: DDPPROF_CUPTI_TIMESTAMPS=\"%s\": expected callback or paired; using the default of the "
               "CUPTI version\n",
               text);
  return std::nullopt;
}

CuptiTimestamps default_timestamps(std::optional<std::uint32_t> cupti) {
  return cupti.value_or(0) < trace::first_cupti_with_sound_timestamp_callback ? CuptiTimestamps::paired
                                                                              : CuptiTimestamps::callback;
}

}  // namespace ddpprof::record
