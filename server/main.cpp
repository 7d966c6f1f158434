// godwit-server: one region's server. Parse, build every part by name, run, stop.
#include <CLI/CLI.hpp>
#include <csignal>
#include <fstream>
#include <thread>

#include "server/app/region_server.h"
#include "server/http/http_server.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"

namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;

int fail(int code, const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return code;
}

// Signals are taken by one thread that waits for them; no handler runs anywhere.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return signals;
}

godwit::Result<godwit::http::HttpOptions> admin_options(const godwit::ClusterConfig& config,
                                                        const godwit::ServerConfig& own) {
  godwit::http::HttpOptions options;
  options.host = own.admin.host;
  options.port = own.admin.port;
  options.reads_need_token = own.admin_beyond_loopback;
  std::ifstream file(config.admin_token_file());
  if (!std::getline(file, options.token) || options.token.empty()) {
    return godwit::Error{godwit::Errc::kConfig, "no token in " + config.admin_token_file().string() +
                                                    ": godwit init writes it"};
  }
  return options;
}

// `name` or `region` says which server of `file` this process is.
int serve(const std::string& file, const std::string& name, const std::string& region) {
  using namespace godwit;
  const sigset_t signals = block_signals();
  Result<ClusterConfig> config = load_cluster_config(file);
  if (!config) return fail(kExitUsage, config.error().context);
  const ServerConfig* own = name.empty() ? config->find_region(region) : config->find_server(name);
  if (own == nullptr) return fail(kExitUsage, name + region + " is none of " + config->server_names() + ": " + file);
  Result<http::HttpOptions> admin = admin_options(*config, *own);
  if (!admin) return fail(kExitUsage, admin.error().to_string());
  metrics::Registry registry({config->name, own->region, GODWIT_VERSION, "", __VERSION__, "1"});
  Result<std::unique_ptr<app::RegionServer>> server = app::RegionServer::start(*config, own->name, registry);
  if (!server) return fail(server.error().code == Errc::kConfig ? kExitUsage : kExitFailed, server.error().to_string());
  Result<std::unique_ptr<http::HttpServer>> http = http::HttpServer::start(std::move(*admin), **server, registry);
  if (!http) return fail(kExitFailed, http.error().to_string());
  log::info("server", "data port " + to_string(own->data) + ", admin port " + to_string(own->admin));

  std::jthread waiter([&server, signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    log::info("server", "stops");
    (*server)->stop();
  });
  const Result<void> ended = (*server)->run();
  http->reset();
  pthread_kill(waiter.native_handle(), SIGTERM);  // in case it still waits
  waiter.join();
  return ended ? 0 : kExitFailed;
}

}  // namespace

int main(int count, char** arguments) {
  godwit::keep_freed_memory();
  CLI::App app{"godwit-server: a region's parameter server", "godwit-server"};
  std::string file = "cluster.toml", name, region, level = "info";
  app.add_option("--config", file, "cluster.toml");
  CLI::Option_group* const which = app.add_option_group("which [[server]] of it this process is");
  which->add_option("--name", name, "by its name");
  which->add_option("--region", region, "by its region");
  which->require_option(1);
  app.add_option("--log", level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app.set_version_flag("--version", GODWIT_VERSION);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : kExitUsage;
  }
  using godwit::log::Level;
  godwit::log::start(name + region, level == "debug" ? Level::kDebug : level == "warning" ? Level::kWarning
                           : level == "error" ? Level::kError : Level::kInfo);
  return serve(file, name, region);
}
