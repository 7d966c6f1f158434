#include "shared/protocol/field_reader.h"

#include "shared/codec/codec.h"

namespace godwit {

FieldReader::FieldReader(std::string_view record, std::uint8_t format, ByteView bytes)
    : record_(record), in_(bytes) {
  const auto found = in_.get<std::uint8_t>();
  if (!in_.failed() && found != format) {
    reject(Errc::kUnsupported, "format " + std::to_string(found) + " is not known here, " +
                                   std::to_string(format) + " is");
  }
}

void FieldReader::get_flag(std::string_view field, bool& value) {
  const auto raw = in_.get<std::uint8_t>();
  if (raw > 1) reject(Errc::kMalformed, std::string(field) + " is neither 0 nor 1");
  value = raw == 1;
}

void FieldReader::get_codec(CodecSpec& codec) {
  const auto wire = in_.get<std::uint8_t>();
  const CodecSpec found = CodecSpec::from_wire(wire);
  const bool none = wire == CodecSpec{CodecId::kNone, false}.wire();
  if (!none && !CodecTable::standard().find(found.id)) {
    reject(Errc::kUnsupported, "unknown codec " + std::to_string(wire));
    return;
  }
  codec = found;
}

void FieldReader::reject(Errc code, std::string why) {
  if (!reason_.empty()) return;
  code_ = code;
  reason_ = std::move(why);
}

Result<void> FieldReader::finish() const {
  const std::string record(record_);
  if (!reason_.empty()) return Error{code_, record + ": " + reason_};
  if (in_.failed())
    return Error{Errc::kMalformed, record + ": cut short, or a count beyond its end"};
  if (in_.remaining() > 0) {
    return Error{Errc::kMalformed,
                 record + ": " + std::to_string(in_.remaining()) + " bytes left over"};
  }
  return {};
}

}  // namespace godwit
