#include "worker/app/session_sync.h"

namespace godwit::app {
namespace {

class SessionSync final : public trainer::Sync {
 public:
  explicit SessionSync(Session session) : session_(std::move(session)) {}

  Result<void> start(std::vector<TensorSpec> tensors) override {
    return session_.start(std::move(tensors));
  }
  Result<StepReport> step(std::uint64_t tokens) override { return session_.step(tokens); }
  Result<StepReport> finish(std::chrono::milliseconds deadline) override {
    return session_.finish(deadline);
  }

 private:
  Session session_;
};

}  // namespace

Result<std::unique_ptr<trainer::Sync>> connect_session(SessionOptions options) {
  Result<Session> session = Session::connect(std::move(options));
  if (!session) return session.error();
  return std::unique_ptr<trainer::Sync>(std::make_unique<SessionSync>(*std::move(session)));
}

}  // namespace godwit::app
