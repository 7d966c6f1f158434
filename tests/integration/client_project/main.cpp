// The smallest program on the installed client library.
#include <cstdio>

#include "worker/client/session.h"

int main() {
  godwit::SessionOptions options;
  options.server = "127.0.0.1:1";
  options.region = "nowhere";
  options.name = "nobody";
  options.certificate_file = "absent.crt";
  options.key_file = "absent.key";
  options.authority_file = "absent.crt";
  options.tokens_per_step = 1;
  const godwit::Result<godwit::Session> session = godwit::Session::connect(options);
  if (session) return 0;
  std::fprintf(stderr, "error: %s\n", session.error().to_string().c_str());
  return 3;
}
