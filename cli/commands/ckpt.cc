#include "cli/commands/ckpt.h"

namespace glim::cli {

void AddCkpt(Syntax app, Selection* selection) {
  Syntax ckpt = app.AddGroup("ckpt", "Look at checkpoints; needs no scheduler");
  for (const auto add : {AddCkptLs, AddCkptShow, AddCkptVerify, AddCkptDiff, AddCkptConvert}) add(ckpt, selection);
}

}  // namespace glim::cli
