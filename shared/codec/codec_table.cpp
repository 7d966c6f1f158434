#include "shared/codec/codec.h"

namespace godwit {

// One line per codec here, one below; each is defined in the file of its name.
const Codec& fp32_codec();
const Codec& bf16_codec();
const Codec& int8_codec();

const CodecTable& CodecTable::standard() {
  static const CodecTable table({
      &fp32_codec(),
      &bf16_codec(),
      &int8_codec(),
  });
  return table;
}

Result<const Codec*> CodecTable::find(CodecId id) const {
  for (const Codec* codec : codecs_) {
    if (codec->id() == id) return codec;
  }
  return Error{Errc::kUnsupported,
               "codec id " + std::to_string(static_cast<unsigned>(id)) +
                   " is unknown to this build: run the same release everywhere"};
}

}  // namespace godwit
