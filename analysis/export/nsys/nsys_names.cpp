#include "analysis/export/nsys/nsys_names.hpp"

#include <SQLiteCpp/Column.h>
#include <SQLiteCpp/Statement.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ddpprof::export_ {
namespace {

struct Call {
  std::int64_t callback_id;
  std::string_view name;
};

// CUpti_runtime_api_trace_cbid and CUpti_driver_api_trace_cbid (cupti_runtime_cbid.h, cupti_driver_cbid.h), without the
// version of the interface. Of the driver's calls the tracer records only launches.
constexpr std::array runtime_calls = {
    Call{20, "cudaMalloc"},
    Call{22, "cudaFree"},
    Call{26, "cudaFreeHost"},
    Call{27, "cudaHostAlloc"},
    Call{31, "cudaMemcpy"},
    Call{41, "cudaMemcpyAsync"},
    Call{44, "cudaMemcpy2DAsync"},
    Call{49, "cudaMemset"},
    Call{51, "cudaMemsetAsync"},
    Call{131, "cudaStreamSynchronize"},
    Call{132, "cudaStreamQuery"},
    Call{134, "cudaEventCreateWithFlags"},
    Call{135, "cudaEventRecord"},
    Call{136, "cudaEventDestroy"},
    Call{137, "cudaEventSynchronize"},
    Call{138, "cudaEventQuery"},
    Call{139, "cudaEventElapsedTime"},
    Call{147, "cudaStreamWaitEvent"},
    Call{161, "cudaMemcpyPeerAsync"},
    Call{165, "cudaDeviceSynchronize"},
    Call{198, "cudaStreamCreateWithFlags"},
    Call{202, "cudaStreamCreateWithPriority"},
    Call{206, "cudaMallocManaged"},
    Call{211, "cudaLaunchKernel"},
    Call{269, "cudaLaunchCooperativeKernel"},
    Call{273, "cudaFuncSetAttribute"},
    Call{311, "cudaGraphLaunch"},
    Call{317, "cudaStreamIsCapturing"},
    Call{327, "cudaThreadExchangeStreamCaptureMode"},
    Call{336, "cudaGetFuncBySymbol"},
    Call{370, "cudaEventRecordWithFlags"},
    Call{373, "cudaMallocAsync"},
    Call{375, "cudaFreeAsync"},
    Call{409, "cudaStreamGetCaptureInfo_v2"},
    Call{430, "cudaLaunchKernelExC"},
};
constexpr std::array driver_calls = {
    Call{307, "cuLaunchKernel"},   Call{442, "cuLaunchKernel"},   Call{477, "cuLaunchCooperativeKernel"},
    Call{652, "cuLaunchKernelEx"}, Call{653, "cuLaunchKernelEx"},
};

template <std::size_t n>
std::string_view find(const std::array<Call, n>& calls, std::int64_t callback_id) {
  for (const Call& call : calls)
    if (call.callback_id == callback_id) return call.name;
  return {};
}

}  // namespace

std::string_view kernel_base_name(std::string_view name) {
  std::size_t begin = 0, end = std::string_view::npos;
  int depth = 0;  // of template arguments
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    if (depth == 0) {
      std::size_t scope = 0;
      for (const std::string_view unnamed : {"(anonymous namespace)", "<unnamed>", "operator()"})
        if (rest.starts_with(unnamed)) scope = unnamed.size();
      if (scope > 0) {
        i += scope - 1;
        continue;
      }
      if (rest.front() == '(') {
        end = std::min(end, i);
        return end > begin ? name.substr(begin, end - begin) : name;
      }
      if (rest.front() == ' ' || rest.starts_with("::")) {  // a return type or a scope ends here
        i += rest.front() == ' ' ? 0 : 1;
        begin = i + 1;
        end = std::string_view::npos;
        continue;
      }
    }
    if (rest.front() == '<') {
      if (depth++ == 0) end = std::min(end, i);
    } else if (rest.front() == '>' && depth > 0) {
      --depth;
    }
  }
  return name;  // a name without a list of arguments is not that of a C++ function
}

std::string cuda_call_name(std::string_view domain, std::int64_t callback_id) {
  const std::string_view known =
      domain == "driver" ? find(driver_calls, callback_id) : find(runtime_calls, callback_id);
  return known.empty() ? fmt::format("{} call {}", domain, callback_id) : std::string(known);
}

