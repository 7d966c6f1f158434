#include "shared/wire/hello.h"

#include "schema/opening.capnp.h"
#include "shared/base/check.h"
#include "shared/wire/capnp_message.h"
#include "shared/wire/control_fields.h"

namespace godwit::wire {
namespace {

void require_name(const std::string& name) {
  GODWIT_REQUIRE(name.size() <= kMaxNameBytes, "a name has at most kMaxNameBytes");
}

}  // namespace

Bytes encode(const Hello& hello) {
  for (const auto* name : {&hello.cluster, &hello.role, &hello.region, &hello.name})
    require_name(*name);
  const auto fill = [&](schema::Hello::Builder out) {
    out.setProtocolVersion(hello.protocol_version);
    out.setCluster(text_field(hello.cluster));
    out.setRole(text_field(hello.role));
    out.setRegion(text_field(hello.region));
    out.setName(text_field(hello.name));
    out.setRunHash(hello.run_hash.value());
  };
  return build_control<schema::Hello>(fill);
}

Result<Hello> decode_hello(ByteView control) {
  const auto convert = [](schema::Hello::Reader in) -> Result<Hello> {
    if (in.getProtocolVersion() != kConversationVersion) {
      return Error{Errc::kUnsupported,
                   "hello: the peer speaks version " + std::to_string(in.getProtocolVersion()) +
                       ", this build version " + std::to_string(kConversationVersion) +
                       "; run the same release on both sides"};
    }
    ControlFields fields("hello");
    Hello hello;
    hello.protocol_version = in.getProtocolVersion();
    hello.cluster = fields.text("cluster", in.getCluster(), kMaxNameBytes);
    hello.role = fields.text("role", in.getRole(), kMaxNameBytes);
    hello.region = fields.text("region", in.getRegion(), kMaxNameBytes);
    hello.name = fields.text("name", in.getName(), kMaxNameBytes);
    hello.run_hash = Hash(in.getRunHash());
    return fields.done<Hello>(std::move(hello));
  };
  return read_control<schema::Hello>("hello", control, convert);
}

Bytes encode(const Welcome& welcome) {
  require_name(welcome.region);
  require_name(welcome.acknowledgement);
  const auto fill = [&](schema::Welcome::Builder out) {
    out.setRegion(text_field(welcome.region));
    out.setRegionIndex(welcome.region_index.value());
    out.setRegionCount(welcome.region_count);
    out.setShardCount(welcome.shard_count);
    out.setIncarnation(welcome.incarnation.value());
    out.setLanCodec(welcome.lan_codec.wire());
    out.setWindowMs(welcome.window_ms);
    out.setMaxLocalSteps(welcome.max_local_steps);
    out.setMaxPushTokens(welcome.max_push_tokens);
    out.setAcknowledgement(text_field(welcome.acknowledgement));
    out.setSyncSteps(welcome.sync_steps);
  };
  return build_control<schema::Welcome>(fill);
}

Result<Welcome> decode_welcome(ByteView control) {
  const auto convert = [](schema::Welcome::Reader in) {
    ControlFields fields("welcome");
    Welcome welcome;
    welcome.region = fields.text("region", in.getRegion(), kMaxNameBytes);
    welcome.region_index = RegionId(in.getRegionIndex());
    welcome.region_count = in.getRegionCount();
    welcome.shard_count = in.getShardCount();
    welcome.incarnation = Incarnation(in.getIncarnation());
    welcome.lan_codec = CodecSpec::from_wire(in.getLanCodec());
    welcome.window_ms = in.getWindowMs();
    welcome.max_local_steps = in.getMaxLocalSteps();
    welcome.max_push_tokens = in.getMaxPushTokens();
    welcome.acknowledgement =
        fields.text("acknowledgement", in.getAcknowledgement(), kMaxNameBytes);
    welcome.sync_steps = in.getSyncSteps();
    return fields.done<Welcome>(std::move(welcome));
  };
  return read_control<schema::Welcome>("welcome", control, convert);
}

}  // namespace godwit::wire
