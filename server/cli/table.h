// Table: columns for people. Every column is as wide as its widest cell; numbers may stand to the
// right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace godwit::cli {

class Table {
 public:
  enum class Align : unsigned char { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // REQUIRES: one cell for each column.
  void add(std::vector<std::string> cells);
  std::string text() const;  // with the header line; no spaces at the end of lines

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

std::string with_separators(std::uint64_t number);  // 18,204
std::string human_bytes(std::uint64_t bytes);       // 31.2 MB
std::string human_seconds(double seconds);          // 3d 4h, 12m 5s, 4.1s

}  // namespace godwit::cli
