// fuzz_corpus FOLDER: writes the seeds of every target to FOLDER/<target>/seed-<name>, and leaves
// every other file there alone.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

int main(int argument_count, char** arguments) {
  if (argument_count != 2) {
    std::cerr << "usage: fuzz_corpus FOLDER   (tests/fuzz/corpus)\n";
    return 2;
  }
  std::size_t written = 0;
  for (const godwit::fuzz::Target& target : godwit::fuzz::all_targets()) {
    const std::filesystem::path folder = std::filesystem::path(arguments[1]) / target.name;
    std::filesystem::create_directories(folder);
    for (const godwit::fuzz::Seed& seed : godwit::fuzz::seeds_of(target.name)) {
      std::ofstream out(folder / ("seed-" + seed.name), std::ios::binary);
      out << godwit::text(seed.bytes);
      if (!out.flush()) {
        std::cerr << "fuzz_corpus: cannot write to " << folder << "\n";
        return 1;
      }
      ++written;
    }
  }
  std::cout << written << " seeds written to " << arguments[1] << "\n";
}
