// What reports sum of an ended job, from the one text in which every store's schema keeps it (column `figures` of
// ended_jobs, migrations 0008).
#pragma once

#include <string>
#include <string_view>

#include "scheduler/store/contract/ended_job.h"
#include "sdk/base/status.h"

namespace glim::store {

// The texts of `out` point into `text`. kDataLoss (STORE_CORRUPT) if that is none.
Status ReadFigures(core::JobId id, TimePoint ended_at, std::string_view text, EndedFigures* out);
// That text, for a schema that does not make it itself: UTF-8 without NUL.
std::string WriteFigures(const EndedJob& job);
// Of a whole record, for a store without such a column. The texts point into `job`.
EndedFigures FiguresOf(const EndedJob& job);

}  // namespace glim::store
