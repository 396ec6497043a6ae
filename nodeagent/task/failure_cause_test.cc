// What is told of a program that failed: by what it wrote.
#include "nodeagent/task/failure_cause.h"

#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

struct Case {
  const char* what;
  std::string output;
  const char* cause;
};

const Case kCases[] = {
    {"nothing", "", ""},
    {"blank lines", " \n\n\t\n", ""},
    {"no traceback: the last line that says something", "step 1\n/bin/bash: line 1: nosuch: command not found\n\n  \n",
     "/bin/bash: line 1: nosuch: command not found"},
    {"rules say nothing", "it broke\n=====\n-----\n", "it broke"},
    {"rules are better than nothing", "=====\n", "====="},
    {"no line end", "it broke", "it broke"},
    {"a traceback",
     "begin\nTraceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    import glim\n"
     "ModuleNotFoundError: No module named 'glim'\nbye\n",
     "ModuleNotFoundError: No module named 'glim'"},
    {"no message", "Traceback (most recent call last):\n  File \"t.py\", line 1\nAssertionError\nafterwards\n",
     "AssertionError"},
    {"a message of several lines",
     "Traceback (most recent call last):\n  File \"t.py\", line 1\nRuntimeError: first:\nsecond\n  third\n",
     "RuntimeError: first:"},
    {"a message that begins on the next line",
     "Traceback (most recent call last):\n  File \"a\", line 1\n"
     "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n=====\ntrain.py FAILED\n",
     "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED"},
    {"a chain: where it began",
     "Traceback (most recent call last):\n  File \"a\", line 1, in f\nKeyError: 'x'\n\n"
     "During handling of the above exception, another exception occurred:\n\n"
     "Traceback (most recent call last):\n  File \"a\", line 3, in g\nValueError: no x\n",
     "KeyError: 'x'"},
    {"the same, of an exception with a name of its own",
     "Traceback (most recent call last):\n  File \"a\", line 1, in f\n__main__.Oops: boom\n\n"
     "The above exception was the direct cause of the following exception:\n\n"
     "Traceback (most recent call last):\n  File \"a\", line 3, in g\nValueError: no x\n",
     "__main__.Oops: boom"},
    {"an exception class of a function, and a name without any hint",
     "Traceback (most recent call last):\n  File \"a\", line 1, in f\n__main__.main.<locals>.Oops: boom\nlast words\n",
     "__main__.main.<locals>.Oops: boom"},
    {"frames that repeat, and marks under them",
     "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    f()\n    ^^^\n"
     "  [Previous line repeated 996 more times]\nRecursionError: maximum recursion depth exceeded\n",
     "RecursionError: maximum recursion depth exceeded"},
    {"the worker's comes before the launcher's",
     "Traceback (most recent call last):\n  File \"t.py\", line 1\nOSError: [Errno 28] No space left on device\n"
     "ERROR:torch.distributed.elastic:failed (exitcode: 1) local_rank: 0\n"
     "Traceback (most recent call last):\n  File \"torchrun\", line 33\nChildFailedError: \n",
     "OSError: [Errno 28] No space left on device"},
    {"a rank's prefix",
     "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"t.py\", line 1\n[rank0]: ValueError: bad\n",
     "ValueError: bad"},
    {"a launcher's prefix",
     "[default0]:Traceback (most recent call last):\n[default0]:  File \"t.py\", line 1\n"
     "[default0]:ValueError: bad\n",
     "ValueError: bad"},
    {"both",
     "[default1]:[rank1]: Traceback (most recent call last):\n[default1]:[rank1]:   File \"t\", line 1\n"
     "[default1]:[rank1]: ValueError: bad\n",
     "ValueError: bad"},
    {"prefixes tell ranks apart",
     "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n"
     "[rank1]:   File \"t.py\", line 1\n[rank1]: IndexError: second\n[rank0]:   File \"t.py\", line 1\n"
     "[rank0]: ValueError: first\n",
     "ValueError: first"},
    {"another process writes in between",
     "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nstep 10, loss 1.2\n    train()\n"
     "ValueError: bad\n",
     "ValueError: bad"},
    {"a script that cannot be parsed",
     "  File \"t.py\", line 3\n    foo(\n       ^\nSyntaxError: '(' was never closed\n",
     "SyntaxError: '(' was never closed"},
    {"a module that cannot be parsed",
     "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    import m\n"
     "  File \"m.py\", line 2\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n",
     "SyntaxError: invalid syntax"},
    {"after a progress bar",
     " 10%|#   | 1/10\r 20%|##  | 2/10Traceback (most recent call last):\n  File \"t\", line 1\nValueError: bad\n",
     "ValueError: bad"},
    {"a progress bar alone", " 10%\r 20%\r 30%\n", "30%"},
    {"a group of exceptions",
     "  + Exception Group Traceback (most recent call last):\n  |   File \"t.py\", line 1, in <module>\n"
     "  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | ValueError: a\n",
     "ExceptionGroup: two (2 sub-exceptions)"},
    {"an interrupt", "Traceback (most recent call last):\n  File \"t\", line 1\nKeyboardInterrupt\n",
     "KeyboardInterrupt"},
    {"a traceback that was cut off", "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n",
     "File \"t.py\", line 1, in <module>"},
    {"colours", "\x1b[1;31mValueError\x1b[0m: \x1b[35mbad\x1b[0m\n", "ValueError: bad"},
    {"control characters",
     "a\x07"
     "b\x1b]0;title\x07 c\x7f\n",
     "a b ]0;title  c"},
    {"what turns text around, and C1",
     "a\xe2\x80\xae"
     "b\xc2\x9b"
     "c",
     "a\\u202eb c"},
    {"a carriage return that a message quotes", "bash: line 2: exit: 0\r: numeric argument required\n",
     "bash: line 2: exit: 0\\r: numeric argument required"},
    {"one before a closing quote", "b.sh: line 2: `for x in 1; do\r'\n", "b.sh: line 2: `for x in 1; do\\r'"},
    {"one before a closing quotation mark", "mkdir: cannot create directory \xe2\x80\x98x\r\xe2\x80\x99: denied\r\n",
     "mkdir: cannot create directory \xe2\x80\x98x\\r\xe2\x80\x99: denied"},
    {"one behind a progress bar", " 10%\r 20%\rcat: /srv/x\r: No such file or directory\n",
     "cat: /srv/x\\r: No such file or directory"},
    {"a progress bar whose end is a quotation", "it said 'a'\r'b' was the last\n", "it said 'a'\\r'b' was the last"},
    {"what nobody sees", "line 1: echo\xe2\x80\x8b: command not found\n", "line 1: echo\\u200b: command not found"},
    {"broken UTF-8", "a\xff\xc3(\xed\xa0\x80z",
     "a??"
     "(???z"},
    {"UTF-8", "\xd0\xbe\xd1\x88\xd0\xb8\xd0\xb1\xd0\xba\xd0\xb0\n", "\xd0\xbe\xd1\x88\xd0\xb8\xd0\xb1\xd0\xba\xd0\xb0"},
    {"line ends of Windows", "Traceback (most recent call last):\r\n  File \"t\", line 1\r\nValueError: bad\r\n",
     "ValueError: bad"},
};

