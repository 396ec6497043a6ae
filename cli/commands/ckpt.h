// The commands of `glim ckpt`, one file each. None of them needs a cluster: they read files.
//
// Sources: ckpt.cc, ckpt_convert.cc, ckpt_diff.cc, ckpt_ls.cc, ckpt_show.cc, ckpt_verify.cc
#pragma once

#include "cli/commands/command.h"

namespace glim::cli {

void AddCkptLs(Syntax ckpt, Selection* selection);
void AddCkptShow(Syntax ckpt, Selection* selection);
void AddCkptVerify(Syntax ckpt, Selection* selection);
void AddCkptDiff(Syntax ckpt, Selection* selection);
void AddCkptConvert(Syntax ckpt, Selection* selection);

}  // namespace glim::cli
