#include "analysis/timeline/load.hpp"

#include <SQLiteCpp/Exception.h>

#include "analysis/timeline/draft.hpp"
#include "analysis/timeline/raw.hpp"
#include "tracer/store/database.hpp"

namespace ddpprof::timeline {

std::shared_ptr<const Timeline> load(const std::filesystem::path& path, std::int64_t measurement,
                                     const LoadHooks& hooks) {
  const auto cancelled = [&] { return hooks.cancelled && hooks.cancelled(); };
  try {
    Draft draft;
    {
      store::Database database = store::Database::open_read(path);
      draft = read_summaries(database.sql(), measurement);
    }
    if (cancelled()) return nullptr;
    if (draft.timeline.raw_kept) {
      if (hooks.first) hooks.first(std::make_shared<const Timeline>(assembled(draft)));
      if (!add_raw(path, draft, hooks)) return nullptr;
    }
    draft.timeline.complete = true;
    return std::make_shared<const Timeline>(assembled(std::move(draft)));
  } catch (const SQLite::Exception& error) {
    throw store::translate(error, path);
  }
}

}  // namespace ddpprof::timeline
