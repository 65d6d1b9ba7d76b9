// Names of an anonymous database: each original name has one replacement, which does not tell the original.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddpprof::export_ {

class Replacements {
 public:
  // Registers a name of a class such as "host". A name that the class has already, or that is public, keeps what it
  // has.
  void add(std::string_view name_class, const std::string& original);

  // Registers a replacement made elsewhere, for texts that contain the original.
  void add_pair(const std::string& original, const std::string& replacement);

  // To be called once after the last add(). Replacements are "host-01", numbered in the order of the originals, so that
  // sorted rows stay in their order.
  void number();

  // Returns the replacement of a name that was added; public names and "" stay as they are. Throws std::logic_error for
  // another name.
  std::string name(std::string_view name_class, const std::string& original) const;

  // Returns a text for people in which all names that were added, paths, names of files, addresses, and quoted words
  // are replaced.
  std::string text(const std::string& original) const;

 private:
  std::map<std::string, std::map<std::string, std::string>, std::less<>> classes_;
  std::map<std::string, std::string> pairs_;
  std::vector<std::pair<std::string, std::string>> in_texts_;  // longest original first
};

// Returns true for names of PyTorch, NCCL, CUDA and ddpprof, which each job has, and for ordinary words of ddpprof's
// messages, such as "job", the name of a job in job.db.
bool is_public_name(std::string_view name);

}  // namespace ddpprof::export_
