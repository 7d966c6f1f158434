// Damage that looks whole: checksums, sizes and the links between records are computed again, so
// that what lies behind them is reached.
#pragma once

#include "tests/fuzz/stored_log.h"

namespace godwit::fuzz {

// As it is, if its header does not decode.
Bytes mend_contribution(ByteView record);
// All contributions, commit records and the chain between these.
void mend(Records& records);

}  // namespace godwit::fuzz
