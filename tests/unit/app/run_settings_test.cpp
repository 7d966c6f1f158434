#include "server/app/run_settings.h"

#include <gtest/gtest.h>

namespace godwit::app {
namespace {

Manifest model_of(std::int64_t parameters) {
  Manifest manifest;
  manifest.tensors = {{"w", {parameters}, false}};
  return manifest;
}

TEST(RunSettings, AModelThatTheMachineCannotHoldIsRefusedBeforeItIsTheRuns) {
  constexpr std::uint64_t kMemory = 1ULL << 30;
  EXPECT_TRUE(fits_in_memory(model_of(1 << 27), kMemory));
  EXPECT_FALSE(fits_in_memory(model_of((1 << 27) + 1), kMemory));
  for (const std::int64_t parameters : {std::int64_t{1} << 31, std::int64_t{1} << 40}) {
    const Manifest manifest = model_of(parameters);
    ASSERT_TRUE(manifest.validate());
    const Result<void> fits = fits_in_memory(manifest, kMemory);
    ASSERT_FALSE(fits);
    EXPECT_EQ(fits.error().code, Errc::kTooLarge);
    EXPECT_NE(fits.error().context.find(std::to_string(parameters) + " parameters"), std::string::npos);
    EXPECT_NE(fits.error().context.find("has 1024 MiB: train a smaller model"), std::string::npos);
  }
  EXPECT_GT(physical_memory_bytes(), kMemory / 1024);
}

}  // namespace
}  // namespace godwit::app
