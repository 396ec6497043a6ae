// Which failures are known, and that no other gets their hint.
#include "cli/text/hints.h"

#include <gtest/gtest.h>

namespace glim::cli {
namespace {

struct HintCase {
  const char* what;
  const char* run;
  const char* message;
  const char* hint;  // a part of it; "": none
};

constexpr const char* kNoGet =
    "rank 0 on node n1 exited with code 1: AttributeError: 'NoneType' object has no attribute 'get'";
constexpr const char* kNoSdk = "rank 2 on node n1 exited with code 1: ModuleNotFoundError: No module named 'glim'";

const HintCase kHintCases[] = {
    {"Debian's torchrun", "torchrun train.py", kNoGet, "launcher: per-gpu"},
    {"by its module", "python3 -m torch.distributed.run train.py", kNoGet, "launcher: per-gpu"},
    {"the same words of a program without it", "python3 train.py", kNoGet, ""},
    {"another attribute", "torchrun train.py",
     "rank 0 on node n1 exited with code 1: AttributeError: 'NoneType' object has no attribute 'getpid'", ""},
    {"no SDK", "python3 -I train.py", kNoSdk, "PYTHONPATH"},
    {"no other module", "python3 train.py",
     "rank 2 on node n1 exited with code 1: ModuleNotFoundError: No module named 'glimmer'", ""},
    {"no such program", "nosuch",
     "rank 0 on node n1 exited with code 127 (command not found): /bin/bash: line 1: nosuch: command not found",
     "PATH"},
    {"a script's first line by bash", "./run.sh",
     "rank 0 on node n1 exited with code 127 (command not found): /bin/bash: line 1: ./run.sh: cannot execute: "
     "required file not found",
     "carriage return, the line end of Windows"},
    {"by env", "./run.py",
     "rank 0 on node n1 exited with code 127 (command not found): /usr/bin/env: use -[v]S to pass options in shebang "
     "lines",
     "sed -i 's/\\r$//' FILE"},
    {"by an older bash", "./run.sh",
     "rank 0 on node n1 exited with code 126 (not executable): /bin/bash: ./run.sh: /bin/sh^M: bad interpreter: No "
     "such file or directory",
     "carriage return"},
    {"a carriage return behind a word", "bash b.sh",
     "rank 0 on node n1 exited with code 2: c.sh: line 2: exit: 0\\r: numeric argument required", "line ends alone"},
    {"one that bash quotes", "bash b.sh",
     "rank 0 on node n1 exited with code 127 (command not found): b.sh: line 2: $'\\r': command not found",
     "carriage return"},
    {"one that ls quotes", "bash b.sh",
     "rank 0 on node n1 exited with code 2: ls: cannot access 'x'$'\\r': No such file or directory", "carriage return"},
    {"no carriage return", "python3 x.py", "rank 0 on node n1 exited with code 1: no file C:\\run", ""},
    {"a no-break space", "echo\xc2\xa0x",
     "rank 0 on node n1 exited with code 127 (command not found): bash: line 1: echo\xc2\xa0x: command not found",
     "no-break space (U+00A0)"},
    {"a zero-width space", "echo",
     "rank 0 on node n1 exited with code 127 (command not found): bash: line 1: echo\\u200b: command not found",
     "zero-width space"},
    {"a typographic quotation mark", "x",
     "rank 0 on node n1 exited with code 127 (command not found): bash: line 1: \xe2\x80\x9cx: command not found",
     "U+201C"},
    {"a program's own 127", "exit 126", "rank 0 on node n1 exited with code 126: (command not found)", ""},
    {"nothing known", "false", "rank 0 on node n1 exited with code 1", ""},
};

TEST(Hints, AreOfKnownFailuresAlone) {
  for (const HintCase& c : kHintCases) {
    SCOPED_TRACE(c.what);
    glim::v1::Job job;
    job.set_state("failed");
    job.mutable_spec()->set_run(c.run);
    glim::v1::Attempt& attempt = *job.add_attempts();
    attempt.set_outcome("failed");
    attempt.set_message(c.message);
    const std::string hint = HintFor(job);
    EXPECT_EQ(hint.empty(), *c.hint == 0) << hint;
    EXPECT_NE(hint.find(c.hint), std::string::npos) << hint;
    EXPECT_EQ(hint.find('\n'), std::string::npos) << "one line";
    attempt.set_outcome("interrupted");
    EXPECT_EQ(HintFor(job), "") << "it did not fail";
  }
  EXPECT_EQ(HintFor(glim::v1::Job()), "");
}

}  // namespace
}  // namespace glim::cli
