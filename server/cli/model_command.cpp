#include "server/cli/model_command.h"

#include <algorithm>
#include <sstream>

#include "server/cli/admin_client.h"
#include "server/cli/cluster_view.h"
#include "server/cli/exit_code.h"
#include "server/cli/table.h"
#include "shared/tensor/safetensors.h"
#include "worker/client/session.h"

namespace godwit::cli {
namespace {

constexpr Duration kDeadline = seconds(3);
constexpr std::string_view kImporter =
    "worker-0";  // whose certificate is used: no other worker runs yet

bool fits(std::string_view pattern, std::string_view name) {
  return pattern.starts_with('*') ? name.ends_with(pattern.substr(1)) : pattern == name;
}

// What the file says of itself, and what the operator says.
std::vector<std::string> exact_patterns(const safetensors::File& file, const CommandLine& line) {
  std::vector<std::string> patterns = line.exact;
  if (const auto own = file.metadata.find("exact"); own != file.metadata.end()) {
    std::istringstream names(own->second);
    for (std::string name; std::getline(names, name);) patterns.push_back(name);
  }
  return patterns;
}

// Refers to the values of `file`.
Result<std::vector<TensorSpec>> tensor_specs(safetensors::File& file, const CommandLine& line) {
  const std::vector<std::string> patterns = exact_patterns(file, line);
  for (const std::string& pattern : patterns) {
    if (std::ranges::none_of(file.tensors,
                             [&](const auto& tensor) { return fits(pattern, tensor.name); }))
      return Error{Errc::kInvalid,
                   "--exact " + pattern + ": no tensor of the file has such a name"};
  }
  std::vector<TensorSpec> specs;
  for (safetensors::Tensor& tensor : file.tensors) {
    const bool exact = std::ranges::any_of(
        patterns, [&](const auto& pattern) { return fits(pattern, tensor.name); });
    specs.push_back({tensor.name, tensor.shape, tensor.values, exact});
  }
  return specs;
}

SessionOptions session_options(const ClusterConfig& config, const ServerConfig& server) {
  const std::string holder = worker_certificate(server.region, kImporter);
  SessionOptions options;
  options.server = to_string(server.data);
  options.region = server.region;
  options.name = kImporter;
  options.certificate_file = config.certificate_file(holder).string();
  options.key_file = config.key_file(holder).string();
  options.authority_file = config.authority_file().string();
  options.tokens_per_step = 1;
  return options;
}

// The run goes on from `file`'s values, or it is an error why it does not.
Result<void> bring(safetensors::File& file, std::vector<TensorSpec> specs, SessionOptions options) {
  std::vector<std::vector<float>> values;
  for (const safetensors::Tensor& tensor : file.tensors) values.push_back(tensor.values);
  Result<Session> session = Session::connect(std::move(options));
  if (!session) return session.error();
  if (Result<void> started = session->start(std::move(specs)); !started) return started;
  for (std::size_t i = 0; i < values.size(); ++i) {  // start() put the run's values there
    if (file.tensors[i].values != values[i]) {
      return Error{Errc::kConflict, "the run has another model already: tensor '" +
                                        file.tensors[i].name + "' differs"};
    }
  }
  const Result<StepReport> left = session->finish(std::chrono::seconds(30));
  return left ? Result<void>() : left.error();
}

}  // namespace

int run_model_export(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  std::string target = "/api/v1/run/model";
  if (line.version != 0) target += "?version=" + std::to_string(line.version);
  if (line.checkpoint != 0) target += "?checkpoint=" + std::to_string(line.checkpoint);
  const std::string token = read_admin_token(config);
  std::optional<Failure> last;
  for (const ServerConfig& server : config.servers) {
    const auto answer = AdminClient(server.admin, token).download(target, line.file, seconds(30));
    if (answer && answer->status == 200) {
      console.out << line.file.string() << "\n";
      console.error << "exported from " << server.name << ", "
                    << human_bytes(std::filesystem::file_size(line.file)) << "\n";
      return exit_code::kSuccess;
    }
    if (!answer && answer.error().code == Errc::kIo) return report(console, answer.error());
    const bool says_more = answer.has_value() || !last;  // than that it cannot be reached
    if (says_more) last = answer ? failure_of(*answer) : Failure(answer.error());
  }
  return report(console, *last);
}

int run_model_import(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const ServerConfig* const server =
      line.region.empty() ? &config.control_server() : config.find_region(line.region);
  if (server == nullptr) {
    return report(console,
                  Failure("GODWIT-E2001", "no [[server]] has the region '" + line.region + "'"));
  }
  Result<safetensors::File> file = safetensors::read_file(line.file.string());
  if (!file) return report(console, file.error());
  Result<std::vector<TensorSpec>> specs = tensor_specs(*file, line);
  if (!specs) return report(console, specs.error());
  const ClusterView view = look_at(config, kDeadline);
  if (const std::uint64_t version = view.newest_version(0); version > 0) {
    return report(console,
                  Failure(Error{Errc::kConflict, "the run has begun: shard 0 is at version " +
                                                     std::to_string(version)},
                          "import into a new cluster: godwit init"));
  }
  const std::size_t tensors = specs->size();
  std::uint64_t parameters = 0;
  for (const TensorSpec& spec : *specs) parameters += spec.values.size();
  if (Result<void> done = bring(*file, std::move(*specs), session_options(config, *server)); !done)
    return report(console, done.error());
  console.out << with_separators(parameters) << " parameters in " << tensors
              << " tensors are the run's version 1\n";
  return exit_code::kSuccess;
}

}  // namespace godwit::cli
