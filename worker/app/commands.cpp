#include "worker/app/commands.h"

#include <fmt/format.h>

#include <numbers>

#include "shared/base/checksum.h"
#include "worker/app/exit_codes.h"
#include "worker/app/session_sync.h"
#include "worker/app/stop_signals.h"
#include "worker/trainer/data.h"
#include "worker/trainer/evaluation.h"
#include "worker/trainer/linear_algebra.h"

namespace godwit::app {
namespace {

constexpr const char* kVersion = "0.1.0";

int fail(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.to_string());
  return exit_code(error.code);
}

void start_threads(int threads) {
  const std::string warning = trainer::start_linear_algebra(threads);
  if (!warning.empty()) fmt::print(stderr, "warning: {}\n", warning);
}

std::string thousands(double count) {
  return count < 1000 ? fmt::format("{:.0f}", count) : fmt::format("{:.1f}k", count / 1000);
}

void print_progress(const trainer::Progress& progress) {
  fmt::print(
      stderr,
      "step {}  loss {:.3f} ({:.3f} bits/byte)  tok/s {}  version {}  round {}  staleness {:.1f}  "
      "waiting {:.0f}%  run tokens {}  {}\n",
      progress.steps, progress.loss, progress.loss / std::numbers::ln2,
      thousands(progress.tokens_per_second), progress.run.version, progress.run.round,
      progress.run.staleness_rounds, 100 * progress.waiting, progress.run.run_tokens,
      progress.run.synchronous ? "sync" : "async");
}

Result<trainer::Text> read_slice(const TrainCommand& command) {
  const Result<trainer::Corpus> corpus = trainer::Corpus::open(command.data);
  if (!corpus) return corpus.error();
  return corpus->read(trainer::region_range(corpus->size(), command.region_index, command.regions));
}

Result<void> write_model(trainer::Model& model, const std::string& path) {
  std::vector<safetensors::TensorView> tensors;
  for (const trainer::ModelTensor& tensor : model.layout().tensors) {
    tensors.push_back(
        {tensor.name, tensor.shape, model.parameters().subspan(tensor.offset, tensor.count)});
  }
  return safetensors::write_file(path, tensors);
}

struct HeldoutReport {
  std::size_t bytes = 0;
  double heldout_bits_per_byte = 0;
  double bigram_bits_per_byte = 0;
};

Result<HeldoutReport> evaluate(const EvaluateCommand& command) {
  const Result<trainer::ModelShape> shape = trainer::model_shape(command.size);
  if (!shape) return shape.error();
  const Result<trainer::Corpus> corpus = trainer::Corpus::open(command.data);
  if (!corpus) return corpus.error();
  trainer::TextRange range = trainer::heldout_range(corpus->size());
  if (command.max_bytes != 0) range.end = std::min(range.end, range.begin + command.max_bytes);
  if (range.size() < 2)
    return Error{Errc::kConfig, "fewer than two held-out bytes: give more --data"};
  const Result<trainer::Text> heldout = corpus->read(range);
  if (!heldout) return heldout.error();
  const Result<trainer::Text> training = corpus->read(trainer::training_range(corpus->size()));
  if (!training) return training.error();
  const Result<safetensors::File> file = safetensors::read_file(command.model);
  if (!file) return file.error();
  trainer::Model model(*shape, 0);
  if (Result<void> loaded = trainer::load(model, *file); !loaded) return loaded.error();
  return HeldoutReport{heldout->size(), trainer::bits_per_byte(model, *heldout, command.context),
                       trainer::Bigram(*training).bits_per_byte(*heldout)};
}

}  // namespace

int run(const TrainCommand& command) {
  watch_stop_signals();
  start_threads(command.threads);
  const Result<trainer::ModelShape> shape = trainer::model_shape(command.size);
  if (!shape) return fail(shape.error());
  const Result<trainer::Text> text = read_slice(command);
  if (!text) return fail(text.error());
  trainer::Model model(*shape, command.seed);

  trainer::TrainOptions options = command.options;
  options.seed =
      checksum(view(command.session.region + "/" + command.session.name), command.seed).value();
  std::unique_ptr<trainer::Sync> sync;
  if (!command.alone) {
    SessionOptions session = command.session;
    session.tokens_per_step = options.tokens_per_step();
    Result<std::unique_ptr<trainer::Sync>> connected = connect_session(std::move(session));
    if (!connected) return fail(connected.error());
    sync = *std::move(connected);
  }
  fmt::print(stderr, "{}: {} parameters in {} tensors, {} tokens a step, {} bytes of text\n",
             command.size, model.layout().count, model.layout().tensors.size(),
             options.tokens_per_step(), text->size());
  const Result<trainer::Progress> end = trainer::train(
      model, *text, options, sync.get(), {.stop = stop_requested, .progress = print_progress});
  if (!end) return fail(end.error());
  print_progress(*end);
  if (command.output.empty()) return kExitOk;
  const Result<void> written = write_model(model, command.output);
  return written ? kExitOk : fail(written.error());
}

int run(const EvaluateCommand& command) {
  start_threads(command.threads);
  const Result<HeldoutReport> report = evaluate(command);
  if (!report) return fail(report.error());
  const char* format =
      command.json ? "{{\"heldout_bits_per_byte\":{:.6f},\"bigram_bits_per_byte\":{:.6f},\"heldout_"
                     "bytes\":{}}}\n"
                   : "held-out  {:.4f} bits/byte\nbigram    {:.4f} bits/byte\nbytes     {}\n";
  fmt::print(fmt::runtime(format), report->heldout_bits_per_byte, report->bigram_bits_per_byte,
             report->bytes);
  return kExitOk;
}

int run(const VersionCommand&) {
  fmt::print("godwit-worker {}\n", kVersion);
  return kExitOk;
}

int run(const Usage& usage) {
  fmt::print(usage.exit_code == kExitOk ? stdout : stderr, "{}", usage.text);
  return usage.exit_code;
}

}  // namespace godwit::app
