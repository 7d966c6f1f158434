// The arrows: which folder may include which, and where a third-party library may appear.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace godwit::tidy {

// A library that a folder may use.
struct Allowance {
  std::string library;
  std::string file;  // only in this file of the folder; empty: in all of them
};

struct FolderRow {
  std::string folder;
  std::vector<std::string> folders;  // besides itself and the standard library; "*": anything
  std::vector<Allowance> libraries;
};

const std::vector<FolderRow>& include_table();

// The library that provides <header>, such as "asio" for "boost/asio/post.hpp"; empty: not known.
std::string library_of(std::string_view header);

}  // namespace godwit::tidy