NsysNames::NsysNames(NsysFile& file, bool all) : file_(file) {
  use_strings(all);
  name_kernels();
  name_calls();
}

void NsysNames::use_strings(bool all) {
  SQLite::Database& sql = file_.sql();
  sql.exec("CREATE TEMP TABLE used_string (id INTEGER PRIMARY KEY)");
  if (all) {
    sql.exec("INSERT INTO used_string SELECT id FROM source.string");
  } else {
    for (const char* column :
         {"range.name_id", "range.domain_id", "kernel.name_id", "api_call.name_id", "kernel_summary.name_id"}) {
      const std::string table(column, std::string_view(column).find('.'));
      sql.exec(
          fmt::format("INSERT OR IGNORE INTO used_string SELECT DISTINCT {0} FROM source.{1} WHERE {0} NOT NULL "
                      "AND {1}.shard_id IN (SELECT shard_id FROM place)",
                      column, table));
    }
  }
  sql.exec(
      "INSERT INTO StringIds SELECT s.id, valid_utf8(s.value) FROM used_string u "
      "CROSS JOIN source.string s ON s.id = u.id ORDER BY s.id");
  last_ = sql.execAndGet("SELECT COALESCE(MAX(id), 0) FROM used_string").getInt64();
  next_ = last_ + 1;
}

std::int64_t NsysNames::id_of(const std::string& text) {
  if (const auto known = added_.find(text); known != added_.end()) return known->second;
  SQLite::Statement recorded(file_.sql(),
                             "SELECT s.id FROM source.string s JOIN used_string u ON u.id = s.id WHERE s.value = ?");
  recorded.bind(1, text);
  if (recorded.executeStep()) return added_.emplace(text, recorded.getColumn(0).getInt64()).first->second;
  SQLite::Statement insert(file_.sql(), "INSERT INTO StringIds VALUES (?, ?)");
  insert.bind(1, next_);
  insert.bind(2, text);
  insert.exec();
  return added_.emplace(text, next_++).first->second;
}

void NsysNames::name_kernels() {
  SQLite::Database& sql = file_.sql();
  sql.exec(
      "CREATE TEMP TABLE kernel_name (id INTEGER PRIMARY KEY, demangled INTEGER, short INTEGER, mangled INTEGER);"
      "INSERT INTO kernel_name (id) SELECT DISTINCT name_id FROM source.kernel "
      "WHERE shard_id IN (SELECT shard_id FROM place)");
  SQLite::Statement names(sql,
                          "SELECT k.id, s.value, valid_utf8(demangled(s.value)), "
                          "valid_utf8(base_name(demangled(s.value))), demangled(s.value) IS NOT s.value "
                          "FROM kernel_name k JOIN source.string s ON s.id = k.id ORDER BY k.id");
  SQLite::Statement set(sql, "UPDATE kernel_name SET demangled = ?2, short = ?3, mangled = ?4 WHERE id = ?1");
  while (names.executeStep()) {
    const std::int64_t id = names.getColumn(0).getInt64();
    const bool was_mangled = names.getColumn(4).getInt() != 0;
    set.reset();
    set.bind(1, id);
    set.bind(2, was_mangled ? id_of(names.getColumn(2).getString()) : id);
    set.bind(3, id_of(names.getColumn(3).getString()));
    was_mangled ? set.bind(4, id) : set.bind(4);
    set.exec();
  }
}

void NsysNames::name_calls() {
  SQLite::Database& sql = file_.sql();
  sql.exec(
      "CREATE TEMP TABLE call_name (domain TEXT, cbid INTEGER, id INTEGER, PRIMARY KEY (domain, cbid)) WITHOUT ROWID;"
      "INSERT INTO call_name SELECT DISTINCT domain, cbid, NULL FROM source.api_call "
      "WHERE name_id IS NULL AND shard_id IN (SELECT shard_id FROM place)");
  SQLite::Statement calls(sql, "SELECT domain, cbid FROM call_name ORDER BY domain, cbid");
  SQLite::Statement set(sql, "UPDATE call_name SET id = ?3 WHERE domain = ?1 AND cbid = ?2");
  while (calls.executeStep()) {
    const std::string domain = calls.getColumn(0).getString();
    const std::int64_t callback_id = calls.getColumn(1).getInt64();
    set.reset();
    set.bind(1, domain);
    set.bind(2, callback_id);
    set.bind(3, id_of(cuda_call_name(domain, callback_id)));
    set.exec();
  }
}

}  // namespace ddpprof::export_
