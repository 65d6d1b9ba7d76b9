// Annotates while recording is switched on and off, and checks NVTX's return values.
#pragma once

namespace ddpprof::test {

// Requires a page of bounds without toggles in DDPPROF_TRACE_DIR: recording is off. Returns 0 if all NVTX calls
// returned the expected values.
int annotate_while_toggled();

}  // namespace ddpprof::test
