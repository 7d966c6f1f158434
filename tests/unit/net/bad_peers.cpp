#include "tests/unit/net/bad_peers.h"

#include <openssl/ssl.h>

#include <cctype>

#include "tests/unit/net/forger.h"

namespace godwit::net {
namespace {

using std::chrono::hours;
using std::chrono::system_clock;

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// Writes the rows, each with what is wrong about it and nothing else.
class Table {
 public:
  Table(const CertifiedKey& authority, const Identity& welcome)
      : authority_(authority), welcome_(welcome), uri_(format_identity(welcome)) {
    good_.names = {{GEN_URI, uri_}};
  }

  void authorities();
  void dates_and_purposes();
  void names();
  void spellings();
  void identities(const std::string& other_region);
  void transports();
  std::vector<BadPeer> take() { return std::move(rows_); }

 private:
  using Change = void (*)(Forgery&);

  void shows(const std::string& name, CertifiedKey own, const std::string& reason) {
    Stranger stranger;
    stranger.own = std::move(own);
    rows_.push_back({name, BadPeer::kCertificate, std::move(stranger), reason});
  }
  void differs(const std::string& name, Change change, const std::string& reason) {
    Forgery forgery = good_;
    change(forgery);
    shows(name, forge(forgery, &authority_), reason);
  }
  void is_called(const std::string& name, std::vector<ForgedName> names, const std::string& reason) {
    Forgery forgery = good_;
    forgery.names = std::move(names);
    shows(name, forge(forgery, &authority_), reason);
  }
  void is_spelled(const std::string& name, const std::string& uri, const std::string& reason) {
    is_called(name, {{GEN_URI, uri}}, reason);
  }
  void is(const std::string& name, Identity identity, const std::string& reason) {
    Stranger stranger;
    stranger.own = issue_certificate(authority_, identity, valid_for_days(1)).value();
    rows_.push_back({name, BadPeer::kIdentity, std::move(stranger), reason});
  }
  void speaks(const std::string& name, const Stranger& stranger, const std::string& reason) {
    rows_.push_back({name, BadPeer::kOfCaller, stranger, reason});
  }

