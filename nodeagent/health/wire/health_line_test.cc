// The lines between glim-health and the agent.
#include "nodeagent/health/wire/health_line.h"

#include <gtest/gtest.h>

namespace glim::nodeagent::health {
namespace {

HealthLine Line() {
  HealthLine line;
  line.kind = HealthLine::Kind::kEvent;
  line.finding = {"xid", "0000:3b:00.0", 79, "words \"of\" the kernel's", 2, 1, "lines", 1'700'000'000'000, 4711};
  line.seq = 12;
  line.boot = "b-1";
  return line;
}

TEST(HealthLineText, IsReadAsItWasWritten) {
  for (const auto kind : {HealthLine::Kind::kEvent, HealthLine::Kind::kCondition, HealthLine::Kind::kConditionOver}) {
    HealthLine line = Line();
    line.kind = kind;
    std::string text = ToText(line);
    ASSERT_EQ(text.find('\n'), text.size() - 1) << "one line";
    EXPECT_EQ(ParseHealthLine(text), line);
  }
  HealthLine alive;
  alive.boot = "b-1";
  alive.complete = true;
  EXPECT_EQ(ParseHealthLine(ToText(alive)), alive);
  HealthLine gpus;
  gpus.kind = HealthLine::Kind::kGpus;
  gpus.boot = "b-1";
  gpus.gpus = {{"0000:3b:00.0", true}, {"0000:5e:00.0", false}};
  EXPECT_EQ(ParseHealthLine(ToText(gpus)), gpus);
}

TEST(HealthLineText, WhatIsNoneIsRefused) {
  HealthLine long_text = Line(), no_check = Line();
  long_text.finding.text.assign(kTextBytesMax + 1, 'x');
  no_check.finding.check = "";
  HealthLine many;
  many.kind = HealthLine::Kind::kGpus;
  many.gpus.assign(kGpusMax + 1, {"g", true});
  const std::string texts[] = {"",
                               "x",
                               "{}",
                               "[]",
                               "{\"kind\":\"event\"}",
                               "{\"kind\":\"other\",\"boot\":\"b\"}",
                               "{\"kind\":\"alive\",\"boot\":1,\"complete\":true}",
                               ToText(long_text),
                               ToText(no_check),
                               ToText(many),
                               "{\"kind\":\"gpus\",\"boot\":\"b\",\"gpus\":7}",
                               "{\"kind\":\"gpus\",\"boot\":\"b\",\"gpus\":[{\"pci\":\"g\"}]}",
                               std::string(kLineBytesMax + 1, ' ')};
  for (const std::string& text : texts) EXPECT_FALSE(ParseHealthLine(text)) << text;
}

}  // namespace
}  // namespace glim::nodeagent::health
