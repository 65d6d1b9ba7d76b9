// Annotations while recording goes on and off, each checked for what NVTX returns.
#pragma once

namespace ddpprof::test {

// The page of bounds in DDPPROF_TRACE_DIR has no toggle yet: recording is off. 0 where everything returned what it
// should.
int annotate_while_toggled();

}  // namespace ddpprof::test
