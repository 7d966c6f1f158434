// Router: from a Request to a Response, through the AdminService: routes, who may do what, JSON,
// problems. Knows no socket. One thread owns it: handle() and what `post` runs. Its answers come on
// that thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/http/admin_service.h"
#include "server/http/http_message.h"
#include "shared/metrics/registry.h"

namespace godwit::http {

struct RouterOptions {
  std::string token;              // of admin.token; empty: every request that needs it is refused
  bool reads_need_token = false;  // set when other machines reach the port
};

class Router {
 public:
  // Runs a function later on the owner's thread, or never when the owner stops. Callable from any
  // thread.
  using Post = std::function<void(std::function<void()>)>;
  using Done = std::function<void(Response)>;

  Router(AdminService& service, metrics::Registry& metrics, RouterOptions options, Post post);

  // Calls `done` at most once: never when the service does not answer, so have a deadline.
  void handle(const Request& request, Done done);

 private:
  struct Route;
  struct Match;
  // Why the caller may not do this; nullopt when it may.
  std::optional<Error> forbidden(const Request& request, const Route& route) const;
  void livez(Match match, Done done);
  void readyz(Match match, Done done);
  void expose_metrics(Match match, Done done);
  void status(Match match, Done done);
  void hashes(Match match, Done done);
  void model(Match match, Done done);
  void checkpoints(Match match, Done done);
  void create_checkpoint(Match match, Done done);
  void remove_checkpoint(Match match, Done done);
  void pin_checkpoint(Match match, Done done);
  void restore_checkpoint(Match match, Done done);
  void set_mode(Match match, Done done);
  void promote(Match match, Done done);
  void stop_workers(Match match, Done done);
  template <class Report>
  std::function<void(Result<Report>)> reply(const Match& match, Done done) const;
  static Result<std::optional<std::uint64_t>> number_of(const Match& match, const std::string& key);
  static std::optional<std::uint64_t> checkpoint_of(const Match& match, const Done& done);
  void measure(const StatusReport& status);

  static const std::vector<Route>& routes();

  AdminService& service_;
  metrics::Registry& metrics_;
  RouterOptions options_;
  Post post_;
  std::weak_ptr<void> export_;  // the model that is being sent, if any
};

}  // namespace godwit::http
