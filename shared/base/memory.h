// How this process treats memory that it frees.
#pragma once

namespace godwit {

// Freed memory stays with the process and is used again. Without this every large buffer (a chunk, a block,
// a push) is fresh pages from the kernel, which cost a page fault for each 4 KiB at its first touch: on
// virtual machines that is slower than everything we do with the bytes. The price: the process stays as
// large as it once was. Call once, from main, before other threads exist.
void keep_freed_memory();

}  // namespace godwit
