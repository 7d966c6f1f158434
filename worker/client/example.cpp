// Somebody's own training loop on Godwit: fits y = 3x - 1 by gradient descent, together with every other
// worker of the run. Usage: example SERVER REGION NAME CERTIFICATES_FOLDER ACKNOWLEDGEMENTS_FILE STEPS
// [HISTORY_FILE]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "worker/client/session.h"

int main(int count, char** arguments) {
  if (count != 7 && count != 8) {
    return std::fprintf(stderr, "usage: example SERVER REGION NAME CERTIFICATES ACKS STEPS [HISTORY]\n"), 2;
  }
  const std::string region = arguments[2], name = arguments[3], folder = std::string(arguments[4]) + "/";
  godwit::SessionOptions options;
  options.server = arguments[1];
  options.region = region;
  options.name = name;
  options.certificate_file = folder + region + "." + name + ".crt";
  options.key_file = folder + region + "." + name + ".key";
  options.authority_file = folder + "ca.crt";
  options.acknowledgements_file = arguments[5];
  if (count == 8) options.history_file = arguments[7];
  options.tokens_per_step = 16;
  godwit::Result<godwit::Session> session = godwit::Session::connect(options);
  if (!session) return std::fprintf(stderr, "error: %s\n", session.error().to_string().c_str()), 3;

  std::vector<float> line{0, 0}, noise(4096);  // slope and offset; the rest is only there to be moved
  if (auto started = session->start({{"line", {2}, line, true}, {"noise", {64, 64}, noise}}); !started) {
    return std::fprintf(stderr, "error: %s\n", started.error().to_string().c_str()), 1;
  }
  std::mt19937 random(std::random_device{}());
  std::normal_distribution<float> normal;
  for (long step = 0, steps = std::atol(arguments[6]); steps == 0 || step < steps; ++step) {
    const float x = normal(random), error = line[0] * x + line[1] - (3 * x - 1);
    line[0] -= 0.05F * error * x;
    line[1] -= 0.05F * error;
    for (float& value : noise) value += 0.01F * (normal(random) - value);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto report = session->step(16);
    if (!report) return std::fprintf(stderr, "error: %s\n", report.error().to_string().c_str()), 1;
    if (report->stop) break;
  }
  const auto last = session->finish(std::chrono::seconds(30));
  std::printf("y = %.3f x %+.3f at version %llu\n", line[0], line[1],
              static_cast<unsigned long long>(last ? last->version : 0));
  return last ? 0 : 1;
}
