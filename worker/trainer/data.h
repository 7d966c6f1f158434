// The text to train on: any file, or all files of a folder (sorted by path, one after the other),
// as bytes. The last 5 % are held out; the rest is cut into equal slices, and a region reads only
// its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "shared/base/random.h"
#include "shared/base/result.h"

namespace godwit::trainer {

using Text = std::vector<std::uint8_t>;

// Byte positions [begin, end) of the whole text.
struct TextRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool operator==(const TextRange&) const = default;
};

TextRange training_range(std::uint64_t text_bytes);
TextRange heldout_range(std::uint64_t text_bytes);
// REQUIRES: index < regions.
TextRange region_range(std::uint64_t text_bytes, std::uint64_t index, std::uint64_t regions);

class Corpus {
 public:
  // Lists the files; reads nothing yet. Errors: kConfig (nothing there, or empty).
  static Result<Corpus> open(const std::string& path);

  std::uint64_t size() const { return size_; }
  // Touches only the files that the range covers. Errors: kIo.
  Result<Text> read(TextRange range) const;

 private:
  struct Part {
    std::filesystem::path path;
    std::uint64_t size = 0;
  };
  std::vector<Part> parts_;
  std::uint64_t size_ = 0;
};

// Fills `windows` with windows of `length` bytes that begin at random positions of `text`.
// REQUIRES: text.size() >= length, and whole windows.
void draw_windows(std::span<std::uint8_t> windows, std::size_t length,
                  std::span<const std::uint8_t> text, Random& random);

}  // namespace godwit::trainer