TEST(FailureCause, IsTheLastLineOfTheFirstTracebackOrOfTheOutput) {
  for (const Case& c : kCases) EXPECT_EQ(FailureCause(c.output), c.cause) << c.what;
}

TEST(FailureCause, OfWhatWasKilledIsATracebackAlone) {
  EXPECT_EQ(FailureCause("restored 0\n", true), "");
  EXPECT_EQ(FailureCause("Traceback (most recent call last):\n  File \"t\", line 1\nValueError: bad\nbye\n", true),
            "ValueError: bad");
}

TEST(FailureCause, IsNoLineOfGlimsWhereThereIsAnother) {
  EXPECT_EQ(FailureCause("cannot open data\nglim: the steps change seen: no save has that\n"), "cannot open data");
  EXPECT_EQ(FailureCause("glim: no such job\n"), "glim: no such job");
}

TEST(FailureCause, IsCutAtACharacter) {
  std::string long_line;
  for (int i = 0; i < 300; ++i) long_line += "\xd0\xbe";
  EXPECT_EQ(FailureCause(long_line), long_line.substr(0, kCauseBytesMax));
  EXPECT_EQ(FailureCause("x" + long_line), ("x" + long_line).substr(0, kCauseBytesMax - 1));
}

// Nobody's output makes the agent think for long: the time of each would be that of all squares.
TEST(FailureCause, TakesOutputThatIsAllHeaders) {
  std::string headers, places;
  while (headers.size() < kCauseTailBytes) headers += "Traceback (most recent call last):\n";
  while (places.size() < kCauseTailBytes) places += " File \"\", line 1\n";
  EXPECT_EQ(FailureCause(headers), "Traceback (most recent call last):");
  EXPECT_EQ(FailureCause(places), "File \"\", line 1");
}

}  // namespace
}  // namespace glim::nodeagent
