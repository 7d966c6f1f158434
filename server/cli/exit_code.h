// What `godwit` exits with: part of its interface, listed by `godwit help exit-codes`. How an error
// maps to one is in shared/base/problem.h.
#pragma once

namespace godwit::cli::exit_code {

inline constexpr int kSuccess = 0;
inline constexpr int kFailed = 1;         // the operation was tried and failed
inline constexpr int kUsage = 2;          // command line or configuration
inline constexpr int kCannotConnect = 3;  // nothing answers
inline constexpr int kNotFound = 4;
inline constexpr int kConflict = 5;      // a precondition does not hold
inline constexpr int kForbidden = 6;     // not authenticated, or not allowed
inline constexpr int kTimedOut = 7;      // what was asked may still happen
inline constexpr int kIncompatible = 8;  // of another version
inline constexpr int kCritical = 10;     // `status`: the run stands still, or will
inline constexpr int kDegraded = 11;     // `status --strict`
inline constexpr int kBug = 70;
inline constexpr int kInterrupted = 130;

}  // namespace godwit::cli::exit_code
