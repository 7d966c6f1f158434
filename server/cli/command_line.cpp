#include "server/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <map>

#include "server/cli/exit_code.h"
#include "shared/net/nearest_name.h"
#include "shared/net/units.h"

namespace godwit::cli {
namespace {

// The tree of commands, bound to one CommandLine.
class Grammar {
 public:
  Grammar();
  ParsedCommandLine parse(const std::vector<std::string>& arguments);

 private:
  CLI::App* command(CLI::App& parent, const std::string& name, const std::string& help,
                    Command command);
  void add_init();
  void add_processes();
  void add_run();
  void add_model();
  void add_checkpoint();
  void add_verify();
  void add_doctor();
  void add_help();
  void add_format(CLI::App* command);
  void add_duration(CLI::App* command, const std::string& flag, Duration& out,
                    const std::string& help);
  ParsedCommandLine finish();
  ParsedCommandLine mistake(const std::string& text) const;
  ParsedCommandLine unknown_word(const CLI::App& where, const std::string& word) const;
  const CLI::App& selected() const;
  std::string help_on(const CLI::App& topic) const;

  CLI::App app_{"godwit: operates a Godwit cluster", "godwit"};
  CommandLine line_;
  std::map<const CLI::App*, Command> commands_;  // leaves of the tree
  std::string wait_;
  std::string help_topic_;
};

std::vector<const CLI::App*> all_subcommands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : all_subcommands(app)) names.push_back(sub->get_name());
  return names;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Grammar::Grammar() {
  app_.require_subcommand(0, 1);
  app_.allow_extras();
  app_.add_option("-C,--directory", line_.directory, "Folder of cluster.toml")
      ->capture_default_str();
  app_.set_version_flag("--version", "godwit " GODWIT_VERSION);
  app_.footer(
      "Examples:\n  godwit init demo --regions us-west,eu-central,ap-southeast --shards 2\n"
      "  godwit up -C demo\n  godwit status -C demo\nExit codes: godwit help exit-codes");
  add_init();
  add_processes();
  add_run();
  add_model();
  add_checkpoint();
  add_verify();
  add_doctor();
  add_help();
}

CLI::App* Grammar::command(CLI::App& parent, const std::string& name, const std::string& help,
                           Command command) {
  CLI::App* const sub = parent.add_subcommand(name, help);
  sub->fallthrough();
  sub->allow_extras();
  commands_[sub] = command;
  return sub;
}

void Grammar::add_format(CLI::App* command) {
  const std::map<std::string, Format> formats = {{"table", Format::kTable},
                                                 {"json", Format::kJson}};
  command->add_option("-o,--output", line_.format, "table or json")
      ->transform(CLI::Transformer(formats))
      ->check(CLI::IsMember({0, 1}))
      ->type_name("FORMAT");
}

void Grammar::add_duration(CLI::App* command, const std::string& flag, Duration& out,
                           const std::string& help) {
  const auto read = [&out](const std::string& text) {
    const auto duration = parse_duration(text);
    if (!duration) throw CLI::ValidationError(duration.error().context);
    out = *duration;
  };
  command->add_option_function<std::string>(flag, read, help)
      ->type_name("DURATION")
      ->default_str(format_duration(out));
}

void Grammar::add_init() {
  CLI::App* const init =
      command(app_, "init", "Make a cluster's folder: cluster.toml, certificates, admin.token",
              Command::kInit);
  InitFlags& flags = line_.init;
  init->add_option("DIR", line_.directory, "Folder to make")->required();
  init->add_option("--name", flags.name, "Name of the cluster, in every certificate")
      ->capture_default_str();
  init->add_option("--regions", flags.regions,
                   "How many, their names (us-west,eu-central), or also the address of each one's "
                   "machine (us-west=10.77.0.1,eu-central=10.77.0.2)")
      ->capture_default_str();
  init->add_flag("--admin-beyond-loopback", flags.admin_beyond_loopback,
                 "Admin ports on these addresses, too: HTTP in the clear, for private networks");
  init->add_option("--shards", flags.shards, "Parts of the model, each with a log of its own")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  init->add_option("--workers", flags.workers, "Worker certificates per region")
      ->capture_default_str();
  init->add_option("--control", flags.control,
                   "Region that hosts the control store (default: the first)");
  init->add_option("--delay", flags.delay, "One-way delay between regions, for development: 40ms");
  init->add_option("--rate", flags.rate,
                   "Rate of a link between regions, for development: 200Mbit/s");
  init->add_option("--window", flags.window, "Longest round in async mode: 1500ms");
  init->add_option("--ack", flags.ack,
                   "What an acknowledgement promises: memory, region, committed, replicated");
  init->add_option("--codec", flags.codec,
                   "Between regions: fp32, bf16, int8, each optionally +zstd");
  init->add_option("--lan-codec", flags.lan_codec, "From workers: fp32 or bf16");
  init->add_option("--block-parameters", flags.block_parameters, "Parameters per block");
  init->footer("Example:\n  godwit init demo --regions 3 --delay 40ms --rate 200Mbit/s");
}

void Grammar::add_processes() {
  const auto server = [this](const std::string& name, const std::string& help, Command which) {
    CLI::App* const sub = command(app_, name, help, which);
    sub->add_option("NAME", line_.name, "Server of cluster.toml")->required();
    return sub;
  };
  CLI::App* const up =
      command(app_, "up", "Start every server of cluster.toml on this machine", Command::kUp);
  add_duration(up, "--timeout", line_.timeout, "How long to wait until all are ready");
  command(app_, "down", "Stop them: politely, after 10 s not", Command::kDown);
  server("kill", "Kill a server with SIGKILL, as a crash would", Command::kKill);
  CLI::App* const start = server("start", "Start one server", Command::kStart);
  add_duration(start, "--timeout", line_.timeout, "How long to wait until it is ready");
}

void Grammar::add_run() {
  CLI::App* const status =
      command(app_, "status", "One screen about the whole cluster", Command::kStatus);
  add_format(status);
  status->add_flag("--strict", line_.strict, "Exit 11 when degraded");
  CLI::App* const mode = app_.add_subcommand("mode", "Switch the running job between modes");
  mode->fallthrough()->allow_extras()->require_subcommand(0, 1);
  CLI::App* const sync = command(*mode, "sync", "Workers wait for every round", Command::kModeSync);
  sync->add_option("--steps", line_.sync_steps, "Inner steps per round (default: as before)")
      ->check(CLI::Range(1, 1'000'000));
  CLI::App* const async = command(*mode, "async", "Workers never wait", Command::kModeAsync);
  for (CLI::App* sub : {sync, async}) {
    sub->add_option("--wait", wait_, "Wait until all shards show it, 60s unless said")
        ->expected(0, 1)
        ->type_name("DURATION");
    add_format(sub);
  }
  CLI::App* const promote =
      command(app_, "promote", "Let another region lead a shard", Command::kPromote);
  promote->add_option("SHARD", line_.shard, "For example 0")->required();
  promote->add_option("REGION", line_.name, "A region of its in-sync set: godwit status -o json")->required();
  add_format(promote);
  add_duration(promote, "--timeout", line_.timeout, "How long to wait until it leads");
}

void Grammar::add_model() {
  CLI::App* const model = app_.add_subcommand("model", "The model's values");
  model->fallthrough()->allow_extras()->require_subcommand(0, 1);
  CLI::App* const save =
      command(*model, "export", "Write the model to a safetensors file", Command::kModelExport);
  save->add_option("FILE", line_.file, "For example model.safetensors")->required();
  CLI::Option* const version =
      save->add_option("--version", line_.version, "Every shard at this version (default: the newest)");
  version->check(CLI::PositiveNumber);
  save->add_option("--checkpoint", line_.checkpoint, "The versions of this checkpoint")
      ->check(CLI::PositiveNumber)
      ->excludes(version);
  CLI::App* const load = command(*model, "import", "Start a run from the values of a safetensors file",
                                 Command::kModelImport);
  load->add_option("FILE", line_.file, "F32, BF16 or F16, with the names that the workers use")->required();
  load->add_option("--region", line_.region, "Through the server of this region (default: the control host's)");
  load->add_option("--exact", line_.exact,
                   "Tensors that no lossy codec may touch, *suffix for many; a file of model export names its own")
      ->type_name("NAME");
  load->footer("Example:\n  godwit model import base.safetensors --exact '*.e_score_correction_bias'");
}

void Grammar::add_checkpoint() {
  CLI::App* const checkpoint = app_.add_subcommand("checkpoint", "Versions of the whole model that are kept");
  checkpoint->fallthrough()->allow_extras()->require_subcommand(0, 1);
  const auto verb = [&](const char* name, const char* help, Command which, bool has_id) {
    CLI::App* const sub = command(*checkpoint, name, help, which);
    if (has_id) sub->add_option("ID", line_.checkpoint, "As godwit checkpoint list shows it")->required();
    add_format(sub);
    return sub;
  };
  verb("create", "Keep what every region holds now", Command::kCheckpointCreate, false)
      ->add_option("--reason", line_.reason, "A note for people");
  verb("list", "What is kept, and where", Command::kCheckpointList, false);
  verb("show", "One checkpoint, shard by shard", Command::kCheckpointShow, true);
  verb("verify", "Rebuild it in every region and compare, byte for byte", Command::kCheckpointVerify, true);
  CLI::App* const restore = verb("restore", "Let the run go on from it; what is there now becomes a checkpoint",
                                 Command::kCheckpointRestore, true);
  add_duration(restore, "--timeout", line_.timeout, "How long to wait until every replica has it");
  verb("pin", "Keep it until it is released", Command::kCheckpointPin, true)
      ->add_flag("--off", line_.off, "Release it");
  verb("rm", "Stop keeping it", Command::kCheckpointRemove, true);
}

void Grammar::add_verify() {
  CLI::App* const verify =
      command(app_, "verify", "Compare all replicas, byte for byte", Command::kVerify);
  add_format(verify);
  add_duration(verify, "--timeout", line_.timeout,
               "How long replicas may take to reach a common version");
  verify->add_flag("--offline", line_.offline,
                   "Read the stores of stopped servers, and count every push");
  verify
      ->add_option("--acknowledgements", line_.acknowledgements,
                   "Files that workers wrote; with --offline")
      ->type_name("FILE");
  verify->footer("Example:\n  godwit verify --offline --acknowledgements acks/*.txt");
}

void Grammar::add_doctor() {
  CLI::App* const doctor =
      command(app_, "doctor", "Why can a server not be reached? Checks this machine and all ports", Command::kDoctor);
  add_format(doctor);
  CLI::Option* const server =
      doctor->add_option("--server", line_.name, "Which server of cluster.toml this machine is");
  doctor->add_option("--region", line_.region, "The same, by its region (default: whose key is here)")
      ->excludes(server);
}

void Grammar::add_help() {
  CLI::App* const explain = command(app_, "explain", "What an error code means", Command::kExplain);
  explain->add_option("CODE", line_.name, "For example E1001; without it, all of them");
  CLI::App* const version = command(app_, "version", "Versions of this program", Command::kVersion);
  add_format(version);
  CLI::App* const help =
      command(app_, "help", "Help on a command, or on exit-codes", Command::kExitCodes);
  help->add_option("TOPIC", help_topic_, "A command, or exit-codes");
}

// Not App::help(), which would go on to the selected command: that is "help" itself.
std::string Grammar::help_on(const CLI::App& topic) const {
  const std::string name =
      &topic == &app_ ? app_.get_name() : app_.get_name() + " " + topic.get_name();
  return topic.get_formatter()->make_help(&topic, name, CLI::AppFormatMode::Normal);
}

const CLI::App& Grammar::selected() const {
  const CLI::App* at = &app_;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

ParsedCommandLine Grammar::mistake(const std::string& text) const {
  const CLI::App& at = selected();
  std::string name = at.get_name();
  for (const CLI::App* up = at.get_parent(); up != nullptr; up = up->get_parent())
    name = up->get_name() + " " + name;
  return {std::nullopt, exit_code::kUsage, "", "error: " + text + "\n  see: " + name + " --help\n"};
}

ParsedCommandLine Grammar::unknown_word(const CLI::App& where, const std::string& word) const {
  const bool flag = word.starts_with('-');
  std::vector<std::string> known = flag ? flag_names(where) : command_names(where);
  if (flag && &where != &app_) {
    for (const std::string& name : flag_names(app_)) known.push_back(name);
  }
  if (known.empty()) return mistake("unexpected argument '" + word + "'");
  const std::string nearest = nearest_name(word, known);
  const std::string hint =
      nearest.empty() ? " Known are " + joined(known) + "." : " Did you mean '" + nearest + "'?";
  return mistake(std::string("unknown ") + (flag ? "flag" : "command") + " '" + word + "'." + hint);
}

ParsedCommandLine Grammar::finish() {
  const CLI::App& leaf = selected();
  const std::vector<std::string> extra = app_.remaining(true);
  if (!extra.empty()) return unknown_word(leaf, extra.front());
  const auto found = commands_.find(&leaf);
  if (found == commands_.end())
    return mistake("a command is missing: " + joined(command_names(leaf)));
  line_.command = found->second;
  if (line_.command == Command::kExitCodes && help_topic_ != "exit-codes") {
    const CLI::App* topic = help_topic_.empty() ? &app_ : nullptr;
    for (const CLI::App* sub : all_subcommands(app_)) {
      if (sub->get_name() == help_topic_) topic = sub;
    }
    if (topic == nullptr) return unknown_word(app_, help_topic_);
    return {std::nullopt, exit_code::kSuccess, help_on(*topic), ""};
  }
  if (!line_.acknowledgements.empty() && !line_.offline)
    return mistake("--acknowledgements needs --offline");
  const bool waits = leaf.get_option_no_throw("--wait") != nullptr && leaf.count("--wait") > 0;
  if (waits) {
    const auto wait = wait_.empty() ? Result<Duration>(seconds(60)) : parse_duration(wait_);
    if (!wait) return mistake("--wait: " + wait.error().context);
    line_.wait = *wait;
  }
  return {line_, exit_code::kSuccess, "", ""};
}

ParsedCommandLine Grammar::parse(const std::vector<std::string>& arguments) {
  try {
    app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, exit_code::kSuccess, app_.help(), ""};
  } catch (const CLI::CallForVersion& version) {
    return {std::nullopt, exit_code::kSuccess, std::string(version.what()) + "\n", ""};
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> extra = app_.remaining(true);
    if (!extra.empty()) return unknown_word(selected(), extra.front());
    return mistake(error.what());
  }
  return finish();
}

}  // namespace

ParsedCommandLine parse_command_line(const std::vector<std::string>& arguments) {
  return Grammar().parse(arguments);
}

}  // namespace godwit::cli
