#include "worker/app/command_line.h"

#include <CLI/CLI.hpp>
#include <sstream>

#include "worker/app/exit_codes.h"
#include "worker/app/suggestion.h"

namespace godwit::app {
namespace {

void add_run_options(CLI::App& command, TrainCommand& train) {
  SessionOptions& session = train.session;
  command.add_flag("--alone", train.alone, "Train without a server");
  command.add_option("--server", session.server, "HOST:PORT of this region's server");
  command.add_option("--region", session.region, "This region; must match the certificate");
  command.add_option("--name", session.name,
                     "This worker: unique in its region, the same over restarts");
  command.add_option("--cert", session.certificate_file, "This worker's certificate (PEM)");
  command.add_option("--key", session.key_file, "Its private key (PEM)");
  command.add_option("--ca", session.authority_file, "The cluster's CA (PEM)");
  command.add_option("--acknowledgements", session.acknowledgements_file,
                     "Append every acknowledgement to this file");
  command.add_option("--history", session.history_file,
                     "Append all that this worker does and sees to this file (JSON lines)");
}

void add_data_options(CLI::App& command, TrainCommand& train) {
  command.add_option("--data", train.data, "Text to train on: a file, or a folder of files")
      ->required();
  command.add_option("--regions", train.regions, "Slices of the text")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command
      .add_option("--region-index", train.region_index, "The slice that this worker reads, from 0")
      ->capture_default_str();
  command.add_option("--size", train.size, "Model: nano or mini")->capture_default_str();
  command.add_option("--seed", train.seed, "Of a fresh model and of the windows")
      ->capture_default_str();
  command.add_option("--threads", train.threads, "CPU threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command.add_option("--output", train.output,
                     "Write the parameters here at the end (safetensors)");
}

void add_step_options(CLI::App& command, trainer::TrainOptions& options) {
  const auto count = CLI::Range(std::size_t{1}, std::size_t{1} << 20);
  command
      .add_option("--steps", options.max_steps,
                  "Stop after this many steps of this worker; 0: never")
      ->capture_default_str();
  command
      .add_option("--tokens", options.max_tokens,
                  "Stop when the run has seen this many tokens; 0: never")
      ->capture_default_str();
  command.add_option("--batch", options.batch, "Windows of a gradient")
      ->capture_default_str()
      ->check(count);
  command.add_option("--context", options.context, "Bytes of a window")
      ->capture_default_str()
      ->check(count);
  command.add_option("--accumulate", options.accumulate, "Gradients of a step")
      ->capture_default_str()
      ->check(count);
  command.add_option("--learning-rate", options.learning_rate.peak, "Peak of the schedule")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command
      .add_option("--warmup-tokens", options.learning_rate.warmup_tokens,
                  "Tokens of the run to reach the peak")
      ->capture_default_str();
  command
      .add_option("--schedule-tokens", options.learning_rate.schedule_tokens,
                  "Tokens of the run to the end of the cosine; 0: stay at the peak")
      ->capture_default_str();
}

void add_evaluate_options(CLI::App& command, EvaluateCommand& evaluate, std::string& format) {
  command.add_option("--model", evaluate.model, "Checkpoint (safetensors)")->required();
  command
      .add_option("--data", evaluate.data,
                  "The text that the run trained on; its last 5 % are held out")
      ->required();
  command.add_option("--size", evaluate.size, "Model: nano or mini")->capture_default_str();
  command.add_option("--context", evaluate.context, "Bytes of a window")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--max-bytes", evaluate.max_bytes, "Held-out bytes to look at; 0: all")
      ->capture_default_str();
  command.add_option("--threads", evaluate.threads, "CPU threads")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command.add_option("-o", format, "text or json")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
}

// What only a look at several options shows. Empty: all is well.
std::string contradiction(const TrainCommand& train) {
  if (train.region_index >= train.regions) return "--region-index must be below --regions";
  if (train.alone) return "";
  const SessionOptions& session = train.session;
  const std::pair<const char*, const std::string*> needed[] = {
      {"--server", &session.server}, {"--region", &session.region},
      {"--name", &session.name},     {"--cert", &session.certificate_file},
      {"--key", &session.key_file},  {"--ca", &session.authority_file}};
  for (const auto& [flag, value] : needed) {
    if (value->empty())
      return std::string(flag) + " is missing (or train without a server: --alone)";
  }
  return "";
}

std::vector<std::string> known_words(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) words.push_back(option->get_name());
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(sub->get_name());
  }
  return words;
}

Usage wrong(const std::string& what) { return {kExitUsage, "error: " + what + "\n"}; }

Usage unknown_words(const CLI::App& application) {
  const auto chosen = application.get_subcommands();
  const CLI::App& command = chosen.empty() ? application : *chosen.front();
  const std::string word = application.remaining(true).front();
  const std::string near = nearest(word.substr(0, word.find('=')), known_words(command));
  std::string text =
      (word.starts_with("-") ? "unknown option '" : "unknown command '") + word + "'.";
  text += near.empty() ? " Try --help." : " Did you mean '" + near + "'?";
  return wrong(text);
}

Usage explain(const CLI::App& application, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // help was asked for
    std::ostringstream text;
    application.exit(error, text, text);
    return {kExitOk, text.str()};
  }
  return wrong(error.what());
}

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  CLI::App application("Trains a model in a Godwit run, on libtorch.", "godwit-worker");
  application.allow_extras();  // judged below, with a suggestion
  TrainCommand train;
  EvaluateCommand evaluate;
  std::string format = "text";
  CLI::App* train_app = application.add_subcommand("train", "Join a run, or train alone");
  CLI::App* evaluate_app =
      application.add_subcommand("evaluate", "Bits per byte of a checkpoint on the held-out text");
  CLI::App* version_app = application.add_subcommand("version", "Print the version");
  add_run_options(*train_app, train);
  add_data_options(*train_app, train);
  add_step_options(*train_app, train.options);
  add_evaluate_options(*evaluate_app, evaluate, format);
  for (CLI::App* command : {train_app, evaluate_app, version_app}) command->allow_extras();
  try {
    application.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0 && !application.remaining(true).empty())
      return unknown_words(application);
    return explain(application, error);
  }
  if (!application.remaining(true).empty()) return unknown_words(application);
  if (version_app->parsed()) return VersionCommand{};
  if (evaluate_app->parsed()) {
    evaluate.json = format == "json";
    return evaluate;
  }
  if (!train_app->parsed()) return Usage{kExitUsage, application.help()};
  if (const std::string why = contradiction(train); !why.empty()) return wrong(why);
  return train;
}

}  // namespace godwit::app
