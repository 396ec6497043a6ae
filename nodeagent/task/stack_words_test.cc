// A line's worth of what stacks say.
#include "nodeagent/task/stack_words.h"

#include <gtest/gtest.h>

namespace glim::nodeagent {
namespace {

TEST(StackWords, PythonsMainThreadIsTheLast) {
  EXPECT_EQ(InnermostOfPython("Thread 0x7f01 (most recent call first):\n"
                              "  File \"/usr/lib/python3.11/selectors.py\", line 468 in select\n"
                              "  File \"/usr/lib/python3.11/threading.py\", line 975 in run\n"
                              "\n"
                              "Current thread 0x7f02 (most recent call first):\n"
                              "  File \"/srv/train.py\", line 41 in wait_for_peer\n"
                              "  File \"/srv/train.py\", line 60 in <module>\n"),
            "wait_for_peer, train.py:41");
}

TEST(StackWords, GdbsMainThreadIsTheFirst) {
  EXPECT_EQ(InnermostOfDebugger("Thread 2 (Thread 0x7f (LWP 12) \"b\"):\n"
                                "#0  0x00007f in poll () from /lib/libc.so.6\n"
                                "Thread 1 (Thread 0x7e (LWP 11) \"a\"):\n"
                                "#0  0x00007ffff7e in clock_nanosleep () from /lib/libc.so.6\n"
                                "#1  0x00007ffff7f in ?? ()\n"
                                "#2  wait_for_peer (seconds=...) at train.c:41\n"
                                "#3  0x0000555 in main (argc=..., argv=...) at train.c:60\n"),
            "clock_nanosleep < wait_for_peer < main");
}

TEST(StackWords, WhatIsNoStackSaysNothing) {
  for (const char* text :
       {"", "\n", "#", "#0", "#0  ", "Thread 1 \n#", "Thread 1 \n#0  0x1 in ", "  File \"",
        "most recent call first\n  File \"a\", line ", "most recent call first\n  File \", line 3\n"}) {
    EXPECT_EQ(InnermostOfPython(text), "") << text;
    EXPECT_EQ(InnermostOfDebugger(text), "") << text;
  }
}

}  // namespace
}  // namespace glim::nodeagent
