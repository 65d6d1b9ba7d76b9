// Names in an Nsight-format export: the table StringIds, and kernel names as Nsight Systems shows them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analysis/export/nsys/nsys_file.hpp"

namespace ddpprof::export_ {

// Returns the function's own name: "reduce_kernel" for "void at::native::reduce_kernel<512, …>(…)"; the whole
// text if it has no argument list.
std::string_view kernel_base_name(std::string_view demangled);

// Returns a call's name for CUPTI's callback id, for calls that training uses; otherwise "runtime call 165".
std::string cuda_call_name(std::string_view domain, std::int64_t callback_id);

// Fills StringIds: the database's strings that a measurement needs keep their numbers, and further strings get higher
// numbers. Temporary tables: used_string(id), kernel_name(id, demangled, short, mangled), call_name(domain, cbid, id).
class NsysNames {
 public:
  // `all`: also strings without a reference. Requires the tables of nsys_places.hpp.
  NsysNames(NsysFile&, bool all);
  std::int64_t id_of(const std::string& text);
  std::int64_t last_of_database() const { return last_; }  // higher numbers are not the database's

 private:
  void use_strings(bool all);
  void name_kernels();
  void name_calls();

  NsysFile& file_;
  std::int64_t last_ = 0, next_ = 1;
  std::unordered_map<std::string, std::int64_t> added_;
};

}  // namespace ddpprof::export_
