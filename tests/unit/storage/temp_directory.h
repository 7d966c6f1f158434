// TempDirectory: an empty directory of its own, removed with all it holds when it goes out of
// scope.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "shared/base/check.h"

namespace godwit {

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "godwit-XXXXXX").string();
    GODWIT_CHECK(::mkdtemp(pattern.data()) != nullptr, "a temporary directory can be made");
    path_ = pattern;
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace godwit