  const CertifiedKey& authority_;
  const Identity& welcome_;
  const std::string uri_;  // welcome's
  Forgery good_;
  std::vector<BadPeer> rows_;
};

void Table::authorities() {
  const CertifiedKey namesake = create_authority(welcome_.cluster, valid_for_days(1)).value();
  const CertifiedKey good = forge(good_, &authority_);
  Forgery above;
  above.common_name = "between";
  above.constraints = "critical,CA:TRUE";
  above.key_usage = "critical,keyCertSign,digitalSignature";
  const CertifiedKey between = forge(above, &authority_);
  above.name_constraints = "critical,permitted;URI:example.org";
  const CertifiedKey confined = forge(above, &authority_);
  above.name_constraints = nullptr;
  const CertifiedKey outside = forge(above, nullptr);

  shows("another authority of the same name", forge(good_, &namesake), "unable to get local issuer certificate");
  shows("another authority, sent along", with_chain(forge(good_, &namesake), namesake),
        "self-signed certificate in certificate chain");
  shows("signed by itself", forge(good_, nullptr), "self-signed certificate");
  shows("a signature with one bit turned", with_broken_signature(good), "certificate signature failure");
  shows("an authority in between", with_chain(forge(good_, &between), between), "path length constraint exceeded");
  shows("an authority in between that is missing", forge(good_, &between), "unable to get local issuer certificate");
  shows("an authority in between whose names are confined", with_chain(forge(good_, &confined), confined),
        "path length constraint exceeded");
  shows("signed by a leaf", with_chain(forge(good_, &good), good), "invalid CA certificate");
  shows("signed by an authority of its own", with_chain(forge(good_, &outside), outside),
        "self-signed certificate in certificate chain");
  shows("the authority itself", authority_, "unsuitable certificate purpose");
  differs("a leaf that is an authority", [](Forgery& f) { f.constraints = "critical,CA:TRUE"; },
          "it is an authority, not a leaf");
  differs("a leaf that may sign certificates",
          [](Forgery& f) {
            f.constraints = nullptr;
            f.key_usage = "critical,digitalSignature,keyCertSign";
          },
          "it is an authority, not a leaf");
  shows("another's certificate without its key", with_stolen_certificate(good),
        "the peer does not hold the key of its certificate");
}

void Table::dates_and_purposes() {
  differs("expired", [](Forgery& f) {
    f.validity = {system_clock::now() - hours(48), system_clock::now() - hours(24)};
  }, "certificate has expired");
  differs("not yet valid", [](Forgery& f) {
    f.validity = {system_clock::now() + hours(24), system_clock::now() + hours(48)};
  }, "certificate is not yet valid");
  differs("a key of RSA 1024", [](Forgery& f) { f.key = ForgedKey::kRsa1024; }, "EE certificate key too weak");
  differs("signed with SHA-1", [](Forgery& f) { f.digest = EVP_sha1(); }, "CA signature digest algorithm too weak");
  differs("for signing code", [](Forgery& f) { f.purpose = "codeSigning"; }, "unsuitable certificate purpose");
  differs("for encryption only", [](Forgery& f) { f.key_usage = "critical,keyEncipherment"; }, "unauthenticated: ");
  differs("for clients only", [](Forgery& f) { f.purpose = "clientAuth"; }, "unsuitable certificate purpose");
  rows_.back().fault = BadPeer::kOfServer;
  differs("for servers only", [](Forgery& f) { f.purpose = "serverAuth"; }, "unsuitable certificate purpose");
  rows_.back().fault = BadPeer::kOfCaller;
  differs("with a critical extension that nobody knows", [](Forgery& f) { f.unknown_critical_extension = true; },
          "unhandled critical extension");
  differs("a certificate of 200 KB", [](Forgery& f) { f.padding_bytes = 200'000; }, "excessive message size");
}

void Table::names() {
  is_called("without a name", {}, "it carries no URI name");
  Forgery common = good_;
  common.names.clear();
  common.common_name = uri_.substr(0, 64);  // X.509 allows no more
  shows("a common name only", forge(common, &authority_), "it carries no URI name");
  is_called("a DNS name only", {{GEN_DNS, "localhost"}}, "it carries no URI name");
  is_called("its name as a DNS name", {{GEN_DNS, uri_}}, "it carries no URI name");
  is_called("its name as a mail address", {{GEN_EMAIL, uri_}}, "it carries no URI name");
  is_called("its name twice", {{GEN_URI, uri_}, {GEN_URI, uri_}}, "it carries more than one URI name");
  is_called("a second name", {{GEN_URI, uri_}, {GEN_URI, uri_ + "-2"}}, "it carries more than one URI name");
  is_called("a name beside a web address", {{GEN_URI, "https://example.org/"}, {GEN_URI, uri_}},
            "it carries more than one URI name");
  Forgery twice = good_;
  twice.more_names = {{GEN_URI, uri_}};
  shows("two lists of names", forge(twice, &authority_), "unauthenticated: ");
}

void Table::spellings() {
  const std::string path = uri_.substr(std::string_view("godwit://").size());
  const std::string form = "wanted godwit://<cluster>/<region>/<role>/<name>";
  const std::string cluster = "godwit://" + welcome_.cluster;
  const std::string rest = std::string("/") + welcome_.region + "/" + std::string(name(welcome_.role)) + "/";
  is_spelled("an empty name", "", form);
  is_spelled("another scheme", "https://" + path, form);
  is_spelled("the scheme in capitals", "GODWIT://" + path, form);
  is_spelled("no scheme", path, form);
  is_spelled("a slash at the end", uri_ + "/", form);
  is_spelled("a fifth part", uri_ + "/more", form);
  is_spelled("three parts", uri_.substr(0, uri_.rfind('/')), form);
  is_spelled("an empty part", cluster + "//" + std::string(name(welcome_.role)) + "/" + welcome_.name, form);
  is_spelled("an empty cluster", "godwit://" + rest + welcome_.name, form);
  is_spelled("a percent escape", cluster + rest + "%73omeone", form);
  is_spelled("an escaped slash", cluster + rest + "a%2fb", form);
  is_spelled("a path upwards", cluster + rest + "../" + welcome_.name, form);
  is_spelled("a zero byte", uri_ + std::string("\0.example.org", 13), form);
  is_spelled("a line break", uri_ + "\nserver started", form);
  is_spelled("a blank", uri_ + " ", form);
  is_spelled("a question", uri_ + "?role=server", form);
  is_spelled("a port", cluster + ":7700" + rest + welcome_.name, form);
  is_spelled("a user", "godwit://root@" + path, form);
  is_spelled("letters beyond ASCII", cluster + rest + "w\xc3\xb6rker", form);
  is_spelled("a part of 65 letters", cluster + rest + std::string(65, 'a'), form);
  is_spelled("60,000 letters", cluster + rest + std::string(60'000, 'a'), form);
  is_spelled("the role in capitals", cluster + "/" + welcome_.region + "/" + upper(std::string(name(welcome_.role))) +
             "/" + welcome_.name, form);
  is_spelled("a role that nobody has", cluster + "/" + welcome_.region + "/admin/" + welcome_.name, form);
}

void Table::identities(const std::string& other_region) {
  const auto altered = [this](auto&& change) {
    Identity identity = welcome_;
    change(identity);
    return identity;
  };
  const Role other_role = welcome_.role == Role::kWorker ? Role::kServer : Role::kWorker;
  is("of another cluster", altered([](Identity& i) { i.cluster = "other"; }), "of cluster 'other'");
  is("of a cluster that begins alike", altered([](Identity& i) { i.cluster += "2"; }), "of cluster ");
  is("of the cluster in capitals", altered([](Identity& i) { i.cluster = upper(i.cluster); }), "of cluster ");
  is("of another region", altered([&](Identity& i) { i.region = other_region; }), "forbidden: ");
  is("of a region that does not exist", altered([](Identity& i) { i.region = "mars"; }), "'mars'");
  is("of its region in capitals", altered([](Identity& i) { i.region = upper(i.region); }), "forbidden: ");
  is("of the other role", altered([&](Identity& i) { i.role = other_role; }), "forbidden: ");
  is("an operator", altered([](Identity& i) { i.role = Role::kOperator; }), "forbidden: operators use the admin port");
}

void Table::transports() {
  Stranger bare;
  speaks("no certificate", bare, "TLS: the peer sent no certificate");
  Stranger old;
  old.own = forge(good_, &authority_);
  for (const auto& [version, name] : {std::pair(TLS1_2_VERSION, "TLS 1.2"), {TLS1_1_VERSION, "TLS 1.1"}}) {
    old.newest_tls = version;
    speaks(name, old, "only version 1.3 is spoken here");
  }
  Stranger plain;
  plain.tls = false;
  const auto says = [&](const std::string& name, std::string_view text) {
    plain.before_tls = copy(view(text));
    speaks(name, plain, "malformed: TLS: ");
  };
  says("an HTTP request", "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  says("letters", std::string(4096, 'x'));
  says("zero bytes", std::string(4096, '\0'));
  says("a frame in the clear", "GDWT" + std::string(20, '\1'));
  says("a TLS record that never ends", "\x16\x03\x01\xff\xff" + std::string(70'000, '\1'));
  Stranger after;  // a handshake that turns into something else
  after.own = forge(good_, &authority_);
  after.before_tls = copy(view(std::string_view("\x15\x03\x03", 4)));
  speaks("an alert before the handshake", after, "malformed: TLS: ");
}

}  // namespace

std::vector<BadPeer> bad_peers(const CertifiedKey& authority, const Identity& welcome,
                               const std::string& other_region) {
  Table table(authority, welcome);
  table.authorities();
  table.dates_and_purposes();
  table.names();
  table.spellings();
  table.identities(other_region);
  table.transports();
  return table.take();
}

}  // namespace godwit::net
