#include "tests/tidy/include_checks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace godwit::tidy {
namespace {

struct Include {
  std::string target;
  std::size_t line;
  bool quoted;
};

std::optional<Include> parse_include(std::string_view code_line, std::string_view line,
                                     std::size_t number) {
  const std::size_t hash = code_line.find_first_not_of(" \t");
  if (hash == std::string_view::npos || code_line[hash] != '#') return std::nullopt;
  const std::size_t word = code_line.find("include", hash);
  if (word == std::string_view::npos) return std::nullopt;
  const std::size_t open = line.find_first_of("<\"", word);
  if (open == std::string_view::npos) return std::nullopt;
  const bool quoted = line[open] == '"';
  const std::size_t close = line.find(quoted ? '"' : '>', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(open + 1, close - open - 1)), number, quoted};
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  const auto lines = split_lines(file.text);
  const auto code_lines = split_lines(file.code);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (const auto include = parse_include(code_lines[i], lines[i], i + 1))
      includes.push_back(*include);
  }
  return includes;
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The row of the folder or of the nearest folder above it.
const FolderRow* row_of(std::string folder, const std::vector<FolderRow>& table) {
  for (;; folder = parent_of(folder)) {
    const auto found = std::find_if(table.begin(), table.end(),
                                    [&](const FolderRow& row) { return row.folder == folder; });
    if (found != table.end()) return &*found;
    if (folder.empty()) return nullptr;
  }
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool may_do_anything(const FolderRow& row) { return contains(row.folders, "*"); }

std::optional<std::string> check_library(const SourceFile& file, const FolderRow& row,
                                         const std::string& target) {
  const bool standard = target.find_first_of("./") == std::string::npos;
  if (standard || may_do_anything(row)) return std::nullopt;
  const std::string library = library_of(target);
  if (library.empty()) {
    return "<" + target +
           "> belongs to no known library; add it to the include table, or use the C++ form";
  }
  std::string allowed_file;
  for (const Allowance& allowed : row.libraries) {
    if (allowed.library != library) continue;
    if (allowed.file.empty() || allowed.file == file.name()) return std::nullopt;
    allowed_file = allowed.file;
  }
  const std::string what = row.folder + " may not use " + library + " (<" + target + ">)";
  if (allowed_file.empty()) return what + "; use the folder that wraps it, or move this code there";
  return what + " outside " + allowed_file + "; put what you need behind its header";
}

std::optional<std::string> check_own(const FolderRow& row, const std::string& target,
                                     const std::vector<FolderRow>& table) {
  const FolderRow* other = row_of(parent_of(target), table);
  if (other == nullptr || other == &row || may_do_anything(row)) return std::nullopt;
  if (contains(row.folders, other->folder)) return std::nullopt;
  return row.folder + " may not include " + other->folder + " (\"" + target +
         "\"); arrows only go down: turn the dependency round or declare an interface here";
}

// Depth-first search for an edge back to a node that is still open.
class CycleFinder {
 public:
  using Graph = std::map<std::string, std::vector<std::string>>;
  explicit CycleFinder(const Graph& graph) : graph_(graph) {}

  // "a -> b -> a", or empty.
  std::string find() {
    for (const auto& [node, edges] : graph_) {
      if (visit(node)) return cycle_;
    }
    return "";
  }

 private:
  bool visit(const std::string& node) {
    const auto open = std::find(path_.begin(), path_.end(), node);
    if (open != path_.end()) {
      for (auto at = open; at != path_.end(); ++at) cycle_ += *at + " -> ";
      cycle_ += node;
      return true;
    }
    if (!done_.insert(node).second) return false;
    path_.push_back(node);
    const auto edges = graph_.find(node);
    const bool found =
        edges != graph_.end() && std::any_of(edges->second.begin(), edges->second.end(),
                                             [&](const auto& next) { return visit(next); });
    path_.pop_back();
    return found;
  }

  const Graph& graph_;
  std::vector<std::string> path_;
  std::set<std::string> done_;
  std::string cycle_;
};

}  // namespace

Violations check_includes(const std::vector<SourceFile>& files,
                          const std::vector<FolderRow>& table) {
  std::set<std::string> known;
  for (const auto& file : files) known.insert(file.path);
  Violations violations;
  for (const auto& file : files) {
    if (!file.is_cpp()) continue;
    const FolderRow* row = row_of(file.folder(), table);
    if (row == nullptr) {
      violations.push_back(
          {file.path, 0, "include-arrow", "this folder has no row in the include table; add one"});
      continue;
    }
    for (const auto& include : includes_of(file)) {
      const auto report = [&](std::string rule, std::string fix) {
        violations.push_back({file.path, include.line, std::move(rule), std::move(fix)});
      };
      const bool generated = include.target.ends_with(".capnp.h");
      if (!include.quoted) {
        if (const auto fix = check_library(file, *row, include.target)) report("third-party", *fix);
      } else if (!known.contains(include.target) && !generated) {
        report("include-path",
               "no file \"" + include.target +
                   "\" here: quotes name files from the repository root, libraries take <>");
      } else if (const auto fix = check_own(*row, include.target, table)) {
        report("include-arrow", *fix);
      }
    }
  }
  return violations;
}

Violations check_ladder(const std::vector<FolderRow>& table) {
  Violations violations;
  CycleFinder::Graph graph;
  for (const auto& row : table) {
    const bool fresh =
        graph.emplace(row.folder, may_do_anything(row) ? std::vector<std::string>{} : row.folders)
            .second;
    if (!fresh)
      violations.push_back({row.folder, 0, "include-table", "two rows of one folder; join them"});
  }
  for (const auto& row : table) {
    for (const auto& folder : row.folders) {
      if (folder == "*" || graph.contains(folder)) continue;
      violations.push_back(
          {row.folder, 0, "include-table", folder + " has no row; add one or correct the name"});
    }
  }
  if (const std::string cycle = CycleFinder(graph).find(); !cycle.empty()) {
    violations.push_back({cycle, 0, "include-table", "arrows only go down; take one of these out"});
  }
  return violations;
}

Violations check_include_cycles(const std::vector<SourceFile>& files) {
  CycleFinder::Graph graph;
  for (const auto& file : files) {
    if (!file.is_cpp()) continue;
    auto& edges = graph[file.path];
    for (const auto& include : includes_of(file)) {
      if (include.quoted) edges.push_back(include.target);
    }
  }
  const std::string cycle = CycleFinder(graph).find();
  if (cycle.empty()) return {};
  return {{cycle, 0, "include-cycle", "move what both need into a header of its own"}};
}

}  // namespace godwit::tidy
