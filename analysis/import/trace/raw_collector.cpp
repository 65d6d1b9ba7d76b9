#include "analysis/import/trace/raw_collector.hpp"

#include <utility>

namespace ddpprof::import {

void RawCollector::flush() {
  if (!sink_ || batch_.rows() == 0) return;
  batch_.source = source_;
  batch_.first_new_name = names_sent_;
  for (; names_sent_ < names_.size(); ++names_sent_)
    batch_.new_names.push_back(names_.text(static_cast<std::uint32_t>(names_sent_)));
  sink_->take(std::exchange(batch_, {}));
}

}  // namespace ddpprof::import
