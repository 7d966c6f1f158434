#include "worker/trainer/data.h"

#include <algorithm>
#include <fstream>

#include "shared/base/check.h"

namespace godwit::trainer {

namespace fs = std::filesystem;

TextRange training_range(std::uint64_t text_bytes) { return {0, text_bytes - text_bytes / 20}; }
TextRange heldout_range(std::uint64_t text_bytes) {
  return {text_bytes - text_bytes / 20, text_bytes};
}

TextRange region_range(std::uint64_t text_bytes, std::uint64_t index, std::uint64_t regions) {
  GODWIT_REQUIRE(index < regions, "regions are counted from 0");
  const std::uint64_t slice = training_range(text_bytes).size() / regions;
  return {index * slice, (index + 1) * slice};
}

Result<Corpus> Corpus::open(const std::string& path) {
  Corpus corpus;
  std::error_code failure;
  std::vector<fs::path> files;
  if (fs::is_directory(path, failure)) {
    for (fs::recursive_directory_iterator it(path, failure), end; !failure && it != end;
         it.increment(failure)) {
      files.push_back(it->path());
    }
    if (failure) return Error{Errc::kConfig, "cannot list '" + path + "': " + failure.message()};
  } else {
    files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  for (fs::path& file : files) {
    if (!fs::is_regular_file(file, failure)) continue;
    const std::uint64_t size = fs::file_size(file, failure);
    if (failure)
      return Error{Errc::kConfig, "cannot read '" + file.string() + "': " + failure.message()};
    corpus.size_ += size;
    corpus.parts_.push_back({std::move(file), size});
  }
  if (corpus.size_ == 0) {
    return Error{Errc::kConfig,
                 "no text at '" + path + "': --data takes a file, or a folder of files"};
  }
  return corpus;
}

Result<Text> Corpus::read(TextRange range) const {
  GODWIT_REQUIRE(range.begin <= range.end && range.end <= size_, "a range of this text");
  Text text(range.size());
  std::uint64_t part_begin = 0;
  for (const Part& part : parts_) {
    const std::uint64_t begin = std::max(range.begin, part_begin);
    const std::uint64_t end = std::min(range.end, part_begin + part.size);
    if (begin < end) {
      std::ifstream in(part.path, std::ios::binary);
      in.seekg(static_cast<std::streamoff>(begin - part_begin));
      auto* target = reinterpret_cast<char*>(text.data() + (begin - range.begin));
      if (!in.read(target, static_cast<std::streamsize>(end - begin))) {
        return Error{Errc::kIo, "cannot read " + part.path.string() + ": did it shrink?"};
      }
    }
    part_begin += part.size;
  }
  return text;
}

void draw_windows(std::span<std::uint8_t> windows, std::size_t length,
                  std::span<const std::uint8_t> text, Random& random) {
  GODWIT_REQUIRE(length > 0 && text.size() >= length, "a text of at least one window");
  GODWIT_REQUIRE(windows.size() % length == 0, "whole windows");
  for (std::size_t at = 0; at < windows.size(); at += length) {
    const std::span<const std::uint8_t> source =
        text.subspan(random.below(text.size() - length + 1), length);
    std::copy(source.begin(), source.end(), windows.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace godwit::trainer
