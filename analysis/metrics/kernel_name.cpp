#include <string_view>

#include "analysis/metrics/kernel_name.hpp"
#include "tracer/store/kernel_name.hpp"

namespace ddpprof::metrics {

// The function's name without its template's and its own arguments: "void at::native::reduce_kernel<512, …>(…)".
std::string short_kernel_name(const std::string& recorded) {
  std::string name = store::demangled_kernel(recorded);
  if (name.starts_with("void ")) name.erase(0, 5);
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  for (std::size_t at = name.find(unnamed); at != std::string::npos; at = name.find(unnamed, at))
    name.erase(at, unnamed.size());
  // Names of copies have their kind in parentheses: "Memcpy HtoD (Pageable -> Device)".
  if (const std::size_t end = name.find_first_of("<("); end != std::string::npos && end > 0 && name[end - 1] != ' ')
    name.resize(end);
  constexpr std::size_t longest = 72;
  if (name.size() > longest) name = name.substr(0, longest - 3) + "...";
  return name;
}

}  // namespace ddpprof::metrics
