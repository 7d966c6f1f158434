#include "shared/base/result.h"

namespace godwit {

std::string_view name(Errc code) {
  switch (code) {
    case Errc::kOverloaded: return "overloaded";
    case Errc::kUnavailable: return "unavailable";
    case Errc::kTimedOut: return "timed-out";
    case Errc::kClosed: return "closed";
    case Errc::kWrongEpoch: return "wrong-epoch";
    case Errc::kNotLeader: return "not-leader";
    case Errc::kForked: return "forked";
    case Errc::kGap: return "gap";
    case Errc::kGone: return "gone";
    case Errc::kMalformed: return "malformed";
    case Errc::kTooLarge: return "too-large";
    case Errc::kUnsupported: return "unsupported";
    case Errc::kInvalid: return "invalid";
    case Errc::kConflict: return "conflict";
    case Errc::kNotFound: return "not-found";
    case Errc::kUnauthenticated: return "unauthenticated";
    case Errc::kForbidden: return "forbidden";
    case Errc::kCorrupt: return "corrupt";
    case Errc::kIo: return "io";
    case Errc::kConfig: return "config";
    case Errc::kInternal: return "internal";
  }
  return "unknown";
}

std::string Error::to_string() const {
  return std::string(name(code)) + (context.empty() ? "" : ": ") + context;
}

}  // namespace godwit
