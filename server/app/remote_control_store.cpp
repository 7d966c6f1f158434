#include "server/app/remote_control_store.h"

namespace godwit::app {
namespace {

ControlReply unavailable() {
  ControlReply reply;
  reply.error = Error{Errc::kUnavailable, "the link to the control host is down"};
  return reply;
}

}  // namespace

void RemoteControlStore::request(ControlRequest request, Callback done) {
  std::uint64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    id = next_id_++;
    waiting_.emplace(id, std::move(done));
  }
  if (sender_(wire::ControlCall{id, std::move(request)})) return;
  Callback failed;
  {
    std::lock_guard lock(mutex_);
    const auto node = waiting_.extract(id);
    if (node.empty()) return;  // the link broke meanwhile, and that answered it
    failed = std::move(node.mapped());
  }
  failed(unavailable());
}

void RemoteControlStore::on_answer(wire::ControlAnswer answer) {
  Callback done;
  {
    std::lock_guard lock(mutex_);
    const auto node = waiting_.extract(answer.call);
    if (node.empty()) return;
    done = std::move(node.mapped());
  }
  done(std::move(answer.reply));
}

void RemoteControlStore::on_disconnected() {
  std::map<std::uint64_t, Callback> failed;
  {
    std::lock_guard lock(mutex_);
    failed.swap(waiting_);
  }
  for (auto& [id, done] : failed) done(unavailable());
}

}  // namespace godwit::app
