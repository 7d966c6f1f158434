#include "server/app/run_settings.h"

#include <unistd.h>

namespace godwit::app {

RunSettings run_settings(const ClusterConfig& config) {
  const RunConfig& run = config.run;
  const LimitsConfig& limits = config.limits;
  RunSettings settings;
  settings.regions = static_cast<std::uint32_t>(config.regions.size());
  settings.ack = static_cast<AckClass>(run.ack);  // the numbers are the same by contract
  settings.contribution_codec = run.contribution_codec;
  settings.update_codec = run.update_codec;
  settings.window_min = run.window_min;
  settings.window_max = run.window_max;
  settings.grace = run.grace;
  settings.sync_grace = run.sync_grace;
  settings.lease = run.lease;
  settings.ack_max_delay = limits.ack_max_delay;
  settings.retry_after = limits.retry_after;
  settings.outbox_items_max = limits.outbox_items_max;
  settings.open_aggregates_max = limits.open_aggregates_max;
  settings.waiting_pulls_max = limits.waiting_pulls_max;
  settings.sgd_learning_rate = static_cast<float>(run.sgd_learning_rate);
  settings.nesterov_learning_rate = static_cast<float>(run.nesterov_learning_rate);
  settings.nesterov_momentum = static_cast<float>(run.nesterov_momentum);
  settings.nesterov_steps_min = run.nesterov_steps_min;
  settings.log_retained_versions = limits.log_retained_versions;
  settings.snapshot_versions = limits.snapshot_versions;
  settings.entry_cache_bytes = limits.entry_cache_bytes;
  settings.pull_reply_bytes = limits.pull_reply_bytes;
  return settings;
}

Result<void> fits_in_memory(const Manifest& manifest, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kBytesPerParameter = 2 * sizeof(float);
  std::uint64_t parameters = 0;
  for (const ManifestTensor& tensor : manifest.tensors) parameters += tensor.count();
  if (parameters <= memory_bytes / kBytesPerParameter) return {};
  const auto mebibytes = [](std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; };
  return Error{Errc::kTooLarge,
               "the model has " + std::to_string(parameters) + " parameters, for which a server needs " +
                   mebibytes(parameters * kBytesPerParameter) + " at least; this one's machine has " +
                   mebibytes(memory_bytes) + ": train a smaller model, or use larger machines"};
}

std::uint64_t physical_memory_bytes() {
  return static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace godwit::app
